"""An adapter in training: gradients that add up, optimiser steps with settings of their own, and its state."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.algorithms.algorithm import PolicyLoss
from saccade.errors import UserError
from saccade.learner.dealing import deal
from saccade.learner.learner import Learner
from saccade.learner.logprobs import action_tokens
from saccade.learner.memory import check_images_fit
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.models.checkpoint import TRAINER_PREFIX
from saccade.models.lora import mark_start, put_adapter
from saccade.models.vlm import VisionLanguageModel
from saccade.serving.tinker.adapters import AdapterPlan, AdapterWeights, SavedAdapter
from saccade.serving.tinker.answers import loss_answer
from saccade.serving.tinker.examples import AskedExample
from saccade.serving.tinker.losses import whole_loss
from saccade.types import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class AdamStep:
    """A client's ``adam_params``."""

    learning_rate: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    grad_clip_norm: float

    @classmethod
    def of(cls, params: Json) -> "AdamStep":
        """UserError for numbers that AdamW cannot take."""
        if not isinstance(params, dict):
            raise UserError("adam_params is missing; AdamW is the only optimiser here")
        given = {"learning_rate": 1e-4, "beta1": 0.9, "beta2": 0.95, "eps": 1e-12, "weight_decay": 0.0}
        given["grad_clip_norm"] = 0.0
        for name in given:
            value = params.get(name, given[name])
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value) or value < 0 or (name.startswith("beta") and value >= 1):
                raise UserError(f"adam_params has {name}={str(value)[:40]}; it must be a finite number of 0 or more")
            given[name] = float(value)
        return cls(**given)


class AdapterTraining:
    """One training client's model: frozen weights, its adapter, its gradient so far and its optimiser."""

    def __init__(self, model: VisionLanguageModel, plan: AdapterPlan, *, micro_batch_tokens: int) -> None:
        settings = plan.settings(model)
        settings.check()
        self.plan = plan
        self.learner = Learner(
            model,
            OptimizerSettings(
                lora=settings, max_gradient_norm=math.inf, weight_decay=0.0, micro_batch_tokens=micro_batch_tokens
            ),
        )

    @property
    def model(self) -> VisionLanguageModel:
        return self.learner.model

    def take_weights(self, weights: AdapterWeights) -> None:
        """Begins from a saved adapter; UserError where it is another model's."""
        if not put_adapter(self.model, weights.tensors):
            raise UserError("this checkpoint is an adapter of another model than the one that is served")
        mark_start(self.model)

    def restore(self, saved: SavedAdapter, root: Path) -> None:
        """Takes the optimiser's state of a saved adapter; UserError where it was saved without."""
        directory = saved.directory(root) / TRAINER_PREFIX
        if not directory.is_dir():
            raise UserError(
                f"{saved.path} has no optimiser's state; it was saved for a sampler. Load the weights alone"
            )
        self.learner.restore_state(directory)

    def forward(self, examples: Sequence[AskedExample], loss: PolicyLoss, *, learns: bool) -> bytes:
        """The answer to the client; with ``learns`` the gradient of the sum is added to what there is.

        When it fails midway the whole gradient is dropped: part of it would be of nothing that was asked.
        """
        sequences = [asked.sequence for example in examples for asked in example.sequences]
        check_images_fit(self.model, sequences, max_tokens=self.learner.settings.micro_batch_tokens)
        try:
            logprobs, value = self._forward(sequences, loss, learns=learns)
        except Exception:
            if learns:
                self.learner.optimizer.zero_grad()
            raise
        found = iter(logprobs)
        outputs = [_of_example(example, [next(found) for _ in example.sequences]) for example in examples]
        return loss_answer(outputs, {"loss:sum": value})

    def _forward(
        self, sequences: Sequence[TrainingSequence], loss: PolicyLoss, *, learns: bool
    ) -> tuple[list[NDArray[np.float32]], float]:
        found: dict[int, NDArray[np.float32]] = {}
        total = 0.0
        for batch in deal(sequences, 1, self.learner.settings.micro_batch_tokens)[0]:
            noting, seen = whole_loss(loss)
            if learns:
                self.learner.accumulate(batch.sequences, noting, temperature=1.0)
            else:
                with torch.no_grad():
                    noting(action_tokens(self.model, batch.sequences, temperature=1.0))
            # A batch that is one micro-batch stays one, in its own order.
            [(logprobs, value)] = seen
            total += value
            ends = np.cumsum([sequence.action_count for sequence in batch.sequences])
            found |= dict(zip(batch.indices, np.split(logprobs.numpy(), ends[:-1])))
        return [found[index] for index in range(len(sequences))], total

    def step(self, how: AdamStep) -> Mapping[str, float]:
        """One step of AdamW, after which there is no gradient; UserError where there is none, or not a finite one."""
        optimizer = self.learner.optimizer
        if all(master.grad is None for master in optimizer.masters):
            raise UserError("there is no gradient to step by; call forward_backward first")
        for group in optimizer.adamw.param_groups:
            group |= {"betas": (how.beta1, how.beta2), "eps": how.eps, "weight_decay": how.weight_decay}
        norm = optimizer.clip(how.grad_clip_norm or math.inf)
        if math.isfinite(norm):
            optimizer.step(how.learning_rate)
        optimizer.zero_grad()
        if not math.isfinite(norm):
            raise UserError("the gradient is not finite; it was dropped, and the weights are as they were")
        return {"gradient_norm": norm}


def _of_example(example: AskedExample, parts: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Log-probabilities as the example has its targets: 0 for one that is never written, which no loss may count."""
    whole = np.zeros(int(np.prod(example.shape)), np.float32)
    for asked, part in zip(example.sequences, parts, strict=True):
        whole[asked.places] = np.where(np.isfinite(part), part, 0.0)
    return whole.reshape(example.shape)
