"""A row of a benchmark made into a task, and its options put in another order."""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from saccade.evaluation.benchmarks.benchmark import LETTERS, Benchmark, BenchmarkRow, OptionPolicy
from saccade.evaluation.benchmarks.hub_rows import list_of
from saccade.geometry import Box
from saccade.interleaving import in_order, in_reading_order, is_named, mark
from saccade.seeding import seed_for
from saccade.tasks.rows.fields import RowError, as_number, listed, literal
from saccade.tasks.rows.golds import infer_kind
from saccade.types import AnswerKind, ImageRef, Target, Task

HIDDEN = ("?", "hidden")
"""What stands for the letter in the test splits of MMMU and BLINK."""


def row_of(
    benchmark: Benchmark, fields: Mapping[str, str], images: Sequence[ImageRef], times_s: Sequence[float] = ()
) -> BenchmarkRow:
    """The row as its benchmark asks it, images with times as a video; ``RowError`` names the column that is wrong."""
    question, index = fields.get("question", ""), fields.get("index", "")
    if not question and not any(letter in fields for letter in LETTERS):
        raise RowError("question", "is empty")
    letters = [letter for letter in LETTERS if letter in fields]
    if letters and letters != list(LETTERS[: len(letters)]):
        raise RowError(letters[-1], f"the options are {', '.join(letters)}; one between them is missing")
    choices = tuple(fields[letter] for letter in letters) if len(letters) > 1 else ()
    answer = fields.get("answer", "").strip()
    answer = "" if choices and answer in HIDDEN else answer
    if choices and answer and answer not in letters:
        raise RowError("answer", f"{answer[:80]!r} is not one of the options {', '.join(letters)}")
    listed = tuple(list_of(fields.get("choices", "")))
    choices = choices or (listed if len(listed) > 1 else ())
    accepted = tuple(list_of(answer)) if benchmark.takes_any and not choices else ()
    answer = accepted[0] if accepted else answer
    (question, *named), shown, is_interleaved = place_pictures(benchmark, (question, *choices), tuple(images))
    choices = tuple(named)
    task = Task(
        id=f"{benchmark.name}/{index}",
        family=benchmark.name,
        question=question,
        answer=answer,
        answer_kind=gold_kind(answer, question, choices),
        images=shown,
        choices=choices,
        is_interleaved=is_interleaved,
        accepted=accepted,
        source=benchmark.source or benchmark.name,
        metric=benchmark.source or benchmark.name,
        targets=_targets(fields, images),
        frame_times_s=tuple(times_s),
        document=f"{benchmark.name}/{fields['recording']}" if "recording" in fields else None,
        buckets=tuple(dict.fromkeys(fields[name] for name in ("split", "category", "l2-category") if name in fields)),
    )
    return BenchmarkRow(task=task, fields=dict(fields), pictures=tuple(images))


def _targets(fields: Mapping[str, str], images: Sequence[ImageRef]) -> tuple[Target, ...]:
    """The column ``targets``, what of its boxes lies in the first picture; ``RowError`` where it holds no boxes."""
    boxes = [listed(one, "targets") for one in listed(literal(fields.get("targets", ""), "targets"), "targets")]
    numbers = [[side for one in box if (side := as_number(one)) is not None] for box in boxes]
    if any(len(box) != 4 for box in numbers):
        raise RowError("targets", f"must be a list of boxes of four numbers, not {fields['targets'][:80]}")
    shown = [Box(*box).clipped(one.width, one.height) for one in images[:1] for box in numbers]
    return tuple(Target(label="", box=box, point=box.center) for box in shown if box.is_ordered)


def gold_kind(answer: str, question: str, choices: Sequence[str]) -> AnswerKind:
    """A choice where there are options, the text of a list as one, else as the answer looks."""
    if choices:
        return "choice"
    if answer.startswith("[") and answer.endswith("]"):
        return "list"
    return infer_kind(answer, (), question) if answer else "exact"


def place_pictures(
    benchmark: Benchmark, texts: Sequence[str], pictures: tuple[ImageRef, ...]
) -> tuple[tuple[str, ...], tuple[ImageRef, ...], bool]:
    """The texts with the places of their pictures, the pictures as they stand there, and whether any place is named."""
    if benchmark.interleaves == "in order":
        texts = numbered_places(texts, len(pictures))
    if not benchmark.interleaves or not any(is_named(text, len(pictures)) for text in texts):
        return tuple(texts), pictures, False
    return *in_reading_order(texts, pictures), True


def numbered_places(texts: Sequence[str], count: int) -> list[str]:
    """Each ``<image>`` with its number, words between without spaces at their ends; one beyond the ``count`` goes."""
    numbers = itertools.count(1)
    found = []
    for text in texts:
        first, *rest = text.split("<image>")
        parts = [first.strip()]
        for words in rest:
            number = next(numbers)
            parts.append(f"{mark(number) if number <= count else ''}{words.strip()}")
        found.append("".join(parts) if rest else text)
    return found


def in_own_words(benchmark: Benchmark, row: BenchmarkRow) -> Task:
    """The row's task as VLMEvalKit words it."""
    (words,), shown, is_interleaved = place_pictures(
        benchmark, (benchmark.prompt(row),), row.pictures or row.task.images
    )
    return replace(row.task, question=words, wordings={}, images=shown, is_interleaved=is_interleaved)


def reordered(row: BenchmarkRow, order: Sequence[int], *, cycle: int = 0) -> BenchmarkRow:
    """The row with option ``order[i]`` at place ``i``; a row without options as it is."""
    letters = list(row.options)
    if sorted(order) != list(range(len(letters))) or len(row.task.choices) != len(letters):
        return row
    texts = [row.fields[letters[place]] for place in order]
    answer = letters[order.index(letters.index(row.answer))] if row.answer in letters else row.answer
    fields = {**row.fields, **dict(zip(letters, texts)), "answer": answer}
    task_id = row.task.id if cycle == 0 else f"{row.task.id}#{cycle}"
    choices = tuple(row.task.choices[place] for place in order)
    task = in_order(replace(row.task, id=task_id, choices=choices, answer=answer))
    return replace(row, task=task, fields=fields, cycle=cycle)


def with_options(rows: Sequence[BenchmarkRow], policy: OptionPolicy, *, seed: int = 0) -> Iterator[BenchmarkRow]:
    """The rows with their options by the policy.

    ``shuffled`` draws one order for each question by seed and its id. ``cycles`` asks each question once for every
    rotation, the first as published, the others as ``ID#1``, ``ID#2``, ...
    """
    for row in rows:
        count = len(row.task.choices)
        if policy == "published" or count < 2:
            yield row
        elif policy == "shuffled":
            order = list(range(count))
            random.Random(seed_for(seed, "options", row.task.id)).shuffle(order)
            yield reordered(row, order)
        else:
            for cycle in range(count):
                yield reordered(row, [(place + cycle) % count for place in range(count)], cycle=cycle)
