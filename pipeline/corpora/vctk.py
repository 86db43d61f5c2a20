"""VCTK: txt/<speaker>/<id>.txt, and wav48_silence_trimmed/<speaker>/<id>_mic1.flac or wav48/<speaker>/<id>.wav."""

from pathlib import Path, PurePosixPath

from pipeline.corpora.rows import Listing, Row, in_order, is_recording, walk
from pipeline.corpora.transcripts import read_transcript
from pipeline.sections.corpus import Corpus

MICROPHONES = ("_mic1", "_mic2")
TRANSCRIPTS = "txt"


def read(folder: Path, corpus: Corpus) -> Listing:
    """One row an utterance; of two microphones the first counts, unless only the second is there."""
    listing = Listing(tried=f"{TRANSCRIPTS}/<speaker>/<id>.txt and wav48*/<speaker>/<id>.wav or <id>_mic1.flac")
    files = walk(folder)
    transcripts = {
        (path.parent.name, path.stem): path
        for path in files
        if path.suffix == ".txt" and path.parts[0] == TRANSCRIPTS and len(path.parts) > 2
    }
    recordings = {_utterance(path): path for path in sorted(filter(is_recording, files), key=_microphone, reverse=True)}
    names = sorted(set(transcripts) | set(recordings))
    listing.rows = in_order(_row(folder, *name, transcripts.get(name), recordings.get(name)) for name in names)
    return listing


def _row(
    folder: Path, speaker: str, identity: str, transcript: PurePosixPath | None, recording: PurePosixPath | None
) -> Row:
    place = transcript or recording
    text, problem = (
        read_transcript(folder, str(transcript)) if transcript else ("", f"no text: {TRANSCRIPTS} has no file for it")
    )
    problem = problem or ("" if recording else "missing: no recording for this transcript")
    return Row(identity, text, str(recording or ""), speaker, "en", str(place), 0, problem)


def _utterance(recording: PurePosixPath) -> tuple[str, str]:
    """Speaker and id."""
    stem = recording.stem
    identity = next((stem.removesuffix(mark) for mark in MICROPHONES if stem.endswith(mark)), stem)
    return recording.parent.name, identity


def _microphone(recording: PurePosixPath) -> tuple[bool, str]:
    return (recording.stem.endswith(MICROPHONES[1]), str(recording))
