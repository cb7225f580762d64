"""Argos' scores of one response: moments of a video, a numeric answer, reasoning, and the gate over them.

Every score lies in [0, 1]. None is "no part": the part stands in neither sum of equation 9. Points in pictures are in
``spatial.py``.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from saccade.errors import MachineError, UserError
from saccade.quantities import Quantity, parse_quantity
from saccade.rewards.answers.replies import stated_quantity

VideoForm = Literal["three_lists", "two_sets"]
ProbabilityForm = Literal["mean", "product"]


def video_score(
    points: Sequence[float | None],
    frames: Sequence[float | None],
    segments: Sequence[float | None],
    *,
    form: VideoForm = "three_lists",
    grounding_expected: bool = True,
) -> float | None:
    """Mean of the means of a video's scores: points in frames, descriptions of frames, descriptions of segments.

    ``three_lists`` is appendix D, ``two_sets`` section 3.1: points and descriptions of frames are one set. A None in a
    list is no verdict and is left out; lists without a verdict are left out. Where nothing was said at all the score
    is 0 where the task wants grounding; None where it does not, and where every verdict is missing.
    """
    lists = [points, frames, segments] if form == "three_lists" else [[*points, *frames], segments]
    judged = [[value for value in values if value is not None] for values in lists]
    means = [math.fsum(values) / len(values) for values in judged if values]
    if means:
        return math.fsum(means) / len(means)
    return 0.0 if grounding_expected and not any(lists) else None


def relative_accuracy(
    prediction: str | float, gold: str | float, tolerance: float = 0.05, *, is_measure: bool = False
) -> float | None:
    """1.0 where |prediction - gold| / max(|gold|, 1) is at most ``tolerance`` (equations 7 and 8), else 0.0.

    A gold answer that is a whole number is compared exactly, unless it is known that it measures: it counts something,
    and 20 is not 21. None where the gold answer is no number; an unreadable prediction is wrong.
    """
    wanted = parse_quantity(gold) if isinstance(gold, str) else _quantity(gold)
    if wanted is None:
        return None
    said = stated_quantity(prediction, of=wanted) if isinstance(prediction, str) else _quantity(prediction)
    if said is None or (said.unit and wanted.unit and said.unit != wanted.unit):
        return 0.0
    if _is_whole(gold) and not is_measure:
        return float(said.value == wanted.value)
    # The slack of a billionth keeps 1.05 within 5 % of 1.0.
    return float(abs(said.value - wanted.value) / max(abs(wanted.value), 1.0) <= tolerance + 1e-9)


def _quantity(value: float) -> Quantity | None:
    return Quantity(float(value)) if math.isfinite(value) else None


def _is_whole(value: str | float) -> bool:
    """Whether it is written as a whole number: ``21.0`` measures, ``21`` counts."""
    return "." not in value if isinstance(value, str) else isinstance(value, int)


def answer_probability(logprobs: Sequence[float], form: ProbabilityForm = "mean") -> float | None:
    """P(answer given question, reasoning, picture) under a teacher (equation 5), of the answer's tokens alone.

    ``mean`` is exp of the mean log-probability, ``product`` the probability itself, which falls with length. None for
    an answer without tokens. MachineError for numbers that are no log-probabilities.
    """
    if not logprobs:
        return None
    if any(math.isnan(value) or value > 1e-3 for value in logprobs):
        raise MachineError(f"the teacher's log-probabilities hold {max(logprobs)}; they must be numbers of 0 or less")
    total = math.fsum(logprobs) if all(map(math.isfinite, logprobs)) else -math.inf
    return min(1.0, math.exp(total / (len(logprobs) if form == "mean" else 1)))


def gated(parts: Mapping[str, float | None], weights: Mapping[str, float], tau: float = 0.5) -> float | None:
    """The reward of equation 9: accuracy alone below ``tau``, else the weighted mean of all parts.

    A part that is None stands in neither sum. Without ``accuracy`` there is no reward: None. UserError for a part
    without a weight, weights below 0 or that add up to 0.
    """
    accuracy = parts.get("accuracy")
    if missing := sorted(parts.keys() - weights.keys()):
        raise UserError(f"no weight for {', '.join(missing)}; give one for each of {', '.join(parts)}")
    if wrong := {name: weight for name, weight in weights.items() if not 0 <= weight < math.inf}:
        raise UserError(f"weights {wrong} must be finite numbers of 0 or more")
    if accuracy is None or accuracy < tau:
        return accuracy
    there = {name: value for name, value in parts.items() if value is not None}
    total = math.fsum(weights[name] for name in there)
    if total == 0:
        raise UserError(f"the weights of {', '.join(there)} add up to 0; make one of them positive")
    return math.fsum(weights[name] * value for name, value in there.items()) / total
