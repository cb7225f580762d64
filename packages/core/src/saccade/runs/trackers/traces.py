"""Trajectories as conversations for a tracker: each text and picture in its place, with rewards by name."""

from collections.abc import Iterator, Sequence

from saccade.media.store import MediaStore
from saccade.runs.trackers.tracker import Part, TrackedTrace
from saccade.types import Attempt, ImageRef, Json, Observation


def tracked_traces(attempts: Sequence[Attempt], media: MediaStore, stage: str) -> list[TrackedTrace]:
    """A trace of each trajectory; a picture that is no longer stored is a word in its place."""
    return [
        TrackedTrace(name=f"{stage}/trace_{index}", messages=tuple(_messages(one, media)), values=_values(one))
        for index, one in enumerate(attempts)
    ]


def _messages(attempt: Attempt, media: MediaStore) -> Iterator[tuple[str, tuple[Part, ...]]]:
    yield "user", (*_pictures(attempt.task.images, media), attempt.task.question)
    for turn in attempt.trajectory.turns:
        yield "assistant", (turn.text,)
        if turn.observation is not None:
            yield "tool" if turn.result is not None else "user", _observed(turn.observation, media)


def _observed(observation: Observation, media: MediaStore) -> tuple[Part, ...]:
    return (*((observation.text,) if observation.text else ()), *_pictures(observation.images, media))


def _pictures(images: Sequence[ImageRef], media: MediaStore) -> list[Part]:
    return [media.get(one) if one.hash in media else "[picture]" for one in images]


def _values(attempt: Attempt) -> dict[str, Json]:
    trajectory, score = attempt.trajectory, attempt.trajectory.score
    values: dict[str, Json] = {
        "task": trajectory.task_id,
        "family": trajectory.family,
        "sample": trajectory.sample,
        "gold": attempt.task.answer,
        "status": trajectory.status,
    }
    if score is not None:
        values |= {"is_right": score.is_right, "reward": score.total}
        values |= {f"reward/{term.name}": term.contribution for term in score.terms}
    if attempt.advantages:
        values["advantages"] = list(attempt.advantages)
    return values
