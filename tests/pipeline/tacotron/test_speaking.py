"""A model says texts: to their end or to the cap, whole or in sentences, and the same again."""

import pytest

from pipeline.errors import InputError
from pipeline.tacotron.sounds import PAUSE_SECONDS, sound_of
from pipeline.tacotron.speaking import Manner, max_steps, say
from tests.pipeline.tacotron.conftest import AUDIO, LONGEST_TEXT, make_trained

MANNER = Manner(prenet_dropout=0.5, stop_threshold=0.5, max_seconds=0.2, long_text="split", seed=1)
LONG = "one two three. four five six! seven eight"
ALWAYS, NEVER = 30.0, -30.0


@pytest.fixture(scope="module")
def model():
    return make_trained()


@pytest.fixture
def endless(model):
    trained, variables = model
    variables.trained["decoder/stop/bias"].assign([NEVER])
    return trained


@pytest.fixture
def sudden(model):
    trained, variables = model
    variables.trained["decoder/stop/bias"].assign([ALWAYS])
    return trained


def test_the_cap_is_counted_in_decoder_steps(endless):
    assert max_steps(endless, 1.0) == 8000 // 64 // 2
    assert max_steps(endless, 1e-6) == 1


def test_a_text_that_never_says_stop_ends_at_the_cap_and_says_so(endless):
    [said] = say(endless, "hello", MANNER)

    assert not said.stopped
    assert said.frames.shape == (2 * max_steps(endless, 0.2), AUDIO.n_mels)
    assert said.alignment.shape == (max_steps(endless, 0.2), len("hello") + 1)


def test_a_text_that_says_stop_ends_there(sudden):
    [said] = say(sudden, "hello", MANNER)

    assert said.stopped
    assert len(said.frames) == 2


def test_what_is_said_is_told_as_it_was_read(endless):
    [said] = say(endless, "Hello  there", MANNER)

    assert (said.text, said.normalised) == ("Hello  there", "hello there")
    assert said.symbols == [*"hello there", "<end>"]


def test_a_text_longer_than_any_in_training_is_split_into_sentences_with_a_warning(endless, capsys):
    pieces = say(endless, LONG, MANNER)

    assert [piece.text for piece in pieces] == ["one two three.", "four five six!", "seven eight"]
    assert [piece.stopped for piece in pieces] == [False] * 3
    warning = capsys.readouterr().err
    assert f"{len(LONG) + 1} symbols is longer than any in training ({LONGEST_TEXT}); it is said in 3 pieces" in warning


def test_a_long_text_may_be_said_whole_with_a_warning(endless, capsys):
    pieces = say(endless, LONG, MANNER._replace(long_text="whole"))

    assert [piece.text for piece in pieces] == [LONG]
    assert "it is said in 1 piece:" in capsys.readouterr().err


def test_a_short_text_is_said_whole_without_a_warning(endless, capsys):
    assert len(say(endless, "One. Two. Three.", MANNER)) == 1
    assert capsys.readouterr().err == ""


def test_symbols_that_the_vocabulary_lacks_are_named(endless, capsys):
    [said] = say(endless, "a ж ж b", MANNER)

    assert "'ж' (U+0436) 2x" in capsys.readouterr().err
    assert "ж" not in said.symbols


@pytest.mark.parametrize("text", ["", "  ", "жж"])
def test_a_text_of_which_nothing_can_be_said_is_refused(endless, text):
    with pytest.raises(InputError, match="holds nothing that can be said"):
        say(endless, text, MANNER)


def test_seed_model_and_text_decide_every_byte_of_the_sound(endless):
    def sound(speaker, seed):
        return sound_of(say(speaker, "hello", MANNER._replace(seed=seed)), AUDIO, 3, 1.2, seed).tobytes()

    again, variables = make_trained()
    variables.trained["decoder/stop/bias"].assign([NEVER])
    assert sound(endless, 1) == sound(again, 1)
    assert sound(endless, 1) != sound(endless, 2)


def test_between_sentences_there_is_a_pause_and_none_at_the_ends(endless):
    pieces = say(endless, LONG, MANNER)
    pause = int(PAUSE_SECONDS * AUDIO.sample_rate)
    alone = [sound_of([piece], AUDIO, 1, 1.0, 0) for piece in pieces]

    sound = sound_of(pieces, AUDIO, 1, 1.0, 0)

    assert len(sound) == sum(len(each) for each in alone) + 2 * pause
    assert not sound[len(alone[0]) : len(alone[0]) + pause].any()
    assert (sound[: len(alone[0])] == alone[0]).all()
