"""VISTA-R1's reward: no loops first, then the format of every turn, then the answer (section 5.2)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rewards.repetition import DEFAULT_LIMITS, RULES, Level, Repetition, RepetitionLimits, repetition, worst
from saccade.rewards.reward import GroupScores, RuleReward, check_scorable, keeps_format
from saccade.types import Json, Score, Task, Term, Trajectory

VistaForm = Literal["sum", "dense", "sparse"]
"""``sum`` is the paper's own; the others are those that it compares with (figure 4c)."""

PENALTIES: Mapping[Level, float] = {"none": 0.0, "moderate": -1.5, "severe": -2.0, "extreme": -3.0}
"""R_rep."""


def vista_terms(*, penalty: float, is_formatted: bool, is_right: bool, form: VistaForm = "sum") -> tuple[Term, ...]:
    """The reward of a rollout from R_rep, R_format = +1 or -1, and R_correct = 1 or 0.

    A repetition dominates: the penalty alone counts, in every form, and R_format and R_correct are 0. R_correct is
    credited to well-formed rollouts alone, so that a wrong format cannot make a right answer a loss where they are
    multiplied.

    ``sum``: R_rep + R_format + R_correct, one of 2, 1, -1, -1.5, -2, -3.
    ``dense``: -1 + 0.5 R_format + 0.5 R_correct + R_format R_correct, one of 1, -0.5, -1.5 and the penalties.
    ``sparse``: R_format R_correct, 1 or 0 and the penalties; R_correct says it already.
    """
    repetition = Term("repetition", penalty)
    format_ = 0.0 if penalty else 1.0 if is_formatted else -1.0
    correct = float(is_formatted and is_right and not penalty)
    match form:
        case "sum":
            return repetition, Term("format", format_), Term("correct", correct)
        case "dense":
            both, offset = Term("format_correct", format_ * correct), Term("offset", 0.0 if penalty else -1.0)
            return repetition, offset, Term("format", format_, 0.5), Term("correct", correct, 0.5), both
        case "sparse":
            return repetition, Term("format", format_, 0.0), Term("correct", correct)


def difficulty_weight(mean_reward: float) -> float:
    """w = clamp(2 - D, 0, 1) * 0.5 + 0.5 for a group of mean base reward D: 1 up to D = 1, from there down to 0.5."""
    return min(max(2.0 - mean_reward, 0.0), 1.0) * 0.5 + 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class VistaReward:
    """VISTA-R1's reward: ``vista_terms``. ``is_right`` is of the answer alone, whatever else is wrong with the rollout.

    The notes ``repeats_characters``, ``repeats_words``, ``repeats_phrases``, ``repeats_sentences`` and
    ``repeats_copies`` say by 1.0 which rule fired. Only the model's own turns are read.
    """

    form: VistaForm = "sum"
    limits: RepetitionLimits = DEFAULT_LIMITS
    is_right: Callable[[Task, str], bool] = answer_is_right

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        """``ValueError`` for a ``failed`` trajectory, and for one of another task."""
        check_scorable(task, trajectory)
        found = trajectory_repetition(trajectory, self.limits)
        answer = trajectory.answer if trajectory.status == "answered" else None
        is_right = answer is not None and self.is_right(task, answer)
        return Score(
            terms=vista_terms(
                penalty=PENALTIES[found.level], is_formatted=keeps_format(trajectory), is_right=is_right, form=self.form
            ),
            is_right=is_right,
            notes={f"repeats_{rule}": float(rule == found.rule) for rule in RULES},
        )


def trajectory_repetition(trajectory: Trajectory, limits: RepetitionLimits = DEFAULT_LIMITS) -> Repetition:
    """The worst repetition inside one of the model's turns; what the environment says is not looked at."""
    return worst(repetition(turn.text, limits) for turn in trajectory.turns)


@dataclass(frozen=True, kw_only=True, slots=True)
class DifficultyAdaptiveReward:
    """A group reward: R_diff = R w, R by ``base`` and w by the mean R of the stream's group (figure 4c).

    The terms and notes are those of ``base``, every weight times w; the note ``difficulty_weight`` is w.
    """

    base: RuleReward = VistaReward()

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        return GroupScores(scores={stream: self._of_group(task, members) for stream, members in groups.items()})

    def _of_group(self, task: Task, trajectories: Sequence[Trajectory]) -> list[Score]:
        scores = [self.base(task, trajectory) for trajectory in trajectories]
        if not scores:
            return []
        weight = difficulty_weight(math.fsum(score.total for score in scores) / len(scores))
        return [
            replace(
                score,
                terms=tuple(replace(term, weight=term.weight * weight) for term in score.terms),
                notes={**score.notes, "difficulty_weight": weight},
            )
            for score in scores
        ]
