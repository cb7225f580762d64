"""What policies say of sequences, without gradients: the learner's own, its reference, a teacher, and a critic."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.heartbeat import counted
from saccade.learner.common_start import common_start
from saccade.learner.dealing import MicroBatch, deal
from saccade.learner.logprobs import StateDivergence
from saccade.learner.memory import memory_errors
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.ranks import Ranks
from saccade.learner.root import PackForward
from saccade.learner.sequences import TrainingSequence
from saccade.learner.sharding import Sharding, settle
from saccade.models.lora import reference_policy
from saccade.models.vlm import VisionLanguageModel

if TYPE_CHECKING:
    from saccade.learner.teaching import Teaching
    from saccade.models.fp8_products import Fp8Products


class PolicyReader:
    """Holds the policy that is learned, and those that it is compared with.

    ``root`` is the policy's forward, perhaps with a critic's value head; each of the ``ranks`` reads its share.
    """

    def __init__(
        self,
        root: PackForward,
        settings: OptimizerSettings,
        *,
        ranks: Ranks,
        sharding: Sharding | None,
        teaching: "Teaching | None",
    ) -> None:
        self.model = root.model
        self.settings = settings
        self.value_head = root.value_head
        self.ranks = ranks
        self._root = root
        self._sharding = sharding
        self._coded: Fp8Products | None = None
        """How the policy's layers multiply, where not plainly."""
        self._reference: PackForward | None = None
        self._teaching = teaching
        self._teacher: PackForward | None = None
        """One with weights of its own."""

    @torch.no_grad()
    def logprobs(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]:
        """log p of every action token of each sequence, under the learner's policy."""
        with self._coding():
            return self._read(sequences, lambda batch: self._root(batch, temperature, critic=False)[0])

    def take_reference(self, load: Callable[[], VisionLanguageModel]) -> None:
        """Keeps a policy to compare with: the adapter that the learner began with, or else the model that is loaded."""
        if self.model.adapter is not None:
            return
        self._reference = PackForward(load())
        self._reference.requires_grad_(False)
        if self._sharding is not None:
            self._sharding.apply(self._reference)

    @torch.no_grad()
    def reference_logprobs(
        self, sequences: Sequence[TrainingSequence], *, temperature: float
    ) -> list[tuple[float, ...]]:
        """As ``logprobs``, under the policy that ``take_reference`` keeps, whose routers choose by themselves."""
        sequences = [replace(one, routed_experts=b"") if one.routed_experts else one for one in sequences]
        if self._reference is None:
            with reference_policy(self.model):
                return self.logprobs(sequences, temperature=temperature)
        reference = self._reference
        return self._read(sequences, lambda batch: reference(batch, temperature)[0], root=reference)

    def take_teacher(self, load: Callable[[], VisionLanguageModel]) -> None:
        """Keeps a teacher with weights of its own, whole, on this rank."""
        # Few stages have one.
        from saccade.learner.teaching import share_forbidden

        self._teacher = PackForward(load())
        self._teacher.requires_grad_(False)
        share_forbidden(self._teacher.model, self.model)

    @torch.no_grad()
    def teacher_logprobs(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]:
        """As ``logprobs``, under the teacher that ``take_teacher`` keeps; on this rank alone, which asks no other."""
        teacher = self._teacher
        assert teacher is not None, "there is no teacher; call take_teacher first"
        own: dict[int, tuple[float, ...]] = {}
        common = common_start(teacher.model, sequences)
        for batch in deal(sequences, 1, self.settings.micro_batch_tokens, common=common)[0]:
            with memory_errors(self.settings):
                own |= _by_sequence(batch, teacher(batch.sequences, temperature)[0])
        return [own[index] for index in range(len(sequences))]

    def _divergence(self, sequences: Sequence[TrainingSequence], temperature: float) -> StateDivergence | None:
        """How the states of these sequences are compared with their teacher's, where whole distributions are."""
        teaching = self._teaching
        if teaching is None or not teaching.options.compares_whole:
            return None
        from saccade.learner.teaching import states_apart

        of_stage = {"own": self._teacher, "start": self._reference}.get(teaching.weights)
        root = of_stage or self._root
        return states_apart(
            sequences,
            policy=self.model,
            teacher=None if teaching.weights == "server" else root.model,
            teaching=teaching,
            temperature=temperature,
            frozen_images=root.frozen_images,
        )

    @torch.no_grad()
    def values(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]:
        """Values of the critic for every action token of each sequence; ValueError without a value head."""
        if self.value_head is None:
            raise ValueError("there are no values without a critic; give the learner a value_head")
        return self._read(sequences, lambda batch: self._root(batch, temperature)[2])

    def _read(
        self,
        sequences: Sequence[TrainingSequence],
        forward: Callable[[Sequence[TrainingSequence]], Float[Tensor, "actions"]],
        root: PackForward | None = None,
    ) -> list[tuple[float, ...]]:
        """What a forward without gradients says of each action token, of each sequence."""
        read: list[tuple[MicroBatch, Float[Tensor, actions]]] = []
        with counted("scoring", self._share(sequences), "micro-batches") as batches:
            for batch in batches:
                with memory_errors(self.settings):
                    read.append((batch, forward(batch.sequences)))
        own: dict[int, tuple[float, ...]] = {}
        for batch, numbers in read:
            if not batch.is_blank:
                own |= _by_sequence(batch, numbers)
        settle(root or self._root)
        found = {index: numbers for one in self.ranks.gather(own) for index, numbers in one.items()}
        return [found[index] for index in range(len(sequences))]

    def _share(self, sequences: Sequence[TrainingSequence]) -> list[MicroBatch]:
        """This rank's micro-batches."""
        common = common_start(self.model, sequences)
        return deal(sequences, self.ranks.count, self.settings.micro_batch_tokens, common=common)[self.ranks.rank]

    def _coding(self) -> AbstractContextManager[None]:
        """Inside, the policy's layers multiply as its settings say."""
        return nullcontext() if self._coded is None else self._coded.in_place()


def _by_sequence(batch: MicroBatch, per_token: Float[Tensor, "actions"]) -> dict[int, tuple[float, ...]]:
    """Numbers of a micro-batch's action tokens, by the index of their sequence in the whole batch."""
    numbers: Iterator[float] = iter(per_token.tolist())
    return {
        index: tuple(islice(numbers, sequence.action_count)) for index, sequence in zip(batch.indices, batch.sequences)
    }
