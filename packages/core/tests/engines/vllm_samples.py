"""What was said at an engine, as the group that a check of its probabilities is given."""

from saccade.types import Group, Segment, Task, Trajectory


def group_of(said):
    begin, turn = said.turns[-1]
    segments = (
        Segment(role="prompt", turn=0, ids=said.ids[:begin], images=said.images),
        Segment(role="action", turn=0, ids=turn.ids, logprobs=turn.logprobs),
    )
    task = Task(id="a", family="plates", question="?", answer="!", answer_kind="text", images=said.images)
    trajectory = Trajectory(
        task_id="a",
        family="plates",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=segments,
        turns=(),
        status="answered",
    )
    return Group(task=task, stream="main", trajectories=(trajectory,))
