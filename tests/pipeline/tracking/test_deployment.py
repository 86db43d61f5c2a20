"""MLflow on PostgreSQL and S3 behind passwords, as docs/deployment.md says: four writers at once, nothing lost."""

import base64
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

CODE = Path(__file__).resolve().parents[3]
SECRETS = {
    "PGPASSWORD": "kestrel-database-7319",
    "AWS_ACCESS_KEY_ID": "kestrel-key-2846",
    "AWS_SECRET_ACCESS_KEY": "kestrel-store-5520",
    "MLFLOW_AUTH_ADMIN_PASSWORD": "kestrel-admin-9947",
    "MLFLOW_FLASK_SERVER_SECRET_KEY": "kestrel-session-1083",
}
TRAINER = {"MLFLOW_TRACKING_USERNAME": "trainer", "MLFLOW_TRACKING_PASSWORD": "kestrel-trainer-6672"}
WHOLE = [(step, 1 / (step + 1)) for step in range(20)]
MODULES = ("psycopg", "moto", "boto3", "dvc_s3", "flask_wtf")
POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(POSTGRES is None, reason="no PostgreSQL on this machine (apt-get install postgresql)"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in MODULES), reason=f"needs {', '.join(MODULES)}"
    ),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2):
            return True
    except urllib.error.HTTPError:
        return True
    except (urllib.error.URLError, OSError):
        return False


class Service:
    """A process group that is killed at the end, with what it says in a file."""

    def __init__(self, log: Path, command: list[str], **options: Any):
        with log.open("ab") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True, **options)

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def start_postgres(folder: Path, port: int) -> Service:
    """PostgreSQL with a user `reprise` who owns the database `mlflow` and must give a password."""
    owner = pwd.getpwnam("postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name)
    data = folder / "database"
    data.mkdir()
    password = folder / "initial"
    password.write_text(SECRETS["PGPASSWORD"])
    if os.getuid() == 0:
        for place in (data, password):
            shutil.chown(place, owner.pw_uid, owner.pw_gid)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    run_as = {"user": owner.pw_uid, "group": owner.pw_gid} if os.getuid() == 0 else {}
    command = [str(POSTGRES / "initdb"), "-D", str(data), "-U", "reprise", "-A", "scram-sha-256"]
    subprocess.run([*command, f"--pwfile={password}"], check=True, capture_output=True, cwd="/", **run_as)
    password.unlink()
    options = ["-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", ""]
    return Service(folder / "postgres.log", [str(POSTGRES / "postgres"), *options], cwd="/", **run_as)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """All of it on this machine, with the user `trainer`."""
    import boto3
    import psycopg

    folder = tmp_path_factory.mktemp("deployment")
    database, store, port = free_port(), free_port(), free_port()
    services = [start_postgres(folder, database)]
    services.append(Service(folder / "moto.log", [sys.executable, "-m", "moto.server", "-p", str(store)]))
    endpoint = f"http://127.0.0.1:{store}"
    try:
        wait(lambda: answers(f"{endpoint}/"), 60)
        key = SECRETS["AWS_ACCESS_KEY_ID"], SECRETS["AWS_SECRET_ACCESS_KEY"]
        s3 = boto3.client(
            "s3", endpoint_url=endpoint, aws_access_key_id=key[0], aws_secret_access_key=key[1], region_name="us-east-1"
        )
        for bucket in ("mlflow", "dvc"):
            s3.create_bucket(Bucket=bucket)
        login = f"host=127.0.0.1 port={database} user=reprise dbname=postgres"
        wait(lambda: accepts(psycopg, login), 60)
        with psycopg.connect(login, password=SECRETS["PGPASSWORD"], autocommit=True) as connection:
            connection.execute("create database mlflow")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "AWS_"))}
        environment |= SECRETS | {
            "REPRISE_PYTHON": sys.executable,
            "MLFLOW_BACKEND_STORE_URI": f"postgresql://reprise@127.0.0.1:{database}/mlflow",
            "MLFLOW_ARTIFACTS_DESTINATION": "s3://mlflow/artifacts",
            "MLFLOW_S3_ENDPOINT_URL": endpoint,
            "MLFLOW_AUTH_ADMIN_USERNAME": "admin",
            "PORT": str(port),
        }
        address = f"http://127.0.0.1:{port}"
        log = folder / "server.log"
        services.append(Service(log, [str(CODE / "deployment/server")], cwd=folder, env=environment))
        wait(lambda: answers(f"{address}/health"), 120)
        make_user(address)
        yield SimpleNamespace(address=address, endpoint=endpoint, s3=s3, folder=folder)
    finally:
        for service in reversed(services):
            service.stop()


def accepts(psycopg: Any, login: str) -> bool:
    try:
        with psycopg.connect(login, password=SECRETS["PGPASSWORD"]):
            return True
    except psycopg.OperationalError:
        return False


def wait(condition: Callable[[], object], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not become ready")
        time.sleep(0.2)


def make_user(address: str) -> None:
    code = (
        "import sys; from mlflow.server import get_app_client;"
        "get_app_client('basic-auth', sys.argv[1]).create_user(sys.argv[2], sys.argv[3])"
    )
    admin = {
        "MLFLOW_TRACKING_USERNAME": "admin",
        "MLFLOW_TRACKING_PASSWORD": SECRETS["MLFLOW_AUTH_ADMIN_PASSWORD"],
    }
    command = [sys.executable, "-c", code, address, *TRAINER.values()]
    subprocess.run(command, env=os.environ | admin, check=True, capture_output=True)


def test_four_writers_at_once_lose_nothing_and_no_password_is_kept_anywhere(
    deployment: SimpleNamespace, new_repository: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = new_repository("a team's repository", database=None)
    there = {"MLFLOW_TRACKING_URI": deployment.address, "REPRISE_TRACKING_TIMEOUT": "60.0", **TRAINER}
    writers = [repository.start("--name", str(n), "--extra", f"n={n}", **there) for n in range(4)]
    outputs = [writer.communicate(timeout=280)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4, outputs
    if repository.outbox:
        assert repository.command("pipeline.sync", **there)[0] == 0

    for name, value in TRAINER.items():
        monkeypatch.setenv(name, value)
    runs = repository.runs(deployment.address)
    assert sorted(int(run.data.params["n"]) for run in runs) == [0, 1, 2, 3]
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert [repository.curve(run, address=deployment.address) for run in runs] == [WHOLE] * 4
    kept = [item["Key"] for item in deployment.s3.list_objects_v2(Bucket="mlflow")["Contents"]]
    assert sum(key.endswith("step-00000012/weights.bin") or "step-00000012" in key for key in kept) >= 4
    assert all(any(run.info.run_id in key for key in kept) for run in runs)
    assert repository.outbox == []
    told = [str(run.data.tags) + str(run.data.params) for run in runs] + outputs
    told += [read_object(deployment.s3, key) for key in kept]
    told += [
        path.read_bytes().decode("latin-1")
        for folder in (repository.root, deployment.folder)
        for path in folder.rglob("*")
        if path.is_file()
    ]
    login = base64.b64encode(":".join(TRAINER.values()).encode()).decode()
    secrets = [*SECRETS.values(), TRAINER["MLFLOW_TRACKING_PASSWORD"], login]
    assert [secret for secret in secrets if any(secret in text for text in told)] == []


def test_a_wrong_password_stops_no_training_and_is_told_without_it(
    deployment: SimpleNamespace, new_repository: Callable
) -> None:
    repository = new_repository("another repository", database=None)
    wrong = {"MLFLOW_TRACKING_USERNAME": "trainer", "MLFLOW_TRACKING_PASSWORD": "kestrel-wrong-4410"}
    there = {"MLFLOW_TRACKING_URI": deployment.address, "REPRISE_TRACKING_TIMEOUT": "3.0"}
    code, printed = repository.train(**there, **wrong)
    assert code == 0
    assert "MLFLOW_TRACKING_USERNAME" in printed
    assert "kestrel" not in printed
    code, printed = repository.command("pipeline.sync", **there, **TRAINER)
    assert code == 0, printed
    assert repository.outbox == []


def test_data_goes_through_the_same_store_into_a_fresh_clone(
    deployment: SimpleNamespace, new_repository: Callable, tmp_path: Path
) -> None:
    repository = new_repository("data repository")
    key = {name: SECRETS[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    repository.dvc("init", "-q")
    repository.dvc("remote", "add", "-d", "shared", "s3://dvc/reprise")
    repository.dvc("remote", "modify", "shared", "endpointurl", deployment.endpoint)
    repository.dvc("repro", REPRISE_TRACKING="off")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "trained")
    repository.dvc("push", AWS_DEFAULT_REGION="us-east-1", **key)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repository.root), str(clone)], check=True)
    repository.dvc("--cd", str(clone), "pull", AWS_DEFAULT_REGION="us-east-1", **key)
    made = (repository.root / "data/train_toy/weights.bin").read_bytes()
    assert (clone / "data/train_toy/weights.bin").read_bytes() == made
    assert not any(secret in (clone / ".dvc/config").read_text() for secret in key.values())


def read_object(s3: Any, key: str) -> str:
    return s3.get_object(Bucket="mlflow", Key=key)["Body"].read().decode("latin-1")
