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


async def verified_scores(reward: ArgosReward, task: Task, turns: Sequence[Turn], selection: Selection) -> list[Score]:
    """The score of each answered turn.

    MachineError where a back end failed on any of them.
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
    scores = [score for score in found.scores["main"] if score is not None]
    if len(scores) < len(trajectories):
        raise MachineError("the verifier has no verdict on the answer, on points and moments, or on the reasoning")
    return scores
