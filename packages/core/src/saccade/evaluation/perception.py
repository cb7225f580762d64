"""Perception: how often the model's attention hits the region that holds the answer, and whether that pays.

Lang2Act's figure 3 names three measures and no rule: the perception rate (hits among all), V-precision (right answers
among hits) and V-recall (hits among right answers). Here a rule reads the attention of the generated tokens on image
tokens in the last layer (``saccade.models.attention_share``). Attention is no proof that something was seen: hold
V-precision against ``right_when_missed``, and a small model's figures against those of an untrained one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from saccade.errors import UserError
from saccade.evaluation.statistics import Accuracy, share_right
from saccade.models.attention_share import AttentionShare, attention_shares
from saccade.models.vlm import VisionLanguageModel
from saccade.rewards.reward import counts_as_right
from saccade.types import Attempt

HitRule = Callable[[AttentionShare], bool | None]
"""Whether attention hits the targets; None where that cannot be said."""

Among = Literal["all images", "images with targets"]

FACTOR = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Perception:
    """Hits and right answers of trajectories whose attention can be judged. A share is None where there are none."""

    rate: Accuracy
    """Share of hits: the perception rate."""
    v_precision: Accuracy
    """Share of right answers among hits."""
    v_recall: Accuracy
    """Share of hits among right answers."""
    right_when_missed: Accuracy
    """Share of right answers among misses: what V-precision would be if hits did not matter."""
    unjudged: int
    """Trajectories that say nothing: the machine failed, no picture was shown, or no target lies on one."""


def focused(factor: float = FACTOR, *, among: Among = "all images") -> HitRule:
    """A hit has at least ``factor`` times the attention on the targets that their area would get.

    ``among`` "all images" takes attention and area of all that the trajectory shows, so that a look at another page is
    a miss, and so is one at a crop; among "images with targets" it takes those alone. UserError for other words.
    """
    if not factor > 0:
        raise UserError(f"factor={factor} calls everything a hit; use a positive number, as {FACTOR}")
    if among not in get_args(Among):
        raise UserError(f"among={among!r} is neither 'all images' nor 'images with targets'")

    def is_hit(share: AttentionShare) -> bool | None:
        focus = share.whole_focus if among == "all images" else share.focus
        # The slack is for rounding: 0.075 / 0.4 / 0.125 is a little less than 1.5 in binary.
        return None if focus is None else focus >= factor * (1 - 1e-9)

    return is_hit


def peak_inside(covered: float = 0.5) -> HitRule:
    """A hit has the image token with the most attention inside the targets, at least this share of it."""
    if not 0.0 < covered <= 1.0:
        raise UserError(f"covered={covered} is no share of a token; use more than 0 and at most 1")

    def is_hit(share: AttentionShare) -> bool | None:
        return None if share.peak is None else share.peak >= covered

    return is_hit


def perception(
    attempts: Sequence[Attempt], shares: Sequence[AttentionShare | None], rule: HitRule | None = None
) -> Perception | None:
    """The measures of attempts with their attention, by ``focused()`` or another rule; None where nothing can be said.

    ``shares`` are those of ``attention_shares``, one for each attempt; several trajectories of one task count as
    independent.
    """
    if len(shares) != len(attempts):
        raise UserError(f"{len(shares)} shares of attention for {len(attempts)} attempts; give one for each")
    judge = rule or focused()
    judged = [
        (is_hit, counts_as_right(attempt.task, attempt.trajectory))
        for attempt, share in zip(attempts, shares)
        if attempt.trajectory.status != "failed" and share is not None and (is_hit := judge(share)) is not None
    ]
    if not judged:
        return None
    return Perception(
        rate=share_right([is_hit for is_hit, _ in judged]),
        v_precision=share_right([is_right for is_hit, is_right in judged if is_hit]),
        v_recall=share_right([is_hit for is_hit, is_right in judged if is_right]),
        right_when_missed=share_right([is_right for is_hit, is_right in judged if not is_hit]),
        unjudged=len(attempts) - len(judged),
    )


def measured_perception(
    model: VisionLanguageModel, attempts: Sequence[Attempt], rule: HitRule | None = None
) -> Perception | None:
    """``perception`` under the model's present weights; the images must be in the model's store."""
    return perception(attempts, attention_shares(model, attempts), rule)
