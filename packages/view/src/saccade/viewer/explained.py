"""Text of ``saccade show``: which recorded trajectories are asked for, and why each got its reward, in 80 columns."""

import itertools
import math
import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError, nearest
from saccade.rewards.reward import counts_as_right
from saccade.runs.metrics import read_metrics
from saccade.runs.position import Position
from saccade.runs.records import position_of, read_records
from saccade.runs.runinfo import RunPaths, read_info
from saccade.types import GAIN, Attempt, Score, Turn
from saccade.viewer.outcomes import note_pairs, turn_outcome
from saccade.viewer.scene.returned import evidence_texts
from saccade.viewer.words import number_text, readable, visible


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedFile:
    """A file of trajectories: one step of training, or an evaluation."""

    position: Position
    path: Path
    is_evaluation: bool

    @property
    def title(self) -> str:
        return self.position.stage if self.is_evaluation else f"{self.position.stage}, step {self.position.step}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedGroup:
    """The trajectories of one question in one stream, as they were compared with one another."""

    attempts: tuple[Attempt, ...]

    @property
    def totals(self) -> list[float]:
        """Totals of those that have a score."""
        return [one.trajectory.score.total for one in self.attempts if one.trajectory.score is not None]


def recorded_files(paths: RunPaths) -> list[RecordedFile]:
    """All of a run: steps of training in the order of time, then evaluations. UserError where there is no run."""
    read_info(paths)
    stages = list(dict.fromkeys(position.stage for position, _ in read_metrics(paths.metrics)))
    steps = [_file(path, is_evaluation=False) for path in (paths.root / "trajectories").glob("*/step-*.jsonl")]
    evaluations = [_file(path, is_evaluation=True) for path in paths.evaluations.glob("*.jsonl")]

    def rank(file: RecordedFile) -> tuple[int, str, int]:
        stage = file.position.stage
        return stages.index(stage) if stage in stages else len(stages), stage, file.position.step

    return [*sorted(steps, key=rank), *sorted(evaluations, key=rank)]


def chosen_file(
    files: Sequence[RecordedFile], *, stage: str | None = None, step: int | None = None, task_id: str | None = None
) -> RecordedFile:
    """The file that is asked for: of that stage or evaluation, that step, with that task.

    What is left open is the last step of training that fits, and an evaluation only where no training does. UserError
    for what the run does not have.
    """
    if not files:
        raise UserError("the run has no trajectories yet: they come with its first step of RL or its first evaluation")
    fitting = [one for one in files if stage is None or one.position.stage == stage]
    if not fitting:
        raise UserError(
            f"the run has no trajectories of a stage or evaluation {stage!r}; there are: {_files_text(files)}"
        )
    if step is not None:
        at_step = [one for one in fitting if not one.is_evaluation and one.position.step == step]
        if not at_step:
            raise UserError(f"there are no trajectories of step {step}; there are: {_files_text(fitting)}")
        fitting = at_step
    fitting = [one for one in fitting if not one.is_evaluation] or fitting
    if task_id is None:
        return fitting[-1]
    ids: set[str] = set()
    for one in reversed(fitting):
        found = {attempt.task.id for attempt in read_records(one.path)}
        if task_id in found:
            return one
        ids |= found
    near = nearest(task_id, sorted(ids))
    shown = near if near is not None else ", ".join(sorted(ids)[:3]) + (", ..." if len(ids) > 3 else "")
    raise UserError(f"none of the {len(ids)} questions in {_files_text(fitting)} is {task_id!r}; there is: {shown}")


def groups_of(attempts: Sequence[Attempt]) -> list[RecordedGroup]:
    """The attempts of a file as they were compared: in their order, a group's samples count up."""
    groups: list[list[Attempt]] = []
    for one in attempts:
        last = groups[-1][-1] if groups else None
        if last is not None and _key(last) == _key(one) and last.trajectory.sample < one.trajectory.sample:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [RecordedGroup(attempts=tuple(group)) for group in groups]


def by_reward(
    groups: Sequence[RecordedGroup], count: int, *, is_highest: bool = False
) -> list[tuple[Attempt, RecordedGroup]]:
    """The attempts with the lowest reward, or with the highest, each with its group; of equal ones the first."""
    scored = [
        (one.trajectory.score.total, one, group)
        for group in groups
        for one in group.attempts
        if one.trajectory.score is not None
    ]
    return [(one, group) for _, one, group in sorted(scored, key=lambda found: found[0], reverse=is_highest)[:count]]


def _key(attempt: Attempt) -> tuple[str, str]:
    return attempt.task.id, attempt.trajectory.stream


def _file(path: Path, *, is_evaluation: bool) -> RecordedFile:
    return RecordedFile(position=position_of(path), path=path, is_evaluation=is_evaluation)


def _files_text(files: Sequence[RecordedFile]) -> str:
    """``rl, steps 1 to 60; before_rl; after_rl``."""
    by_stage: Mapping[str, list[RecordedFile]] = {
        stage: list(of) for stage, of in itertools.groupby(files, key=lambda one: one.position.stage)
    }
    return "; ".join(stage if of[0].is_evaluation else f"{stage}, {_steps(of)}" for stage, of in by_stage.items())


def _steps(files: Sequence[RecordedFile]) -> str:
    steps = [one.position.step for one in files]
    if len(steps) == 1:
        return f"step {steps[0]}"
    if steps == list(range(steps[0], steps[-1] + 1)):
        return f"steps {steps[0]} to {steps[-1]}"
    return f"steps {', '.join(map(str, steps))}"


WIDTH = 80
_LABEL = 11
_TEXT_CHARACTERS = 280
_MAX_TURNS = 12


def overview(file: RecordedFile, groups: Sequence[RecordedGroup]) -> str:
    """``rl, step 12: 64 trajectories of 8 questions, mean reward 0.53``, and how many have none."""
    attempts = [one for group in groups for one in group.attempts]
    totals = [total for group in groups for total in group.totals]
    mean = f", mean reward {number_text(math.fsum(totals) / len(totals))}" if totals else ""
    questions = len({one.task.id for one in attempts})
    text = f"{file.title}: {_count_text(len(attempts), 'trajectory')} of {_count_text(questions, 'question')}{mean}"
    failed = len(attempts) - len(totals)
    return f"{text}\n{failed} of them failed and have no reward" if failed else text


def explanation(attempt: Attempt, group: RecordedGroup, *, is_evaluation: bool) -> str:
    """A trajectory: question, turns, terms of the reward, its group and its advantage."""
    task, trajectory = attempt.task, attempt.trajectory
    heading = f"── {visible(task.id, 60)} · {visible(trajectory.stream, 30)} · sample {trajectory.sample} "
    lines = [heading.ljust(WIDTH, "─")]
    lines += _field("question", _short(task.question))
    if task.choices:
        lines += _field("choices", _short(" · ".join(task.choices)))
    lines += _field("expected", _short(task.answer))
    lines += _field("answered", "nothing" if trajectory.answer is None else _short(trajectory.answer))
    status = readable(trajectory.status)
    lines += _field("status", f"{status}: {_short(trajectory.failure)}" if trajectory.failure else status)
    fits = evidence_texts(attempt)
    for at, turn in enumerate(trajectory.turns[:_MAX_TURNS]):
        lines += _turn(turn)
        lines += _field("", f"evidence: {fits[at]}") if at in fits else []
        gain = None if turn.result is None else turn.result.data.get(GAIN)
        if isinstance(gain, int | float):
            lines += _field("", f"its result changed the right answer's probability by {100 * gain:+.0f} points")
    if len(trajectory.turns) > _MAX_TURNS:
        lines += _field("", f"... and {len(trajectory.turns) - _MAX_TURNS} more turns")
    score = trajectory.score
    if score is None:
        lines += _field("reward", "none: what the machine failed is never scored and teaches nothing")
    else:
        lines += _terms(score)
        lines += _field("right", _rightness(attempt, score))
        if score.notes:
            lines += _field("notes", ", ".join(f"{name} {value}" for name, value in note_pairs(score.notes)))
    lines += _field("group", _comparison_text(score, group))
    if not is_evaluation:
        lines += _field("advantage", _advantage(attempt, group))
    return "\n".join(lines)


def _turn(turn: Turn) -> Iterator[str]:
    outcome, arguments = turn_outcome(turn)
    if turn.text.strip():
        yield from _field(f"turn {turn.index + 1}", _short(turn.text))
        label = ""
    else:
        label = f"turn {turn.index + 1}"
    malformed = "" if turn.is_well_formed or "malformed" in outcome else " (not well-formed)"
    yield from _field(label, f"→ {_short(f'{outcome} {arguments}'.strip())}{malformed}")
    if turn.observation is not None and (turn.observation.text.strip() or turn.observation.images):
        images = len(turn.observation.images)
        shown = f"[{_count_text(images, 'image')}] " if images else ""
        yield from _field("", f"← {shown}{_short(turn.observation.text)}".rstrip())


def _terms(score: Score) -> Iterator[str]:
    """A table whose last column adds up to the total."""
    yield f"{'reward':<{_LABEL}}{'term':<22}{'value':>11}{'weight':>11}{'adds':>11}"
    for term in score.terms:
        name, numbers = visible(term.name, 40), (term.value, term.weight, term.contribution)
        yield f"{'':<{_LABEL}}{name:<22}" + "".join(f"{number_text(number):>11}" for number in numbers)
        if term.filled_from:
            yield from _field("", f"  filled in, {visible(term.filled_from, 200)}")
        if term.added_by:
            yield from _field("", f"  added by {visible(term.added_by, 200)}")
    yield f"{'':<{_LABEL}}{'total':<22}{number_text(score.total):>33}"


def _rightness(attempt: Attempt, score: Score) -> str:
    if score.is_right is not None:
        return "yes" if score.is_right else "no"
    by_rule = "right" if counts_as_right(attempt.task, attempt.trajectory) else "wrong"
    return f"the reward does not say; by the rule of the answer's kind it is {by_rule}"


def _comparison_text(score: Score | None, group: RecordedGroup) -> str:
    totals, size = group.totals, len(group.attempts)
    if not totals:
        return f"none of its {size} has a reward"
    if size == 1:
        return "alone: the only trajectory of its question"
    mean = math.fsum(totals) / len(totals)
    spread = f", std {number_text(statistics.stdev(totals))}" if len(totals) > 1 else ""
    text = f"mean {number_text(mean)}{spread} over {len(totals)} of {size} with a reward"
    if score is None or len(totals) == 1:
        return text
    difference = score.total - mean
    where = f"{number_text(abs(difference))} {'above' if difference > 0 else 'below'}" if difference else "exactly at"
    return f"{text}; this one is {where} the mean"


def _advantage(attempt: Attempt, group: RecordedGroup) -> str:
    numbers = attempt.advantages
    if numbers is None:
        return "none: it was left out of training (failed, cut off and masked, or its group filtered out)"
    if len(set(group.totals)) < 2 and not any(numbers):
        return "0: all rewards of its group are equal, so there is nothing to learn from it"
    if len(set(numbers)) == 1:
        turns = "" if len(numbers) == 1 else " in every turn"
        return f"{number_text(numbers[0])}{turns}"
    return ", ".join(f"turn {place} {number_text(number)}" for place, number in enumerate(numbers, start=1))


def _field(label: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, WIDTH - _LABEL) or [""]
    return [f"{label if place == 0 else '':<{_LABEL}}{line}".rstrip() for place, line in enumerate(lines)]


def _short(text: str) -> str:
    """On one line, with what hides spelled out, and cut."""
    line = " ".join(visible(text, 4 * _TEXT_CHARACTERS).split())
    return line if len(line) <= _TEXT_CHARACTERS else f"{line[:_TEXT_CHARACTERS]} … [{len(text):,} characters]"


def _count_text(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    return f"{count:,} {what.removesuffix('y')}ies" if what.endswith("y") else f"{count:,} {what}s"
