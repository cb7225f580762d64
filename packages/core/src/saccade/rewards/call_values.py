"""What the calls of a trajectory are worth as evidence, turn by turn, beside the outcome.

``found``: the share of the evidence that faithful calls returned (``saccade.rewards.evidence``), where the question
names its regions or pages. Values add up to no more than the share that all calls together returned, so that a region
that is looked at twice is worth what it is worth once. What all calls returned of a picture beside the evidence costs:
values are multiplied by 1 - share / ``MOST``, and are 0 from there on. A blind policy that returns a share s of the
picture finds small evidence with a probability of s, and so earns s (1 - s / 0.5), an eighth at most; without the
factor it would earn a half. Between 0 and 1.

``difference``: how much the result of each call raised the probability of the right answer (``GAIN``), negative where
it lowered it; the differential reward of TACO (arXiv 2606.30251), in probabilities. A call whose output depends on no
picture (``SEEN`` is empty, or ``WORK`` says idle) is worth no more than 0: code may print a guess. Between -1 and 1.

``judged``: the share of the calls that returned pictures on which a judge says that they show what the question needs
(``saccade.rewards.judges.evidence_judge``), the judged form of TAPO (CodeV, arXiv 2511.19661); useless calls lower it,
and repeated ones do not raise it. What returned more than a quarter of a picture shows nothing. Between 0 and 1.
"""

from collections.abc import Mapping
from typing import Literal

from saccade.rewards.evidence import MOST_OF_PICTURE, evidence_of
from saccade.rewards.judges.evidence_judge import SHOWS
from saccade.types import GAIN, SEEN, WORK, Json, Task, Trajectory

EvidenceForm = Literal["found", "difference", "judged"]
MOST = 2 * MOST_OF_PICTURE
"""Share of a picture, returned beside the evidence, from which on nothing is paid."""


def call_values(task: Task, trajectory: Trajectory, form: EvidenceForm) -> list[float]:
    """For each turn the value of its call; 0.0 where there is none."""
    match form:
        case "found":
            values = _found(task, trajectory)
        case "difference":
            values = _differences(trajectory)
        case "judged":
            values = _judged(trajectory)
    return [values.get(turn, 0.0) for turn in range(len(trajectory.turns))]


def _found(task: Task, trajectory: Trajectory) -> Mapping[int, float]:
    found = evidence_of(task, trajectory)
    if found is None or found.fit is None or not found.is_faithful:
        return {}
    values: dict[int, float] = {}
    left, aim = found.fit.recall, max(0.0, 1.0 - found.fit.beside / MOST)
    for call in found.calls:
        if call.is_faithful and call.fit is not None:
            share = min(call.fit.recall, left)
            values[call.turn], left = share * aim, left - share
    return values


def _differences(trajectory: Trajectory) -> Mapping[int, float]:
    values: dict[int, float] = {}
    total = 0.0
    for place, turn in enumerate(trajectory.turns):
        gain = None if turn.result is None else turn.result.data.get(GAIN)
        if turn.result is None or not isinstance(gain, int | float):
            continue
        value = min(0.0, float(gain)) if _is_blind(turn.result.data) else float(gain)
        values[place] = max(-1.0, min(1.0, total + value)) - total
        total += values[place]
    return values


def _judged(trajectory: Trajectory) -> Mapping[int, float]:
    shows = {} if trajectory.score is None else trajectory.score.evidence.get(SHOWS)
    if not isinstance(shows, Mapping):
        return {}
    return {int(place): 1.0 / len(shows) for place, said in shows.items() if said is True}


def _is_blind(data: Mapping[str, Json]) -> bool:
    return data.get(SEEN) == [] or data.get(WORK) == "idle"
