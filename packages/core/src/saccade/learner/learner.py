"""The learner: one optimiser step from a batch of sequences, whatever the loss."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from saccade import metric_names as metric
from saccade.algorithms.algorithm import PolicyLoss
from saccade.heartbeat import counted, phase
from saccade.learner.dealing import MicroBatch
from saccade.learner.forwards import CompiledParts
from saccade.learner.logprobs import policy_tokens
from saccade.learner.memory import activation_checkpointing, check_images_fit, memory_errors
from saccade.learner.muon import inner_matrices
from saccade.learner.optimizer import MasterOptimizer, OptimizerSettings, rate_share
from saccade.learner.policy_reader import PolicyReader
from saccade.learner.ranks import ALONE, Ranks
from saccade.learner.root import PackForward, feature_cache
from saccade.learner.sequences import TrainingSequence
from saccade.learner.sharding import Sharding, check_can_shard, settle, shard_start, whole
from saccade.learner.state_files import restore_state, save_state
from saccade.learner.step_figures import NonFiniteStep, entropies_by_place, figures_of, totals_of
from saccade.learner.trained_weights import choose_trained, trained_weights
from saccade.models.memory import give_freed_memory_back
from saccade.models.packs import attends_at_once
from saccade.models.vlm import VisionLanguageModel

if TYPE_CHECKING:
    from saccade.learner.host_activations import HostActivations
    from saccade.learner.teaching import Teaching
    from saccade.models.fp8_products import Fp8Products

__all__ = ["Learner", "OptimizerSettings"]


class Learner(PolicyReader):
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
        self.reads_late = model.device.type == "cuda"
        """Whether figures of a step are read when it is over, since the device is waited for. On a CPU a loss that is
        not finite spares the backward pass."""
        self._critic_share = rate_share(settings, critic_learning_rate)
        self._on_nonfinite = on_nonfinite
        if sharding is not None:
            check_can_shard(settings)
        with memory_errors(settings):
            choose_trained(model, settings)
            model.pack_attention = settings.pack_attention
            # Where it is chosen the log says so, and a wish that cannot be had ends the run, before the first step.
            attends_at_once(model, model.device, model.dtype)
            root = PackForward(
                model,
                value_head=value_head,
                values_train_trunk=values_train_trunk,
                frozen_images=feature_cache(model),
            )
            super().__init__(root, settings, ranks=ranks, sharding=sharding, teaching=teaching)
            self.host_activations = _host_activations(root) if settings.offload_activations else None
            if self.host_activations is not None:
                root.keeping = self.host_activations.moving
            has_masters = sharding is not None and sharding.apply(root)
            if sharding is not None:
                shard_start(model)
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
        self.work = root.work
        """Tokens and images that went through the model so far, on this rank."""
        self._entropies: dict[int, tuple[float, ...]] = {}
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
                figures.append(figures_of(value, sums))
                # Gradients now lie between what was freed, and the next pack's activations would hardly fit there.
                self._give_back()
        totals, without_loss = totals_of(share, figures)
        suspects |= without_loss
        if self.ranks.count == 1:
            for place, own in entropies_by_place(share, entropies).items():
                self._entropies.setdefault(place, own)
        return self.ranks.add(totals), {index for one in self.ranks.gather(suspects) for index in one}

    def _router_sums(self, batch: MicroBatch) -> dict[str, float]:
        """Figures of the routers in a micro-batch, which count as often as it has action tokens."""
        if self.work.router is None:
            return {}
        means = self.work.router.metrics(with_loss=self.settings.router_aux_loss_coef > 0)
        return {name: mean * _actions(batch.sequences) for name, mean in means.items()}

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


def _host_activations(root: PackForward) -> "HostActivations":
    from saccade.learner.host_activations import HostActivations

    return HostActivations([root], root.model.device)


def _fp8_products(model: VisionLanguageModel) -> "Fp8Products":
    from saccade.models.fp8_products import fp8_products

    return fp8_products(model)


def _actions(sequences: Sequence[TrainingSequence]) -> int:
    """Action tokens of all of them."""
    return sum(sequence.action_count for sequence in sequences)
