"""Pairs from the trajectories of a run: in each group of a question a better one against a worse one."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.algorithms.options import PairRule
from saccade.algorithms.preference import pairs_of
from saccade.config.held_out import seen_in
from saccade.errors import UserError
from saccade.heartbeat import phase
from saccade.media.store import MediaStore
from saccade.models.chat import Chat
from saccade.runs.asking import AskingRecord, read_asked
from saccade.runs.recorded_episodes import add_images
from saccade.runs.records import images_of, read_records
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.types import Attempt, Group, Task, Trajectory, TrajectoryPair

logger = logging.getLogger(__name__)

_PROBED = 8
"""Pairs whose tokens are compared with what was said in them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MinedPairs:
    """What a run gives."""

    pairs: tuple[TrajectoryPair, ...]
    questions: tuple[Task, ...]
    """All that were played where the pairs come from."""
    held_out: tuple[Task, ...]
    """Questions that the run measured and never trained on; none where it only measured."""
    asking: AskingRecord | None
    """How it asked, where it kept that."""


def is_run(data: Path) -> bool:
    return RunPaths(root=data).info.is_file()


def model_of_run(run: Path) -> Path | None:
    """The checkpoint that the run began with, where it was named and is still there."""
    inputs = read_json_object(RunPaths(root=run).settings).get("inputs")
    named = inputs.get("model") if isinstance(inputs, Mapping) else None
    return Path(named) if isinstance(named, str) and Path(named).is_dir() else None


def mined_pairs(run: Path, rule: PairRule, chat: Chat, media: MediaStore) -> MinedPairs:
    """Pairs of the run's training stages, else of its evaluations; the log says how many groups gave none.

    UserError where no group gives a pair, or where the trajectories are in other tokens than ``chat`` writes.
    """
    paths = RunPaths(root=run)
    trained = sorted((run / "trajectories").glob("*/step-*.jsonl"))
    evaluated = sorted(paths.evaluations.glob("*.jsonl"))
    files = trained or evaluated
    pairs: list[TrajectoryPair] = []
    questions: dict[str, Task] = {}
    count = compared = 0
    with phase(lambda: f"reading {run}: {len(pairs):,} pairs"):
        for path in files:
            for group in _groups(path):
                questions[group.task.id] = group.task
                count += 1
                compared += len(group.trajectories) > 1
                pairs += _pairs(group, rule, path, paths.media, media)
    if not pairs:
        raise UserError(
            f"{run}: none of its {count} groups gives a pair: {count - compared} have one trajectory, in the others "
            "none is better than another of the same prompt. Play questions several times (saccade eval --samples 8 "
            "--temperature 1), ask harder or easier ones, or lower pairs.least_gap"
        )
    logger.info("%s: %d pairs of %d groups with several trajectories", run, len(pairs), compared)
    _check_tokens(pairs[:_PROBED], chat, run)
    asked = read_asked(paths.asked)
    ways = {str(one.way): one.way for one in asked.evaluations.values()}
    asking = AskingRecord(evaluated=tuple(ways.values()), trained=asked.streams)
    return MinedPairs(
        pairs=tuple(pairs),
        questions=tuple(questions.values()),
        held_out=_measured_alone(evaluated, questions) if trained else (),
        asking=asking if asking.ways else None,
    )


def _groups(path: Path) -> Iterator[Group]:
    """Trajectories of one file that answer one question in one stream: one policy played them."""
    groups: dict[tuple[str, str], tuple[Task, list[Trajectory]]] = {}
    for record in read_records(path):
        key = record.trajectory.stream, record.task.id
        groups.setdefault(key, (record.task, []))[1].append(record.trajectory)
    for (stream, _), (task, trajectories) in groups.items():
        yield Group(task=task, stream=stream, trajectories=tuple(one for one in trajectories if one.segments))


def _pairs(group: Group, rule: PairRule, path: Path, folder: Path, media: MediaStore) -> Iterator[TrajectoryPair]:
    for better, worse in pairs_of(group, rule):
        pair = TrajectoryPair(task=group.task, chosen=group.trajectories[better], rejected=group.trajectories[worse])
        for one in (pair.chosen, pair.rejected):
            add_images(images_of(Attempt(task=group.task, trajectory=one)), folder, media, path)
        yield pair


def _measured_alone(evaluated: Sequence[Path], trained: Mapping[str, Task]) -> tuple[Task, ...]:
    """Questions of the evaluations that show nothing that was trained on."""
    seen = {key for task in trained.values() for key in seen_in(task)}
    found: dict[str, Task] = {}
    for path in evaluated:
        for record in read_records(path):
            task = record.task
            if task.id not in trained and seen.isdisjoint(seen_in(task)):
                found[task.id] = task
    return tuple(found.values())


def _check_tokens(pairs: Sequence[TrajectoryPair], chat: Chat, run: Path) -> None:
    """UserError for trajectories of another tokenizer, or with pictures of other sizes than the model sees."""
    for one in (trajectory for pair in pairs for trajectory in (pair.chosen, pair.rejected)):
        said = [chat.decode(segment.ids) for segment in one.segments if segment.role == "action"]
        is_same = all(turn.text.strip() in said[turn.index] for turn in one.turns[: len(said)])
        pictures = sum(map(chat.token_count, one.images))
        if not is_same:
            raise UserError(
                f"{run}: the trajectories are in other tokens than the model's, so that it cannot learn from them; "
                "give the model that played them, or one that was made from it, with --model"
            )
        if one.ids.count(chat.image_token_id) != pictures:
            raise UserError(
                f"{run}: its pictures took {one.ids.count(chat.image_token_id)} tokens in a trajectory, and take "
                f"{pictures} now; set model.min_pixels and model.max_pixels as the run had them, or give its model "
                "with --model"
            )
