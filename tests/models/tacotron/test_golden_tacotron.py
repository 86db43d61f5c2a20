"""NVIDIA's Tacotron 2 and ours give the same numbers. The reference leaks padding, averages over it and does not mask its post-net;
where ours does better, the test puts our parts together as the reference has them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from models.tacotron import loss
from models.tacotron.settings import Settings
from models.tacotron.tacotron import Tacotron
from models.tacotron.variables import Variables

FOLDER = Path(os.environ.get("GOLDEN_DIR", Path(__file__).parents[2] / "golden")) / "tacotron2"
FILES = sorted(FOLDER.glob("*.npz"))
TOLERANCE = {tf.float64: 1e-9, tf.float32: 1e-4}
SEED = tf.constant([0, 0])

pytestmark = pytest.mark.skipif(not FILES, reason=f"no golden files in {FOLDER}")


class Golden:
    """One file's weights in our model, and its numbers."""

    def __init__(self, file: Path, dtype: tf.DType):
        self.numbers = dict(np.load(file))
        self.dtype = dtype
        sizes = json.loads(str(self.numbers["hp_json"]))
        self.mask_padding = sizes["mask_padding"]
        variables = Variables(np.random.default_rng(0), dtype)
        self.model = Tacotron(_settings(sizes), variables)
        self.trained, self.statistics = variables.trained, variables.statistics
        weights = {name[3:]: value for name, value in self.numbers.items() if name.startswith("sd/")}
        for name, variable in (self.trained | self.statistics).items():
            variable.assign(ours(name, weights))
        self.text, self.text_counts = self.numbers["text"], self.numbers["text_lengths"]
        self.frames = self.tensor("mel_target", [0, 2, 1])
        self.frame_counts = self.numbers["mel_lengths"]
        self.symbols_everywhere = tf.ones([*self.text.shape, 1], dtype)
        self.frames_everywhere = tf.ones([*self.frames.shape[:2], 1], dtype)

    def tensor(self, key: str, axes: list[int] | None = None) -> tf.Tensor:
        value = self.numbers[key]
        return tf.constant(value.transpose(axes) if axes else value, self.dtype)

    def close(self, value: tf.Tensor, key: str, axes: list[int] | None = None) -> None:
        expected = self.numbers[key]
        expected = expected.transpose(axes) if axes else expected
        tolerance = TOLERANCE[self.dtype]
        np.testing.assert_allclose(np.asarray(value), expected, rtol=tolerance, atol=tolerance, err_msg=key)

    def encode(self) -> tf.Tensor:
        encoder = self.model.encoder
        convolved = encoder.convolve(encoder.embed(self.text), self.symbols_everywhere)
        return encoder.recur(convolved, self.text_counts, self.model.decoder.expected_zoneouts().attention)

    def decode(self, encoded: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Frames, stop logits and alignments, batch first, before any masking."""
        decoder = self.model.decoder
        memory = decoder.memory(encoded, tf.sequence_mask(self.text_counts, self.text.shape[1]))
        heard = decoder.frames_before(self.frames)
        emitted = decoder.follow(memory, heard, self.no_noise(*heard.shape[:2]), decoder.expected_zoneouts())
        return tuple(tf.experimental.numpy.swapaxes(values, 0, 1) for values in emitted)

    def no_noise(self, *shape: int) -> tuple[tf.Tensor, tf.Tensor]:
        return (tf.ones([*shape, self.model.settings.prenet_units], self.dtype),) * 2

    def loss(self, frames: tf.Tensor, refined: tf.Tensor, stop_logits: tf.Tensor) -> dict[str, tf.Tensor]:
        """The reference's loss: plain means over everything, padding included."""
        real = tf.sequence_mask(self.frame_counts, frames.shape[1])
        if self.mask_padding:
            frames, refined = (tf.where(real[..., None], values, tf.zeros_like(values)) for values in (frames, refined))
            stop_logits = tf.where(real, stop_logits, tf.constant(1000.0, self.dtype))
        size = frames.shape[1] * tf.ones_like(self.frame_counts)
        targets = tf.constant(self.numbers["gate_target"], self.dtype)
        parts = {
            "mel": tf.reduce_mean(tf.square(frames - self.frames)),
            "mel_postnet": tf.reduce_mean(tf.square(refined - self.frames)),
            "gate": tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(targets, stop_logits)),
        }
        if not self.mask_padding:
            ours = loss.stop_sums(stop_logits, self.frame_counts, size)
            np.testing.assert_allclose(tf.reduce_mean(ours) / frames.shape[1], parts["gate"], rtol=1e-5)
        return parts | {"total": tf.add_n(list(parts.values()))}


@pytest.fixture(params=[tf.float64, tf.float32], ids=["float64", "float32"])
def dtype(request) -> tf.DType:
    return request.param


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def golden(request, dtype) -> Golden:
    return Golden(request.param, dtype)


def test_encoder_decoder_and_postnet_give_the_reference_numbers(golden):
    encoded = golden.encode()
    frames, stop_logits, alignments = golden.decode(encoded)
    refined = golden.model.postnet.infer(frames, golden.frames_everywhere)

    golden.close(encoded, "fwd/encoder_outputs")
    golden.close(frames, "fwd/mel_raw", [0, 2, 1])
    golden.close(stop_logits, "fwd/gate_raw")
    golden.close(refined, "fwd/mel_postnet_raw", [0, 2, 1])
    golden.close(alignments, "fwd/alignments")


def test_each_step_leaves_the_states_of_the_reference(golden):
    decoder = golden.model.decoder
    memory = decoder.memory(golden.encode(), tf.sequence_mask(golden.text_counts, golden.text.shape[1]))
    weights, zoneouts = decoder.step_weights(), decoder.expected_zoneouts()
    heard = decoder.frames_before(golden.frames)
    state, states = decoder.initial(memory), []
    for frame in heard:
        state, _ = decoder.step(weights, memory, state, frame, golden.no_noise(len(frame)), zoneouts)
        states.append(state)

    trace = tf.nest.map_structure(lambda *steps: tf.stack(steps), *states)
    golden.close(trace.attention.lstm.hidden, "fwd/trace/attention_hidden")
    golden.close(trace.attention.lstm.cell, "fwd/trace/attention_cell")
    golden.close(trace.attention.context, "fwd/trace/attention_context")
    golden.close(trace.attention.summed, "fwd/trace/attention_weights_cum")
    golden.close(trace.lstm.hidden, "fwd/trace/decoder_hidden")
    golden.close(trace.lstm.cell, "fwd/trace/decoder_cell")


def test_loss_and_all_gradients_are_the_reference_s(golden):
    with tf.GradientTape() as tape:
        frames, stop_logits, _ = golden.decode(golden.encode())
        parts = golden.loss(frames, golden.model.postnet.infer(frames, golden.frames_everywhere), stop_logits)
    gradients = tape.gradient(parts["total"], golden.trained)

    for name, value in parts.items():
        golden.close(value, f"loss/{name}")
    clean = {name[11:]: value for name, value in golden.numbers.items() if name.startswith("grad_clean/")}
    reference = {name[5:]: value for name, value in golden.numbers.items() if name.startswith("grad/")} | clean
    # Both biases have the gradient of their sum.
    reference |= {name: np.zeros_like(value) for name, value in reference.items() if "bias_hh" in name}
    for name, gradient in gradients.items():
        expected = ours(name, reference)
        scale = TOLERANCE[golden.dtype] * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE[golden.dtype], atol=scale, err_msg=name)


def test_free_running_is_the_reference_s(golden):
    for row in range(len(golden.text)):
        count = golden.text_counts[row]
        text, counts = golden.text[row : row + 1], golden.text_counts[row : row + 1]
        steps = golden.numbers[f"infer/{row}/mel"].shape[2]

        whole = golden.model.speak(text, counts, steps, 1.0, 0.0, SEED)
        golden.close(whole.outputs.frames, f"infer/{row}/mel", [0, 2, 1])
        golden.close(whole.outputs.refined, f"infer/{row}/mel_postnet", [0, 2, 1])
        golden.close(whole.outputs.alignments[..., :count], f"infer/{row}/alignments")
        golden.close(whole.outputs.stop_logits[..., None], f"infer/{row}/gate")
        assert not whole.stopped[0]

        threshold = float(golden.numbers[f"infer/{row}/threshold"])
        stopped = golden.model.speak(text, counts, steps, threshold, 0.0, SEED)
        assert stopped.frame_counts[0] == golden.numbers[f"infer/{row}/frames_at_threshold"]
        assert stopped.stopped[0] or stopped.frame_counts[0] == steps
        golden.close(stopped.outputs.refined, f"infer/{row}/mel_postnet_at_threshold", [0, 2, 1])


def test_batch_statistics_and_moving_averages_are_the_reference_s(golden):
    encoder, postnet = golden.model.encoder, golden.model.postnet
    expected_zoneout = golden.model.decoder.expected_zoneouts().attention
    convolved, statistics = encoder.convolve_in_training(encoder.embed(golden.text), golden.symbols_everywhere, SEED)
    encoded = encoder.recur(convolved, golden.text_counts, expected_zoneout)
    frames, stop_logits, _ = golden.decode(encoded)
    refined, new = postnet.train(frames, golden.frames_everywhere, SEED)

    golden.close(encoded, "bn_train/encoder_outputs")
    golden.close(golden.loss(frames, refined, stop_logits)["total"], "bn_train/loss_total")
    after = {name[15:]: value for name, value in golden.numbers.items() if name.startswith("bn_train/after/")}
    tolerance = TOLERANCE[golden.dtype]
    for name, value in (statistics | new).items():
        np.testing.assert_allclose(value, ours(name, after), rtol=tolerance, atol=tolerance, err_msg=name)
    real = np.arange(frames.shape[1]) < golden.frame_counts[:, None]
    if not golden.mask_padding:
        real = np.ones_like(real)
    golden.close(np.where(real[..., None], frames, 0.0), "bn_train/mel", [0, 2, 1])
    golden.close(np.where(real[..., None], refined, 0.0), "bn_train/mel_postnet", [0, 2, 1])


def _settings(sizes: dict) -> Settings:
    return Settings(
        symbol_count=sizes["n_symbols"],
        n_mels=sizes["n_mel_channels"],
        reduction_factor=sizes["n_frames_per_step"],
        embedding_units=sizes["symbols_embedding_dim"],
        encoder_layers=sizes["encoder_n_convolutions"],
        encoder_width=sizes["encoder_kernel_size"],
        encoder_units=sizes["encoder_embedding_dim"],
        attention_units=sizes["attention_dim"],
        location_filters=sizes["attention_location_n_filters"],
        location_width=sizes["attention_location_kernel_size"],
        prenet_units=sizes["prenet_dim"],
        attention_lstm_units=sizes["attention_rnn_dim"],
        decoder_lstm_units=sizes["decoder_rnn_dim"],
        postnet_layers=sizes["postnet_n_convolutions"],
        postnet_units=sizes["postnet_embedding_dim"],
        postnet_width=sizes["postnet_kernel_size"],
        convolution_dropout=0.0,
        prenet_dropout=0.0,
        zoneout=0.0,
    )


def ours(name: str, theirs: dict[str, np.ndarray]) -> np.ndarray:
    """The reference's tensor (a weight, a statistic, a gradient) as our variable of this name has it."""
    parts = name.split("/")
    if parts[1].startswith("convolution_"):
        layer = parts[1].removeprefix("convolution_")
        block = f"{parts[0]}.convolutions.{layer}"
        key, axes = {
            "kernel": ("0.conv.weight", (2, 1, 0)),
            "bias": ("0.conv.bias", (0,)),
            "norm/scale": ("1.weight", (0,)),
            "norm/offset": ("1.bias", (0,)),
            "norm/mean": ("1.running_mean", (0,)),
            "norm/variance": ("1.running_var", (0,)),
        }["/".join(parts[2:])]
        return theirs[f"{block}.{key}"].transpose(axes)
    if name.startswith("encoder/lstm/"):
        kind = {"input_kernel": "weight_ih", "recurrent_kernel": "weight_hh", "bias": "bias"}[parts[2]]
        return np.stack([_lstm(theirs, "encoder.lstm", kind, f"_l0{way}") for way in ("", "_reverse")])
    if name in ("decoder/attention_lstm/input_kernel", "decoder/attention_lstm/recurrent_kernel"):
        prenet = theirs["decoder.prenet.layers.1.linear_layer.weight"].shape[0]
        inputs = _lstm(theirs, "decoder.attention_rnn", "weight_ih")
        if parts[2] == "input_kernel":
            return inputs[:prenet]
        return np.concatenate([inputs[prenet:], _lstm(theirs, "decoder.attention_rnn", "weight_hh")])
    if name.startswith("decoder/lstm/"):
        kind = {"input_kernel": "weight_ih", "recurrent_kernel": "weight_hh", "bias": "bias"}[parts[2]]
        return _lstm(theirs, "decoder.decoder_rnn", kind)
    attention = "decoder.attention_layer"
    return {
        "encoder/embedding": lambda: theirs["embedding.weight"],
        "decoder/prenet_0/kernel": lambda: theirs["decoder.prenet.layers.0.linear_layer.weight"].T,
        "decoder/prenet_1/kernel": lambda: theirs["decoder.prenet.layers.1.linear_layer.weight"].T,
        "decoder/attention_lstm/bias": lambda: _lstm(theirs, "decoder.attention_rnn", "bias"),
        "decoder/attention/query_kernel": lambda: theirs[f"{attention}.query_layer.linear_layer.weight"].T,
        "decoder/attention/memory_kernel": lambda: theirs[f"{attention}.memory_layer.linear_layer.weight"].T,
        "decoder/attention/location_convolution": lambda: theirs[
            f"{attention}.location_layer.location_conv.conv.weight"
        ].transpose(2, 1, 0),
        "decoder/attention/location_kernel": lambda: (
            theirs[f"{attention}.location_layer.location_dense.linear_layer.weight"].T
        ),
        "decoder/attention/score_kernel": lambda: theirs[f"{attention}.v.linear_layer.weight"][0],
        "decoder/frame/kernel": lambda: theirs["decoder.linear_projection.linear_layer.weight"].T,
        "decoder/frame/bias": lambda: theirs["decoder.linear_projection.linear_layer.bias"],
        "decoder/stop/kernel": lambda: theirs["decoder.gate_layer.linear_layer.weight"].T,
        "decoder/stop/bias": lambda: theirs["decoder.gate_layer.linear_layer.bias"],
    }[name]()


def _lstm(theirs: dict[str, np.ndarray], layer: str, kind: str, suffix: str = "") -> np.ndarray:
    """A kernel turned over, or the sum of the two biases that PyTorch has."""
    if kind != "bias":
        return theirs[f"{layer}.{kind}{suffix}"].T
    return theirs[f"{layer}.bias_ih{suffix}"] + theirs[f"{layer}.bias_hh{suffix}"]
