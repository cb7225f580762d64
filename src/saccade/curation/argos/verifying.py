"""Verification of traces by the reward of reinforcement itself, with nothing filled in (section 4.3)."""

from collections.abc import Sequence

from saccade.errors import MachineError, UserError
from saccade.protocols.pointed import pointed_protocol
from saccade.protocols.points import points_to_original
from saccade.rewards.argos.reward import ArgosReward
from saccade.rewards.argos.selection import Selection, selection_to_json
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.types import ExpertTurn, Score, Task, Trajectory, Turn


def written_turn(task: Task, turn: ExpertTurn) -> Turn | None:
    """The turn as the protocol writes and reads it, which is what will be imitated; None where it cannot be written."""
    protocol = pointed_protocol()
    try:
        text = protocol.write(turn)
    except UserError:
        return None
    parsed = protocol.parse(text)
    return Turn(
        index=0,
        text=text,
        thought=parsed.thought,
        action=parsed.action,
        is_well_formed=parsed.is_well_formed,
        points=points_to_original(parsed.points, task.images, ORIGINAL_VIEW),
    )


async def verified(reward: ArgosReward, task: Task, turns: Sequence[Turn], selection: Selection) -> list[Score]:
    """The score of each answered turn.

    MachineError where a back end failed on any of them: in reinforcement siblings stand in for what has no verdict,
    but a trace that is to be imitated must have been verified itself.
    """
    trajectories = [
        Trajectory(
            task_id=task.id,
            family=task.family,
            stream="main",
            sample=sample,
            seed=0,
            policy_version=0,
            segments=(),
            turns=(turn,),
            status="answered",
        )
        for sample, turn in enumerate(turns)
    ]
    if not trajectories:
        return []
    found = await reward.score_groups(task, {"main": trajectories}, selection_to_json(selection))
    scores = []
    for score in found.scores["main"]:
        if score is None:
            raise MachineError("the judge of answers gave no verdict")
        if missing := _missing(score, reward, selection):
            raise MachineError(f"the verifier has no verdict on {missing}")
        scores.append(score)
    return scores


def _missing(score: Score, reward: ArgosReward, selection: Selection) -> str:
    """What a back end failed on; empty where all that is paid was found."""
    if not score.is_right and reward.aggregation == "gate":
        return ""
    if score.notes.get("no_verdict"):
        return "points or moments"
    if reward.reasoning_weight and "teacher" in selection.scorers and "reasoning" not in score.values:
        return "the reasoning"
    return next((f"the {term.name}" for term in score.terms if term.filled_from), "")
