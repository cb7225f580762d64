"""Right answers tried before training: each must be met by itself, and by no near miss of it."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.answer_boxes import boxes_in, written_boxes, written_point
from saccade.characters import shell_words
from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.protocols.tagged import parse
from saccade.quantities import NUMBER_WORDS
from saccade.rewards.answers.kinds import options_in
from saccade.rewards.answers.metrics_by_set import METRICS, answer_is_right
from saccade.rewards.answers.statements import has_content
from saccade.types import FREE_TEXT, Answer, Task

logger = logging.getLogger(__name__)

SHOWN = 5
MAX_NEAR_MISSES_OF = 5000
"""Of a larger file near misses are tried on so many rows, evenly spaced; golds of all rows."""

_NUMBER = re.compile(r"[0-9]+")
_OPPOSITES = {
    "left": "right",
    "right": "left",
    "above": "below",
    "below": "above",
    "red": "blue",
    "white": "black",
    "increases": "decreases",
    "is": "is not",
    "are": "are not",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class WeakGold:
    """A right answer that cannot be rewarded as it should."""

    task: Task
    reply: str
    """An answer that was tried."""
    is_met: bool
    """True where the reply is a near miss that counts as right; False where it is the gold, and counts as wrong."""

    def __str__(self) -> str:
        asked = f"{self.task.id}: the answer {self.task.answer[:60]!r} ({self.task.answer_kind})"
        if self.is_met:
            return f"{asked} is also met by {self.reply[:60]!r}"
        return f"{asked} is not met by itself"


def report_golds(where: Path | str, tasks: Sequence[Task]) -> None:
    """Log the kinds of answers of a file, and the golds that fail; UserError for a metric that is not known.

    A file of which no gold can be met is refused: nothing could be learned from it.
    """
    unknown = {task.metric for task in tasks} - METRICS.keys() - {""}
    if unknown:
        raise UserError(f"{where}: metric {sorted(unknown)[0]!r} is none of {', '.join(sorted(METRICS))}")
    logger.info("%s: %s", where, describe_kinds(tasks))
    weak = weak_golds(tasks)
    unmet = [one for one in weak if not one.is_met]
    if unmet and len(unmet) == len(tasks):
        raise UserError(
            f"{where}: no answer can be right by its rule, such as {unmet[0]}; name the kind of answers with "
            "--answer-kind or in the rows"
        )
    if weak:
        lines = [f"  {one}" for one in weak[:SHOWN]]
        if len(weak) > SHOWN:
            lines.append(f"  and {len(weak) - SHOWN} more; saccade check-data {shell_words(where)} lists them")
        logger.warning(
            "%s: %d of %d golds are not met by themselves, %d are met by a near miss:\n%s",
            where,
            len(unmet),
            len(tasks),
            len(weak) - len(unmet),
            "\n".join(lines),
        )


def describe_kinds(tasks: Sequence[Task]) -> str:
    """``312 rows: 200 math, 100 choice A to D, 12 sentence``."""
    counts = Counter(_named_kind(task) for task in tasks)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    several = sum(1 for task in tasks if task.accepted)
    more = f"; {several} have several answers, any of which counts" if several else ""
    return f"{len(tasks)} rows: {kinds}{more}"


def weak_golds(tasks: Sequence[Task]) -> list[WeakGold]:
    """Golds that are not met by themselves, and near misses that meet them, at most one a task."""
    every = max(1, -(-len(tasks) // MAX_NEAR_MISSES_OF))
    found = (_weakness(task, tries_misses=place % every == 0) for place, task in enumerate(tasks))
    return [one for one in found if one is not None]


def _named_kind(task: Task) -> str:
    if task.metric:
        return f"by the metric of {task.metric}"
    options = len(task.choices or options_in(task.question)) if task.answer_kind == "choice" else 0
    if options:
        return f"choice A to {chr(ord('A') + options - 1)}"
    if task.answer_kind == "boxes":
        return f"boxes from an IoU of {task.min_iou:g} on"
    return f"number within {task.tolerance:.0%}" if task.tolerance else str(task.answer_kind)


def _weakness(task: Task, *, tries_misses: bool) -> WeakGold | None:
    if not _is_right(task, task.answer):
        return WeakGold(task=task, reply=task.answer, is_met=False)
    if not tries_misses or task.metric:
        return None
    golds = {task.answer.casefold(), *(gold.casefold() for gold in task.accepted)}
    misses = (miss for miss in near_misses(task) if miss.casefold() not in golds)
    met = next((miss for miss in misses if _is_right(task, miss)), None)
    return None if met is None else WeakGold(task=task, reply=met, is_met=True)


def _is_right(task: Task, answer: str) -> bool:
    read = parse(f"<think>so</think><answer>{answer}</answer>", offers_tools=False).action
    return isinstance(read, Answer) and answer_is_right(task, read.text)


def near_misses(task: Task) -> Iterator[str]:
    """Answers close to the right one that are wrong: another option, number, direction, colour or word, a denial."""
    if task.answer_kind == "choice":
        texts = task.choices or options_in(task.question)
        gold = task.answer.strip("()[]. ").casefold()
        letters = [chr(ord("A") + place) for place in range(len(texts))]
        yield from (letter for letter, text in zip(letters, texts) if gold not in (letter.casefold(), text.casefold()))
        return
    if task.answer_kind == "boxes":
        moved = [Box(box.x2, box.y1, 2 * box.x2 - box.x1, box.y2) for box in boxes_in(task.answer) or ()]
        yield from (written_boxes(moved), written_boxes([*moved, *moved])) if moved else ()
        return
    if task.answer_kind == "click":
        yield from (written_point(Point(2 * box.x2 - box.x1, box.y2)) for box in boxes_in(task.answer) or ())
        return
    number = _NUMBER.search(task.answer)
    if number:
        yield f"{task.answer[: number.start()]}{int(number[0]) * 2 + 1}{task.answer[number.end() :]}"
    if task.answer_kind in {*FREE_TEXT, "exact"}:
        words = task.answer.split()
        for place, word in enumerate(words):
            other = _opposite(word)
            if other:
                yield " ".join([*words[:place], other, *words[place + 1 :]])
        needed = [place for place, word in enumerate(words) if has_content(word)]
        if len(words) > 1 and needed:
            longest = max(needed, key=lambda place: len(words[place]))
            yield " ".join([*words[:longest], *words[longest + 1 :]])
        yield f"not {task.answer}"


def _opposite(word: str) -> str | None:
    plain = word.casefold().strip(".,;:!?")
    if plain in NUMBER_WORDS:
        return NUMBER_WORDS[(NUMBER_WORDS.index(plain) + 1) % len(NUMBER_WORDS)]
    return _OPPOSITES.get(plain)
