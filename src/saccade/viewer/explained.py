"""Why a trajectory got its reward, as text for a terminal of 80 columns: ``saccade show``."""

import math
import statistics
import textwrap
from collections.abc import Iterator, Sequence

from saccade.rewards.reward import counts_as_right
from saccade.types import Attempt, Score, Turn
from saccade.viewer.recorded import RecordedFile, RecordedGroup
from saccade.viewer.turns import turn_outcome
from saccade.viewer.words import number_text, readable, visible

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
    text = f"{file.title}: {_counted(len(attempts), 'trajectory')} of {_counted(questions, 'question')}{mean}"
    failed = len(attempts) - len(totals)
    return f"{text}\n{failed} of them failed and have no reward" if failed else text


def explained(attempt: Attempt, group: RecordedGroup, *, is_evaluation: bool) -> str:
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
    for turn in trajectory.turns[:_MAX_TURNS]:
        lines += _turn(turn)
    if len(trajectory.turns) > _MAX_TURNS:
        lines += _field("", f"... and {len(trajectory.turns) - _MAX_TURNS} more turns")
    score = trajectory.score
    if score is None:
        lines += _field("reward", "none: what the machine failed is never scored and teaches nothing")
    else:
        lines += _terms(score)
        lines += _field("right", _rightness(attempt, score))
        if score.notes:
            notes = (f"{visible(readable(name), 40)} {number_text(value)}" for name, value in score.notes.items())
            lines += _field("notes", ", ".join(notes))
    lines += _field("group", _compared(score, group))
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
        shown = f"[{_counted(images, 'image')}] " if images else ""
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


def _compared(score: Score | None, group: RecordedGroup) -> str:
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


def _counted(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    return f"{count:,} {what.removesuffix('y')}ies" if what.endswith("y") else f"{count:,} {what}s"
