"""Parity of engine and learner: both must give a text the same log-probabilities, or rewards push on other tokens."""

from collections.abc import Sequence

import torch

from saccade.engines.engine import Engine, ScoreRequest, abilities_of
from saccade.engines.scoring import TextScorer
from saccade.errors import MachineError
from saccade.heartbeat import phase
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import TrainingSequence
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Group, ImageRef, Trajectory
from saccade.waiting import run_to_end

BOUNDS = {torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.03}
"""Largest accepted mean |difference of log-probabilities|, in nats, by the precision of the weights."""
_FACTORS = {"highest": torch.float32, "high": torch.float16, "medium": torch.bfloat16}
"""What factors of float32 products are rounded to (``LoadSettings.matmul_precision``); TF32 has float16's digits."""

SCORED_EVERY = 16
"""Updates between texts that are scored by an engine whose weights are exchanged in place, and by the learner."""
FAMILIES = 8
"""At most so many families of pictures are compared."""


def check_parity(
    learner: PolicyLearner,
    sampled: TrainingSequence,
    *,
    temperature: float,
    precision: torch.dtype,
    to_the_bit: bool = False,
) -> float:
    """Mean |log p of the learner - log p of the engine| over the action tokens of a sampled trajectory, in nats.

    Raises MachineError when it is over the bound for the ``precision`` of the weights: rewards would push on tokens
    that the policy did not choose. ``to_the_bit`` accepts none (``model.batch_invariant``).
    """
    [learned] = learner.logprobs([sampled], temperature=temperature)
    gap = float((torch.tensor(learned) - torch.tensor(sampled.sampled_logprobs)).abs().mean())
    check_gap(gap, precision, to_the_bit=to_the_bit)
    return gap


def check_gap(gap: float, precision: torch.dtype, where: str = "", *, to_the_bit: bool = False) -> None:
    """MachineError for a mean distance of log-probabilities over the bound for the ``precision`` of the weights.

    Products of float32 weights may round their factors, which widens it.
    """
    factors = _FACTORS[torch.get_float32_matmul_precision()] if precision == torch.float32 else precision
    bound = BOUNDS.get(factors, max(BOUNDS.values()))
    if to_the_bit and gap != 0.0:
        raise MachineError(
            f"engine and learner disagree by {gap:.2g} nats a token{where}, and model.batch_invariant=true promises "
            "the same bits: kernels of this machine depend on what is computed together, or the engine has other "
            "weights than the learner (an adapter that was added to them). Set model.batch_invariant=false"
        )
    if not gap <= bound:
        raise MachineError(
            f"engine and learner disagree by {gap:.2g} nats a token{where} (at most {bound} is accepted for "
            f"{factors}); check that both use the same weights, chat template and image size"
        )


class ServedParity:
    """Texts of sampled trajectories, scored by every server of an engine and by the learner's model.

    At the start one of each family of tasks, since pictures of one family may go wrong where others do not; the same
    again after the first update, and after every ``SCORED_EVERY``-th, for weights and caches are exchanged in place.
    Engines that do not score at each of their servers are left alone.
    """

    def __init__(self, engine: Engine, model: VisionLanguageModel) -> None:
        self._score_at_each = abilities_of(engine).score_at_each
        self._model = model
        self._texts: dict[str, ScoreRequest] = {}
        self._updates = 0

    def begin(self, groups: Sequence[Group]) -> None:
        """Takes texts of the first trajectories, and compares; MachineError with what disagrees."""
        if self._score_at_each is None or self._texts:
            return
        for group in groups:
            sampled = next(filter(is_sampled, group.trajectories), None)
            if sampled is not None and len(self._texts) < FAMILIES:
                self._texts.setdefault(sampled.family, _scored_text(sampled))
        self._compare("at the start")

    def after_update(self) -> None:
        """Compares where it is time; MachineError with what disagrees."""
        self._updates += 1
        if self._texts and (self._updates == 1 or self._updates % SCORED_EVERY == 0):
            self._compare(f"after {self._updates} updates of its weights")

    def _compare(self, when: str) -> None:
        if self._score_at_each is None or not self._texts:
            return
        texts = list(self._texts.values())
        with phase(lambda: "comparing engine and learner"):
            expected = _scores(self._model, texts)
            found = run_to_end(self._score_at_each(texts))
        for server, scores in found.items():
            for family, ours, theirs in zip(self._texts, expected, scores, strict=True):
                gap = float((torch.tensor(ours) - torch.tensor(theirs)).abs().mean())
                check_gap(gap, self._model.dtype, f" {when}, on a text of the family {family!r} at {server}")


def is_sampled(trajectory: Trajectory) -> bool:
    return trajectory.status != "failed" and any(trajectory.action_mask)


def _scored_text(trajectory: Trajectory) -> ScoreRequest:
    """The last turn of its first context after all before it, so that every picture counts."""
    before: list[int] = []
    images: list[ImageRef] = []
    start = 1
    for segment in trajectory.contexts[0]:
        if segment.role == "action":
            start = len(before)
        before += segment.ids
        images += segment.images
    return ScoreRequest(ids=tuple(before), images=tuple(images), start=start)


def _scores(model: VisionLanguageModel, texts: Sequence[ScoreRequest]) -> list[tuple[float, ...]]:
    """What the learner's model gives, with features of its present weights."""
    was_training = model.hf.training
    model.hf.eval()
    try:
        with torch.no_grad():
            scorer = TextScorer(model, max_rows=1, max_chunk_tokens=max(len(one.ids) for one in texts), feature_bytes=0)
            return scorer.score(texts, temperature=1.0)
    finally:
        model.hf.train(was_training)
