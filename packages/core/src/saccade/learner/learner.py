"""The learner: one optimiser step from a batch of sequences, whatever the loss."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade import metric_names as metric
from saccade.algorithms.algorithm import PolicyLoss
from saccade.heartbeat import counted, phase
from saccade.learner.dealing import MicroBatch, deal
from saccade.learner.forwards import CompiledParts
from saccade.learner.logprobs import StateDivergence, policy_tokens
from saccade.learner.memory import activation_checkpointing, check_images_fit, memory_errors
from saccade.learner.muon import inner_matrices
from saccade.learner.optimizer import MasterOptimizer, OptimizerSettings, rate_share
from saccade.learner.ranks import ALONE, Ranks
from saccade.learner.root import PackForward
from saccade.learner.sequences import TrainingSequence
from saccade.learner.sharding import Sharding, check_can_shard, like, settle, whole
from saccade.learner.state_files import restore_state, save_state
from saccade.learner.trained_weights import choose_trained, trained_weights
from saccade.models.lora import adapter_parameters, reference_policy
from saccade.models.memory import give_freed_memory_back
from saccade.models.packs import attends_at_once
from saccade.models.vlm import VisionLanguageModel
from saccade.native import FeatureCache

if TYPE_CHECKING:
    from saccade.learner.host_activations import HostActivations
    from saccade.learner.teaching import Teaching
    from saccade.models.fp8_products import Fp8Products

__all__ = ["Learner", "NonFiniteStep", "OptimizerSettings"]

logger = logging.getLogger(__name__)

_FROZEN_IMAGE_BYTES = 512 << 20
"""Features of images that are kept under a frozen vision tower, which gives the same ones at every step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NonFiniteStep:
    """A step that was skipped because its loss or its gradient was not finite."""

    sequences: tuple[TrainingSequence, ...]
    totals: Mapping[str, float]
    """Sums over the batch's action tokens, as far as they went."""
    gradient_norm: float
    suspects: tuple[int, ...]
    """Indices of the sequences in micro-batches without a finite loss; none where only the gradient overflowed."""


class Learner:
    """Holds the model and its optimiser; ``update`` is one step.

    ``value_head`` is a critic's: from hidden states (tokens, hidden) to values (tokens,), trained with
    ``critic_learning_rate`` on the schedule of the policy's. ``on_nonfinite`` is told of each skipped step.
    ``ranks`` are the processes that learn together: each calls the same methods with the same whole batches, works on
    its share of them, and has the same results. Several of them need a ``sharding``, which takes the ``model`` apart:
    what samples or saves needs another, which ``publish`` brings up to date. Raises UserError for settings that cannot
    be sharded.
    """

    def __init__(
        self,
        model: VisionLanguageModel,
        settings: OptimizerSettings,
        *,
        value_head: nn.Module | None = None,
        critic_learning_rate: float | None = None,
        values_train_trunk: bool = False,
        on_nonfinite: Callable[[NonFiniteStep], object] | None = None,
        ranks: Ranks = ALONE,
        sharding: Sharding | None = None,
        teaching: "Teaching | None" = None,
    ) -> None:
        self.model = model
        self.settings = settings
        self.value_head = value_head
        self.reads_late = model.device.type == "cuda"
        """Whether figures of a step are read when it is over, since the device is waited for. On a CPU a loss that is
        not finite spares the backward pass."""
        self.ranks = ranks
        self._critic_share = rate_share(settings, critic_learning_rate)
        self._on_nonfinite = on_nonfinite
        if sharding is not None:
            check_can_shard(settings)
        with memory_errors(settings):
            choose_trained(model, settings)
            model.pack_attention = settings.pack_attention
            # Where it is chosen the log says so, and a wish that cannot be had ends the run, before the first step.
            attends_at_once(model, model.device, model.dtype)
            self._root = PackForward(
                model, value_head=value_head, values_train_trunk=values_train_trunk, frozen_images=_frozen_images(model)
            )
            self.host_activations = _host_activations(self._root) if settings.offload_activations else None
            if self.host_activations is not None:
                self._root.keeping = self.host_activations.moving
            has_masters = sharding is not None and sharding.apply(self._root)
            if sharding is not None:
                _shard_start(model)
            trained = trained_weights(model)
            self.parameters = [*trained.values()]
            self.sharded_masters = trained if has_masters else {}
            """fp32 shards of weights that are half precision in the model."""
            critic = list(value_head.parameters()) if value_head is not None else []
            self.names = [*trained, *(f"value_head.{index}" for index in range(len(critic)))]
            """Of the weights, in the optimiser's order."""
            has_own_rate = settings.trained_learning_rate is not None
            self.optimizer = MasterOptimizer(
                self.parameters,
                settings,
                critic=critic,
                is_inner_matrix=inner_matrices(model.hf).__contains__,
                apart=[weight for name, weight in trained.items() if has_own_rate and ".lora_" not in name],
            )
        self.work = self._root.work
        """Tokens and images that went through the model so far, on this rank."""
        self._sharding = sharding
        self._entropies: dict[int, tuple[float, ...]] = {}
        self._reference: PackForward | None = None
        self._teaching = teaching
        self._teacher: PackForward | None = None
        """One with weights of its own."""
        self._compiled = CompiledParts(model) if settings.compile else None
        self._coded = _fp8_products(model) if settings.fp8 else None

    def update(
        self,
        sequences: Sequence[TrainingSequence],
        loss: PolicyLoss,
        *,
        temperature: float = 1.0,
        learning_rate: float | None = None,
        entropy_gradient: bool = False,
        is_stale: bool = False,
    ) -> Mapping[str, float]:
        """One optimiser step over all sequences. Returns means over action tokens, gradient norm and counts.

        A loss or gradient that is not finite changes nothing: the step is skipped, ``skipped`` is 1, and there are no
        means. Raises UserError when a micro-batch is smaller than an image, MachineError when memory runs out.
        A ``learning_rate`` of None is that of the settings. ``is_stale`` is for a learner of several ranks, whose
        others are not sent the loss.
        """
        learning_rate = self.settings.learning_rate if learning_rate is None else learning_rate
        check_images_fit(self.model, sequences, max_tokens=self.settings.micro_batch_tokens)
        self.optimizer.zero_grad()
        before = self.work.tokens
        with memory_errors(self.settings):
            share = self._share(sequences)
            totals, suspects = self._accumulate(share, loss, temperature, entropy_gradient, _actions(sequences))
            settle(self._root)
            with phase(lambda: "taking the optimiser's step"):
                norm = self.optimizer.clip()
                is_finite = self.ranks.agree(
                    not suspects and math.isfinite(norm) and all(map(math.isfinite, totals.values()))
                )
                if is_finite:
                    self.optimizer.step(learning_rate, self._critic_share * learning_rate)
        # A rollout comes next: it needs the room.
        self.optimizer.zero_grad()
        self._give_back()
        forwarded = self.ranks.add({metric.FORWARDED_TOKENS: float(self.work.tokens - before)})
        if not is_finite and self._on_nonfinite is not None:
            self._on_nonfinite(
                NonFiniteStep(
                    sequences=tuple(sequences), totals=totals, gradient_norm=norm, suspects=tuple(sorted(suspects))
                )
            )
        token_count = _actions(sequences)
        means = {name: total / max(1, token_count) for name, total in totals.items()}
        return {
            **({**means, "gradient_norm": norm} if is_finite else {}),
            "learning_rate": learning_rate,
            metric.ACTION_TOKENS: float(token_count),
            **forwarded,
            metric.MICRO_BATCHES: float(len(share)),
            metric.SKIPPED: 0.0 if is_finite else 1.0,
        }

    def accumulate(
        self,
        sequences: Sequence[TrainingSequence],
        loss: PolicyLoss,
        *,
        temperature: float,
        entropy_gradient: bool = False,
    ) -> tuple[dict[str, float], int]:
        """Adds the batch's gradient to ``optimizer.masters``; returns sums over action tokens and their count.

        The sequences bring the weights of their tokens along (``weighted``).
        """
        actions = _actions(sequences)
        totals, _ = self._accumulate(self._share(sequences), loss, temperature, entropy_gradient, actions)
        return totals, actions

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
        for batch in deal(sequences, 1, self.settings.micro_batch_tokens)[0]:
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

    @torch.no_grad()
    def publish(self, model: VisionLanguageModel | None = None) -> None:
        """Copies what was learned into a whole model of the same weights and adapter, on the rank that gives one.

        The model itself is up to date where nothing is sharded.
        """
        if self._sharding is None:
            return
        own = {} if model is None else trained_weights(model)
        for name, weight in trained_weights(self.model).items():
            value = whole(weight)
            if model is not None:
                own[name].copy_(value)

    def save_state(self, directory: Path) -> None:
        """As ``saccade.learner.state_files`` has it."""
        save_state(self, directory)

    def restore_state(self, directory: Path) -> None:
        restore_state(self, directory)

    def _share(self, sequences: Sequence[TrainingSequence]) -> list[MicroBatch]:
        """This rank's micro-batches."""
        return deal(sequences, self.ranks.count, self.settings.micro_batch_tokens)[self.ranks.rank]

    def _accumulate(
        self, share: Sequence[MicroBatch], loss: PolicyLoss, temperature: float, entropy_gradient: bool, actions: int
    ) -> tuple[dict[str, float], set[int]]:
        """Sums over action tokens, and the sequences whose micro-batch had no finite loss.

        ``actions`` are the action tokens of the whole batch, on all ranks.
        """
        suspects: set[int] = set()
        figures: list[dict[str, Tensor | float]] = []
        entropies: list[Tensor] = []
        with self._training(), counted("learning", share, "micro-batches") as batches:
            for batch in batches:
                share_of_batch = 0.0 if batch.is_blank else _actions(batch.sequences) / max(1, actions)
                outputs = self._root(
                    batch.sequences,
                    temperature,
                    entropy_gradient=entropy_gradient,
                    balance=self.settings.router_aux_loss_coef * share_of_batch,
                    divergence=self._divergence(batch.sequences, temperature),
                )
                tokens = policy_tokens(batch.sequences, *outputs)
                result = loss(tokens)
                value = result.value.detach()
                if not self.reads_late and not math.isfinite(float(value)):
                    suspects.update(batch.indices)
                # Other ranks wait in the backward pass, so that none may leave it out.
                if self.ranks.count > 1 or not suspects:
                    result.value.backward()  # type: ignore[no-untyped-call]
                entropies.append(tokens.entropy.detach())
                sums: dict[str, Tensor | float] = {**result.sums, metric.ENTROPY: entropies[-1].sum()}
                sums |= self._router_sums(batch)
                figures.append(_detached({_LOSS: value, **sums}))
                # Gradients now lie between what was freed, and the next pack's activations would hardly fit there.
                self._give_back()
        totals: dict[str, float] = {}
        for batch, numbers in zip(share, _numbers(figures)):
            if not math.isfinite(numbers.pop(_LOSS)):
                suspects.update(batch.indices)
            for name, number in numbers.items():
                totals[name] = totals.get(name, 0.0) + (0.0 if batch.is_blank else number)
        self._keep_entropies(share, entropies)
        return self.ranks.add(totals), {index for one in self.ranks.gather(suspects) for index in one}

    def _router_sums(self, batch: MicroBatch) -> dict[str, float]:
        """Figures of the routers in a micro-batch, which count as often as it has action tokens."""
        if self.work.router is None:
            return {}
        means = self.work.router.metrics(with_loss=self.settings.router_aux_loss_coef > 0)
        return {name: mean * _actions(batch.sequences) for name, mean in means.items()}

    def _keep_entropies(self, share: Sequence[MicroBatch], entropies: Sequence[Float[Tensor, "actions"]]) -> None:
        sequences = [sequence for batch in share for sequence in batch.sequences]
        if self.ranks.count > 1 or all(sequence.place is None for sequence in sequences):
            return
        numbers = iter(torch.cat([*entropies]).tolist())
        for sequence in sequences:
            own = tuple(islice(numbers, sequence.action_count))
            if sequence.place is not None:
                self._entropies.setdefault(sequence.place, own)

    def take_entropies(self) -> dict[int, tuple[float, ...]]:
        """Of the updates since the last call; empty for a learner of several ranks."""
        taken, self._entropies = self._entropies, {}
        return taken

    def _give_back(self) -> None:
        """Room for what comes next: freed activations are blocks small enough for the C library to keep."""
        if self.model.device.type == "cpu" and not self.model.is_tiny:
            give_freed_memory_back()

    @property
    def _checkpoints_vision(self) -> bool:
        """The tower's activations are most of the memory of a step with large pictures."""
        choice = self.settings.vision_checkpointing
        return choice == "on" or (choice == "auto" and not self.model.is_tiny)

    @contextmanager
    def _training(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(self.optimizer.collecting())
            if self.settings.activation_checkpointing:
                stack.enter_context(activation_checkpointing([self.model.hf]))
            elif self._checkpoints_vision:
                stack.enter_context(activation_checkpointing(self.model.family.vision_modules(self.model.hf)))
            if self._compiled is not None:
                stack.enter_context(self._compiled.in_place())
            stack.enter_context(self._coding())
            yield

    def _coding(self) -> AbstractContextManager[None]:
        """Inside, the policy's layers multiply as its settings say."""
        return nullcontext() if self._coded is None else self._coded.in_place()


_LOSS = "loss of a micro-batch"


def _detached(figures: Mapping[str, Tensor | float]) -> dict[str, Tensor | float]:
    """In float64, as reading them one by one would give them; what the host knows need not go to the device."""
    return {name: one.detach().double() if isinstance(one, Tensor) else one for name, one in figures.items()}


def _numbers(figures: Sequence[Mapping[str, Tensor | float]]) -> list[dict[str, float]]:
    """Read in one piece: each reading waits until the device has done all before it."""
    values = [value for one in figures for value in one.values() if isinstance(value, Tensor)]
    numbers = iter(torch.stack(values).tolist() if values else ())
    return [
        {name: next(numbers) if isinstance(value, Tensor) else float(value) for name, value in one.items()}
        for one in figures
    ]


def _frozen_images(model: VisionLanguageModel) -> FeatureCache | None:
    """Keeps the features of a vision tower that is not trained."""
    if any(weight.requires_grad for weight in model.family.vision_weights(model.hf)):
        return None
    # One by one, so that a resumed run, which begins with nothing kept, goes on with the same bytes.
    return FeatureCache(model, capacity_bytes=_FROZEN_IMAGE_BYTES, one_by_one=True)


def _host_activations(root: PackForward) -> "HostActivations":
    from saccade.learner.host_activations import HostActivations

    return HostActivations([root], root.model.device)


def _fp8_products(model: VisionLanguageModel) -> "Fp8Products":
    from saccade.models.fp8_products import fp8_products

    return fp8_products(model)


def _shard_start(model: VisionLanguageModel) -> None:
    """The adapter that the stage began with, sharded as the one that is trained."""
    if model.adapter is not None:
        start, weights = model.adapter.start, adapter_parameters(model)
        model.adapter.start = {name: like(weights[name], value) for name, value in start.items()}


def _actions(sequences: Sequence[TrainingSequence]) -> int:
    """Action tokens of all of them."""
    return sum(sequence.action_count for sequence in sequences)


def _by_sequence(batch: MicroBatch, per_token: Float[Tensor, "actions"]) -> dict[int, tuple[float, ...]]:
    """Numbers of a micro-batch's action tokens, by the index of their sequence in the whole batch."""
    numbers: Iterator[float] = iter(per_token.tolist())
    return {
        index: tuple(islice(numbers, sequence.action_count)) for index, sequence in zip(batch.indices, batch.sequences)
    }
