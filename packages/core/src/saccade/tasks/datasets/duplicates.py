"""Questions that are asked twice, above all in training and in a test: found by image and by text, and reported.

Images are the same when their pixels are (``ImageRef.hash``), whatever file they came in. A picture that was saved
again with loss is another one by that; pass ``image_key`` to compare by anything else, such as a perceptual hash.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.types import ImageRef, Json, Task

Why = Literal["same image", "same question", "asked twice"]

MIN_WORDS = 12
"""From here on two questions with the same words are one question, also on different images: shorter ones, such as
"How many objects are there?", are templates. Two Chinese or Japanese signs are a word."""

_SIGNS = r"\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W{_SIGNS}]+")
_SIGN = re.compile(rf"[{_SIGNS}]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """A training task that is not used, and the task that it repeats."""

    task_id: str
    source: str
    why: Why
    other_id: str
    other_source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WithoutDuplicates:
    """Training tasks that repeat nothing of the test, and what was dropped; the test stays as it is published."""

    train: tuple[Task, ...]
    dropped: tuple[Dropped, ...]
    twice_in_test: int
    """Test tasks that repeat another one of the test, kept."""

    def counts(self) -> Mapping[tuple[str, str, Why], int]:
        """Dropped tasks by their set, the set of what they repeat, and why."""
        return Counter((one.source, one.other_source, one.why) for one in self.dropped)

    def as_json(self) -> dict[str, Json]:
        return {
            "kept": len(self.train),
            "dropped": len(self.dropped),
            "twice_in_test": self.twice_in_test,
            "by": [
                {"train": source, "other": other, "why": why, "tasks": count}
                for (source, other, why), count in sorted(self.counts().items())
            ],
        }

    def describe(self) -> str:
        """A line on all, and one for each pair of sets."""
        lines = [f"{len(self.train)} training tasks kept, {len(self.dropped)} dropped"]
        lines += [
            f"  {count} of {source}: {why}" + ("" if why == "asked twice" else f" as in the test of {other}")
            for (source, other, why), count in sorted(self.counts().items())
        ]
        if self.twice_in_test:
            lines.append(f"  {self.twice_in_test} test tasks repeat another one of the test; they are kept")
        return "\n".join(lines)


def content_key(image: ImageRef) -> Hashable:
    """Images with the same pixels have the same key."""
    return image.hash


def drop_duplicates(
    train: Sequence[Task], test: Sequence[Task], *, image_key: Callable[[ImageRef], Hashable] = content_key
) -> WithoutDuplicates:
    """The training tasks in their order without those that

    - show an image of the test (``same image``),
    - ask a question of the test in at least ``MIN_WORDS`` words, options and answer the same (``same question``),
    - ask what an earlier training task asks of the same images (``asked twice``).

    Words are compared without case, punctuation and forms of the same letter.
    """
    tested_images = {image_key(image): task for task in reversed(test) for image in task.images}
    tested_questions: dict[Hashable, Task] = {
        key: task for task in reversed(test) if (key := _long_question(task)) is not None
    }
    first: dict[Hashable, Task] = {}
    kept: list[Task] = []
    dropped: list[Dropped] = []
    for task in train:
        by_image = next(
            (tested_images[key] for image in task.images if (key := image_key(image)) in tested_images), None
        )
        by_question = tested_questions.get(_long_question(task) or ())
        asked = _question_key(task, image_key)
        other, why = _repeats(by_image, by_question, first.get(asked))
        if other is None:
            first[asked] = task
            kept.append(task)
        else:
            dropped.append(
                Dropped(task_id=task.id, source=task.source, why=why, other_id=other.id, other_source=other.source)
            )
    distinct = {_question_key(task, image_key) for task in test}
    return WithoutDuplicates(train=tuple(kept), dropped=tuple(dropped), twice_in_test=len(test) - len(distinct))


def _repeats(by_image: Task | None, by_question: Task | None, earlier: Task | None) -> tuple[Task | None, Why]:
    if by_image is not None:
        return by_image, "same image"
    if by_question is not None:
        return by_question, "same question"
    return earlier, "asked twice"


def _question_key(task: Task, image_key: Callable[[ImageRef], Hashable]) -> Hashable:
    where = (task.corpus, task.document, task.gold_pages)
    return _words(task.question), tuple(map(_words, task.choices)), tuple(map(image_key, task.images)), where


def _long_question(task: Task) -> Hashable | None:
    words = _words(task.question)
    if len(words) - sum(_SIGN.match(word) is not None for word in words) / 2 < MIN_WORDS:
        return None
    return words, tuple(map(_words, task.choices)), _words(task.answer)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
