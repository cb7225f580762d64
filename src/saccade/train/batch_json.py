"""A batch of scored groups as JSON and back, equal; a checkpoint keeps those that were rolled out ahead."""

from collections.abc import Mapping, Sequence

from saccade.runs.task_json import Fields, task_from_json, task_to_json
from saccade.runs.trajectory_json import trajectory_from_json, trajectory_to_json
from saccade.train.collect import Batch
from saccade.types import Group, Json


def batch_to_json(batch: Batch) -> Mapping[str, Json]:
    return {
        "step": batch.step,
        "rounds": batch.rounds,
        "groups": _groups_to_json(batch.groups),
        "evicted": _groups_to_json(batch.evicted),
    }


def batch_from_json(fields: Fields) -> Batch:
    """Raises BrokenRecordError."""
    return Batch(
        step=fields.whole("step"),
        rounds=fields.whole("rounds"),
        groups=_groups_from(fields, "groups"),
        evicted=_groups_from(fields, "evicted"),
    )


def _groups_to_json(groups: Sequence[Group]) -> list[Json]:
    return [
        {
            "task": task_to_json(group.task),
            "stream": group.stream,
            "trajectories": [trajectory_to_json(one) for one in group.trajectories],
        }
        for group in groups
    ]


def _groups_from(fields: Fields, key: str) -> tuple[Group, ...]:
    return tuple(
        Group(
            task=task_from_json(group.fields("task").values),
            stream=group.text("stream"),
            trajectories=tuple(trajectory_from_json(one) for one in group.items("trajectories")),
        )
        for group in fields.objects(key)
    )
