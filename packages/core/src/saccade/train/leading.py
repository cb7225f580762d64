"""The first of several ranks: it runs the loop, plays and records, and its learner's calls are orders to the others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from saccade.algorithms.algorithm import PolicyLoss
from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.learner.processes import Company
from saccade.learner.sequences import TrainingSequence
from saccade.learner.sharding import check_can_shard
from saccade.media.packed import packed_pictures
from saccade.media.store import MediaStore
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.checkpoints import Checkpoint
from saccade.train.plan import LearningStage, Plan, RLStage

_FORGET_BYTES = 256 << 20
"""Pictures that the others are sent before they forget all of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One call of the learner that every rank makes."""

    method: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """Packed, by hash: those that the others have not seen yet."""
    forgets: bool = False
    """Whether the pictures so far are needed no more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageStart:
    """What a learner begins a stage with."""

    stage: str
    checkpoint: Checkpoint | None
    """The newest of the run; None is the plan's own model."""
    first_policy: Checkpoint | None
    """The model that the stage began with, in the same way."""


class Orders:
    """The way to the other ranks."""

    def __init__(self, company: Company, media: MediaStore) -> None:
        self.company = company
        self._media = media
        self._sent: set[str] = set()
        self._sent_bytes = 0

    @contextmanager
    def giving(
        self, method: str, sequences: Sequence[TrainingSequence] | None = None, **arguments: object
    ) -> Iterator[None]:
        """Gives an order, which this rank obeys inside; errors of any rank end all of them."""
        forgets = self._sent_bytes > _FORGET_BYTES
        if forgets:
            self._sent.clear()
            self._sent_bytes = 0
        pictures = self._new_pictures(sequences or ())
        if sequences is not None:
            arguments["sequences"] = tuple(sequences)
        self.company.order(Order(method=method, arguments=arguments, pictures=pictures, forgets=forgets))
        with self.company.sharing_failures():
            yield

    def _new_pictures(self, sequences: Sequence[TrainingSequence]) -> dict[str, bytes]:
        """Each picture goes once, by its content."""
        hashes = {image.hash for sequence in sequences for image in sequence.images} - self._sent
        pictures = packed_pictures(self._media, hashes)
        self._sent |= hashes
        self._sent_bytes += sum(map(len, pictures.values()))
        return pictures


def check_shards(plan: Plan) -> None:
    """UserError for settings of a stage that several learners cannot work with."""
    for stage in plan.stages:
        if isinstance(stage, LearningStage):
            check_can_shard(stage.settings.optimizer, f"stage {stage.name}: optimizer.")
        distill = stage.applied_algorithm.distill if isinstance(stage, RLStage) else None
        if distill is not None and distill.compares_whole:
            raise UserError(
                f"stage {stage.name}: algorithm.distill.loss={distill.loss} compares whole distributions in one "
                "learner alone; use distill.loss=sampled, or fleet.learners=1"
            )


class LeadingLearner:
    """A learner of a stage as many ranks have it; ``model`` is whole, and what the engine samples with."""

    def __init__(self, learner: Learner, model: VisionLanguageModel, orders: Orders) -> None:
        self._learner = learner
        self._model = model
        self._orders = orders
        self._is_published = True

    def update(
        self,
        sequences: Sequence[TrainingSequence],
        loss: PolicyLoss,
        *,
        temperature: float,
        learning_rate: float,
        entropy_gradient: bool = False,
        is_stale: bool = False,
    ) -> Mapping[str, float]:
        """The others have the stage's losses themselves: functions are not sent, only which of them it is."""
        self._is_published = False
        with self._orders.giving(
            "update",
            sequences,
            temperature=temperature,
            learning_rate=learning_rate,
            entropy_gradient=entropy_gradient,
            is_stale=is_stale,
        ):
            return self._learner.update(
                sequences,
                loss,
                temperature=temperature,
                learning_rate=learning_rate,
                entropy_gradient=entropy_gradient,
            )

    def logprobs(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]:
        with self._orders.giving("logprobs", sequences, temperature=temperature):
            return self._learner.logprobs(sequences, temperature=temperature)

    def take_entropies(self) -> dict[int, tuple[float, ...]]:
        return {}

    def values(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]:
        with self._orders.giving("values", sequences, temperature=temperature):
            return self._learner.values(sequences, temperature=temperature)

    def take_reference(self, load: Callable[[], VisionLanguageModel]) -> None:
        with self._orders.giving("take_reference"):
            self._learner.take_reference(load)

    def reference_logprobs(
        self, sequences: Sequence[TrainingSequence], *, temperature: float
    ) -> list[tuple[float, ...]]:
        with self._orders.giving("reference_logprobs", sequences, temperature=temperature):
            return self._learner.reference_logprobs(sequences, temperature=temperature)

    def take_teacher(self, load: Callable[[], VisionLanguageModel]) -> None:
        """This rank alone has it: it reads once what the others learn from."""
        self._learner.take_teacher(load)

    def teacher_logprobs(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]:
        return self._learner.teacher_logprobs(sequences, temperature=temperature)

    def publish(self) -> None:
        if self._is_published:
            return
        self._is_published = True
        with self._orders.giving("publish"):
            self._learner.publish(self._model)

    def save_state(self, directory: Path) -> None:
        with self._orders.giving("save_state", directory=directory.resolve()):
            self._learner.save_state(directory)

    def restore_state(self, directory: Path) -> None:
        with self._orders.giving("restore_state", directory=directory.resolve()):
            self._learner.restore_state(directory)
