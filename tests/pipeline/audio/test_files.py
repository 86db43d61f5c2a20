"""Sound files in every format that libsndfile reads, and what is wrong with others."""

import struct

import numpy as np
import pytest
import soundfile

from pipeline.audio.files import RecordingError, read_audio, resample, write_wav

RATE = 16000
LOSSY = ("ULAW", "VORBIS", "OPUS", "MPEG_LAYER_III")


def sine(seconds=0.5, hertz=1000.0, rate=RATE, peak=0.5):
    return (peak * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


@pytest.mark.parametrize(
    ("ending", "subtype"),
    [
        ("wav", "PCM_U8"),
        ("wav", "PCM_16"),
        ("wav", "PCM_24"),
        ("wav", "PCM_32"),
        ("wav", "FLOAT"),
        ("wav", "DOUBLE"),
        ("wav", "ULAW"),
        ("flac", "PCM_16"),
        ("flac", "PCM_24"),
        ("ogg", "VORBIS"),
        ("opus", "OPUS"),
        ("mp3", "MPEG_LAYER_III"),
        ("aiff", "PCM_16"),
    ],
)
def test_one_sine_is_the_same_waveform_in_every_sample_format(tmp_path, ending, subtype):
    path = tmp_path / f"sine.{ending}"
    soundfile.write(path, sine(), RATE, subtype=subtype, format="OGG" if ending == "opus" else ending.upper())
    inner = read_audio(path, RATE)[2000:6000]
    assert np.abs(inner).max() == pytest.approx(0.5, abs=0.02 if subtype in LOSSY else 0.01)
    spectrum = np.abs(np.fft.rfft(inner))
    assert np.argmax(spectrum) * RATE / len(inner) == pytest.approx(1000, abs=4)


def test_two_channels_become_their_mean(tmp_path):
    left, right = sine(peak=0.6), sine(peak=0.2)
    soundfile.write(tmp_path / "stereo.wav", np.stack([left, right], 1), RATE, subtype="FLOAT")
    np.testing.assert_allclose(read_audio(tmp_path / "stereo.wav", RATE), sine(peak=0.4), atol=1e-6)


@pytest.mark.parametrize("rate", [8000, 11025, 22050, 44100, 48000])
def test_another_rate_is_resampled_to_the_same_sound_of_the_same_duration(tmp_path, rate):
    soundfile.write(tmp_path / "other.wav", sine(rate=rate), rate, subtype="FLOAT")
    found = read_audio(tmp_path / "other.wav", RATE)
    assert abs(len(found) - 0.5 * RATE) <= 1
    np.testing.assert_allclose(found[1000:-1000], sine()[1000 : len(found) - 1000], atol=1e-3)


def test_resampling_to_the_same_rate_changes_no_bit():
    assert resample(sine(), RATE, RATE) is not None
    np.testing.assert_array_equal(resample(sine(), RATE, RATE), sine())


def test_written_audio_reads_back_within_half_a_step_of_16_bits(tmp_path):
    write_wav(tmp_path / "out.wav", sine(), RATE)
    np.testing.assert_allclose(read_audio(tmp_path / "out.wav", RATE), sine(), atol=1.1 / 32768)


def test_what_exceeds_full_scale_is_clipped_and_keeps_its_sign(tmp_path):
    loud = 3.0 * sine(peak=1.0)
    write_wav(tmp_path / "loud.wav", loud, RATE)
    pcm, _ = soundfile.read(tmp_path / "loud.wav", dtype="int16")
    assert np.abs(pcm.astype(int)).max() == 32767
    beyond = np.abs(loud) > 1
    np.testing.assert_array_equal(np.sign(pcm[beyond]), np.sign(loud[beyond]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_no_nan_or_infinity_is_written(tmp_path, bad):
    with pytest.raises(ValueError, match="NaN or infinity"):
        write_wav(tmp_path / "out.wav", np.array([0.0, bad]), RATE)
    assert not (tmp_path / "out.wav").exists()


def header_only(path):
    soundfile.write(path, np.zeros(0, np.float32), RATE, format="WAV")


def zero_bytes(path):
    path.write_bytes(b"")


def text_named_wav(path):
    path.write_text("this is no sound")


def cut_wav(path):
    soundfile.write(path, sine(), RATE, subtype="PCM_16", format="WAV")
    path.write_bytes(path.read_bytes()[:-1000])


def cut_flac(path):
    rng = np.random.default_rng(0)
    soundfile.write(path, rng.uniform(-0.5, 0.5, RATE), RATE, subtype="PCM_16", format="FLAC")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def one_nan(path):
    samples = sine()
    samples[17] = np.nan
    soundfile.write(path, samples, RATE, subtype="FLOAT", format="WAV")


def folder(path):
    path.mkdir()


FAULTS = [
    (header_only, "x.wav", "empty: a header"),
    (zero_bytes, "x.wav", "empty: 0 bytes"),
    (text_named_wav, "x.wav", "unreadable: "),
    (cut_wav, "x.wav", "truncated: 1000 bytes"),
    (cut_flac, "x.flac", "truncated|unreadable"),
    (one_nan, "x.wav", "not finite"),
    (folder, "x.wav", "unreadable: not a file"),
    (lambda path: None, "x.wav", "missing"),
    (lambda path: path.write_bytes(b"\0\0\0\x20ftypM4A "), "x.m4a", r"unreadable: \.m4a is not supported"),
]


@pytest.mark.parametrize(("make", "name", "reason"), FAULTS, ids=[reason for _, _, reason in FAULTS])
def test_a_faulty_file_is_refused_with_its_reason(tmp_path, make, name, reason):
    make(tmp_path / name)
    with pytest.raises(RecordingError, match=reason):
        read_audio(tmp_path / name, RATE)


@pytest.mark.parametrize("length", [0xFFFFFFFF, 0])
def test_a_wav_from_a_stream_whose_header_knows_no_length_is_read(tmp_path, length):
    path = tmp_path / "stream.wav"
    soundfile.write(path, sine(), RATE, subtype="PCM_16", format="WAV")
    content = bytearray(path.read_bytes())
    place = content.index(b"data") + 4
    content[place : place + 4] = struct.pack("<I", length)
    path.write_bytes(content)
    if length == 0:
        with pytest.raises(RecordingError, match="empty"):
            read_audio(path, RATE)
    else:
        assert len(read_audio(path, RATE)) == pytest.approx(8000, abs=2)
