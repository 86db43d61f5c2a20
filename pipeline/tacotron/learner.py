"""Tacotron and its data as the training loop sees them."""

from collections.abc import Iterator, Mapping

import numpy as np
import tensorflow as tf

from models.tacotron import loss
from models.tacotron.loss import Objective, Sums
from models.tacotron.tacotron import Tacotron
from models.tacotron.variables import Variables
from pipeline.sections.train_tacotron import TrainTacotron
from pipeline.shards import MelSplit
from pipeline.tacotron.alignment import mean_scores
from pipeline.tacotron.batches import make_batch, signature
from pipeline.tacotron.buckets import Place, in_order, make_buckets, shuffled, sort_into
from pipeline.tacotron.frames import Scale
from pipeline.training.learner import Batch, StepResult

VALIDATION_SEED = (0, 0)


class TacotronLearner:
    """See `pipeline.training.learner.Learner`."""

    def __init__(
        self,
        model: Tacotron,
        variables: Variables,
        train: MelSplit,
        validation: MelSplit,
        scale: Scale,
        params: TrainTacotron,
        seed: int,
    ):
        self.variables, self.statistics = variables.trained, variables.statistics
        self.signature = signature(len(scale.mean))
        self.initial_state = ()
        self._model, self._params, self._seed = model, params, seed
        self._train, self._validation, self._scale = train, validation, scale
        self._objective = objective_of(params)
        factor, spare = params.reduction_factor, params.stop_frames
        self._buckets = make_buckets(
            train.frame_counts, train.symbol_counts, params.batch_size, params.bucket_count, factor, spare
        )
        self._validation_buckets = sort_into(
            self._buckets, validation.frame_counts, validation.symbol_counts, factor, spare
        )
        self._follow = tf.function(self._follow_batch, input_signature=[self.signature], autograph=False)

    @tf.autograph.experimental.do_not_convert
    def loss(self, arrays: Mapping[str, tf.Tensor], state: tuple, step: tf.Tensor) -> StepResult:
        """The loss of a batch, over its real frames."""
        seed = tf.stack([tf.constant(self._seed, tf.int64), step])
        outputs, statistics = self._model.train(**arrays, seed=seed)
        parts = loss.added(self._sums(outputs, arrays))
        guide_weight = self._guide_weight(step)
        figures = {"error": parts.error / parts.frames, **figures_of(parts), "guide_weight": guide_weight}
        return StepResult(loss.total(parts, self._objective, guide_weight), figures, state, statistics)

    @tf.autograph.experimental.do_not_convert
    def penalty(self) -> tf.Tensor:
        """Half the squared norm of the kernels, weighted (Shen et al. 2018, 2.2)."""
        kernels = [variable for variable in self.variables.values() if variable.shape.rank > 1]
        return self._params.weight_decay * tf.add_n([tf.nn.l2_loss(kernel) for kernel in kernels])

    def batches(self, position: Mapping[str, np.ndarray] | None) -> Iterator[Batch]:
        """Endless batches; the position is the epoch and the place in it of the next one."""
        place = Place(int(position["epoch"]), int(position["index"])) if position else Place(0, 0)
        for bucket, places, following in shuffled(self._buckets, self._seed, place):
            arrays = make_batch(self._train, self._scale, bucket, places)
            after = {name: np.int64(value) for name, value in following._asdict().items()}
            yield Batch(arrays, after, tuple(self._train.ids[int(place)] for place in places))

    def validate(self) -> dict[str, float]:
        """Teacher-forced figures over the validation split, each utterance counted by its frames."""
        parts, alignments = [], []
        for bucket, places, count in in_order(self._validation_buckets):
            arrays = make_batch(self._validation, self._scale, bucket, places)
            sums, batch_alignments = self._follow({name: tf.constant(array) for name, array in arrays.items()})
            parts.append(Sums(*(values[:count].numpy() for values in sums)))
            steps = sums.steps.numpy().astype(int)
            alignments += [
                alignment[: steps[row], : arrays["symbol_counts"][row]]
                for row, alignment in enumerate(batch_alignments.numpy()[:count])
            ]
        added = Sums(*(float(np.concatenate(values).sum(dtype=np.float64)) for values in zip(*parts, strict=True)))
        total = loss.total(added, self._objective, 0.0)
        return {"loss": total, "error": added.error / added.frames, **figures_of(added), **mean_scores(alignments)}

    def _follow_batch(self, arrays: Mapping[str, tf.Tensor]) -> tuple[Sums, tf.Tensor]:
        outputs = self._model.follow(**arrays, prenet_dropout=self._params.prenet_dropout, seed=VALIDATION_SEED)
        return self._sums(outputs, arrays), outputs.alignments

    def _sums(self, outputs, arrays: Mapping[str, tf.Tensor]) -> Sums:
        return loss.sums(
            outputs,
            arrays["frames"],
            arrays["frame_counts"],
            arrays["symbol_counts"],
            tf.constant(self._scale.deviation),
            self._objective,
        )

    def _guide_weight(self, step: tf.Tensor) -> tf.Tensor:
        """Full at first, then fading linearly to nothing."""
        faded = tf.cast(step - self._params.guide_full_steps, tf.float32) / self._params.guide_fade_steps
        return self._params.guide_weight * tf.clip_by_value(1.0 - faded, 0.0, 1.0)


def objective_of(params: TrainTacotron) -> Objective:
    """What the parameters say is minimised."""
    return Objective(**{name: getattr(params, name) for name in Objective._fields})


def figures_of(parts: Sums) -> dict:
    """The parts of the loss by name, of sums that were added up."""
    return {
        "frame_loss_before": parts.squared_before / parts.frames,
        "frame_loss_after": parts.squared_after / parts.frames,
        "stop_loss": parts.stop / parts.stop_steps,
        "guide_loss": parts.guide / parts.steps,
    }
