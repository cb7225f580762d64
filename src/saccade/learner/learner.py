"""The learner: one optimiser step from a batch of sequences, whatever the loss."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.algorithms.contract import PolicyLoss
from saccade.errors import UserError
from saccade.learner.logprobs import action_tokens
from saccade.learner.sequences import TrainingSequence, micro_batches
from saccade.models.vlm import VisionLanguageModel


@dataclass(frozen=True, kw_only=True)
class OptimizerSettings:
    """AdamW and how gradients are taken."""

    learning_rate: float = 1e-6
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.01
    max_gradient_norm: float = 1.0
    micro_batch_tokens: int = 4096
    """Tokens forwarded at once, padding included; any value gives the same gradient."""
    frozen_vision: bool = False
    """Whether the vision tower keeps its weights."""

    def check(self) -> None:
        for name, value in (("learning_rate", self.learning_rate), ("weight_decay", self.weight_decay)):
            if not 0 <= value < math.inf:
                raise UserError(f"{name}={value} must be a finite number of 0 or more")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise UserError(f"betas={self.betas} must both be 0 or more and below 1 (0.9,0.98 is usual)")
        if not self.max_gradient_norm > 0:
            raise UserError(f"max_gradient_norm={self.max_gradient_norm} must be above 0; inf never clips")
        if self.micro_batch_tokens < 1:
            raise UserError(f"micro_batch_tokens={self.micro_batch_tokens} must be 1 or more")


class Learner:
    """Holds the model and its optimiser; ``update`` is one step."""

    def __init__(self, model: VisionLanguageModel, settings: OptimizerSettings) -> None:
        if model.dtype != torch.float32:
            raise UserError(
                f"weights of {model.dtype} cannot be trained: small updates would round to nothing; use "
                "model.dtype=float32 (lower precision is for evaluation)"
            )
        self.model = model
        self.settings = settings
        for parameter in model.hf.parameters():
            parameter.requires_grad_(True)
        if settings.frozen_vision:
            for parameter in model.hf.model.visual.parameters():
                parameter.requires_grad_(False)
        self.parameters: list[Tensor] = [p for p in model.hf.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=settings.learning_rate,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
        )

    def update(
        self,
        sequences: Sequence[TrainingSequence],
        loss: PolicyLoss,
        *,
        temperature: float,
        learning_rate: float,
    ) -> Mapping[str, float]:
        """One optimiser step over all sequences. Returns means over action tokens, gradient norm and counts.

        A loss or gradient that is not finite changes no weight: the step is skipped and ``skipped`` is 1.
        """
        self.optimizer.zero_grad(set_to_none=True)
        totals, token_count = self.accumulate(sequences, loss, temperature=temperature)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.max_gradient_norm)
        is_finite = math.isfinite(float(norm)) and all(math.isfinite(total) for total in totals.values())
        if is_finite:
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate
            self.optimizer.step()
        means = {name: total / max(1, token_count) for name, total in totals.items()}
        return {
            **means,
            "gradient_norm": float(norm),
            "learning_rate": learning_rate,
            "action_tokens": float(token_count),
            "skipped": 0.0 if is_finite else 1.0,
        }

    def accumulate(
        self, sequences: Sequence[TrainingSequence], loss: PolicyLoss, *, temperature: float
    ) -> tuple[dict[str, float], int]:
        """Adds the batch's gradient to the parameters; returns sums over action tokens and their count.

        The sequences bring the weights of their tokens along (``weighted``).
        """
        token_count = sum(sequence.action_count for sequence in sequences)
        totals: dict[str, float] = {}
        for batch in micro_batches(sequences, max_tokens=self.settings.micro_batch_tokens):
            tokens = action_tokens(self.model, batch, temperature=temperature)
            result = loss(tokens)
            result.value.backward()  # type: ignore[no-untyped-call]
            for name, value in {**result.sums, "entropy": tokens.entropy.detach().sum()}.items():
                totals[name] = totals.get(name, 0.0) + float(value)
        return totals, token_count

    @torch.no_grad()
    def logprobs(
        self, sequences: Sequence[TrainingSequence], *, temperature: float, model: VisionLanguageModel | None = None
    ) -> list[tuple[float, ...]]:
        """log p of every action token of each sequence, under the learner's policy or another ``model``."""
        by_id: dict[int, tuple[float, ...]] = {}
        for batch in micro_batches(sequences, max_tokens=self.settings.micro_batch_tokens):
            values = action_tokens(model or self.model, batch, temperature=temperature).logprobs.tolist()
            for sequence in batch:
                by_id[id(sequence)] = tuple(values[: sequence.action_count])
                values = values[sequence.action_count :]
        return [by_id[id(sequence)] for sequence in sequences]
