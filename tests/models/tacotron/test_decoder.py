"""Teacher forcing in hoisted pieces, teacher forcing step by step, and free running are one decoder."""

import numpy as np
import pytest
import tensorflow as tf

from models.recurrence.lstm import Zoneout
from models.tacotron.decoder import Zoneouts
from tests.models.tacotron.conftest import SETTINGS, Rig

NOISY = SETTINGS._replace(prenet_dropout=0.5, zoneout=0.2)
TOLERANCE = {tf.float64: 1e-9, tf.float32: 1e-5}
STEPS, BATCH, SYMBOLS = 5, 3, 6
SYMBOL_COUNTS = [6, 4, 2]
SEED = tf.constant([3, 4], tf.int64)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["float64", "float32"])
def test_hoisted_pieces_and_their_gradients_are_those_of_single_steps(dtype):
    rig = Rig(NOISY, dtype)
    decoder = rig.model.decoder
    draw = np.random.default_rng(2).normal
    encoded = tf.constant(draw(size=(BATCH, SYMBOLS, NOISY.encoder_units)), dtype)
    frames = tf.constant(draw(size=(BATCH, STEPS * NOISY.reduction_factor, NOISY.n_mels)), dtype)
    heard = decoder.frames_before(frames)
    noise = decoder.prenet_noise(STEPS, BATCH, 0.5, SEED)
    zoneouts = decoder.drawn_zoneouts(STEPS, BATCH, SEED)
    weights = [
        tf.constant(draw(size=size), dtype) for size in ((STEPS, BATCH, 8), (STEPS, BATCH), (STEPS, BATCH, SYMBOLS))
    ]

    def objective(follow):
        with tf.GradientTape() as tape:
            tape.watch(encoded)
            memory = decoder.memory(encoded, tf.sequence_mask(SYMBOL_COUNTS, SYMBOLS))
            emitted = follow(memory, heard, noise, zoneouts)
            value = tf.add_n([tf.reduce_sum(weight * part) for weight, part in zip(weights, emitted, strict=True)])
        used = {name: variable for name, variable in rig.trained.items() if name.startswith("decoder/")}
        gradients = tape.gradient(value, {**used, "encoded": encoded})
        return {**emitted._asdict(), **gradients}

    def step_by_step(memory, heard, noise, zoneouts):
        state, steps = decoder.initial(memory), []
        for time in range(STEPS):
            state, emitted = decoder.step(
                decoder.step_weights(),
                memory,
                state,
                heard[time],
                (noise[0][time], noise[1][time]),
                Zoneouts(*(Zoneout(each.hidden[time], each.cell[time]) for each in zoneouts)),
            )
            steps.append(emitted)
        return tf.nest.map_structure(lambda *values: tf.stack(values), *steps)

    hoisted, single = objective(decoder.follow), objective(step_by_step)
    for name, expected in single.items():
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            hoisted[name], expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale, err_msg=name
        )


def test_the_attention_looks_at_real_symbols_only(quiet):
    decoder = quiet.model.decoder
    encoded = tf.ones([BATCH, SYMBOLS, SETTINGS.encoder_units], tf.float64)
    memory = decoder.memory(encoded, tf.sequence_mask(SYMBOL_COUNTS, SYMBOLS))
    heard = tf.zeros([STEPS, BATCH, SETTINGS.n_mels], tf.float64)

    alignment = decoder.follow(memory, heard, no_noise(STEPS), decoder.expected_zoneouts()).alignment.numpy()

    np.testing.assert_allclose(alignment.sum(axis=2), 1.0, rtol=1e-12)
    for row, count in enumerate(SYMBOL_COUNTS):
        assert (alignment[:, row, count:] == 0.0).all()


def test_a_step_hears_the_last_frame_of_the_step_before(quiet):
    frames = tf.reshape(tf.range(6.0), [1, 6, 1]) * tf.ones([SETTINGS.n_mels])

    heard = quiet.model.decoder.frames_before(frames)

    assert heard[:, 0, 0].numpy().tolist() == [0.0, 1.0, 3.0]


def test_free_running_is_teacher_forcing_on_its_own_frames_under_the_same_noise(noisy):
    symbol_ids, symbol_counts = tf.constant([[1, 2, 3, 4], [5, 6, 0, 0]]), tf.constant([4, 2])

    speech = noisy.model.speak(symbol_ids, symbol_counts, 6, 0.999999, 0.5, SEED)
    followed = noisy.model.follow(symbol_ids, symbol_counts, speech.outputs.frames, speech.frame_counts, 0.5, SEED)

    for name, expected in speech.outputs._asdict().items():
        np.testing.assert_allclose(getattr(followed, name), expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_speech_ends_after_the_first_step_that_says_stop_and_each_row_by_itself(quiet):
    symbol_ids, symbol_counts = tf.constant([[1, 2, 3, 4], [5, 6, 7, 0]]), tf.constant([4, 3])
    endless = quiet.model.speak(symbol_ids, symbol_counts, 8, 1.0, 0.0, SEED)
    chances = tf.sigmoid(endless.outputs.stop_logits).numpy()
    threshold = float(np.sort(chances.max(axis=1))[0]) - 1e-6

    speech = quiet.model.speak(symbol_ids, symbol_counts, 8, threshold, 0.0, SEED)

    expected = [int(np.argmax(row > threshold)) + 1 for row in chances]
    assert speech.frame_counts.numpy().tolist() == [steps * SETTINGS.reduction_factor for steps in expected]
    assert speech.stopped.numpy().all()


def test_speech_that_never_says_stop_ends_at_the_cap_and_says_so(quiet):
    speech = quiet.model.speak(tf.constant([[1, 2]]), tf.constant([2]), 8, 1.0, 0.0, SEED)

    assert speech.frame_counts.numpy().tolist() == [8 * SETTINGS.reduction_factor]
    assert not speech.stopped.numpy().any()


def test_the_seed_alone_decides_what_is_said(noisy):
    said = [
        noisy.model.speak(tf.constant([[1, 2, 3]]), tf.constant([3]), 6, 1.0, 0.5, tf.constant([seed, 0], tf.int64))
        for seed in (1, 1, 2)
    ]
    frames = [speech.outputs.refined.numpy() for speech in said]

    assert (frames[0] == frames[1]).all()
    assert (frames[0] != frames[2]).any()


def no_noise(steps: int) -> tuple[tf.Tensor, tf.Tensor]:
    return (tf.ones([steps, BATCH, SETTINGS.prenet_units], tf.float64),) * 2
