"""Answers without a picture: by the answer's prior, and by the question's words, options and sizes of pictures.

The guesser ranks candidates (the options, or answers seen in training and words of the question) by a conditional logit
over features that a careless author gives away: how often an answer is right, which words go with it, its place and
length among the options, whether it is the largest, the middle or the only one that stands in the question.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.evaluation.audit.findings import Checked, share_at_most
from saccade.rewards.answers.kinds import shows_letters
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rewards.answers.rules import options_named
from saccade.types import Task

MARGIN = 0.15
"""What a blind guess may be better than one among the answers that its question has."""
MOST_ANSWERS = 40
MOST_QUESTION_WORDS = 16
COMMON_SHARE = 0.05
"""A word in fewer questions is a slot that a question fills, and not part of what it asks."""
LEAST_OF_PATTERN = 12
"""Tasks of a pattern from which its answers are counted."""
STEPS, RATE, DECAY = 300, 0.1, 0.01

Numbers = NDArray[np.float64]


def words_in(text: str) -> list[str]:
    return re.findall(r"\d+\.\d+|\w+|[%°$€]", text.casefold())


def cues(task: Task) -> list[str]:
    """What is known of a task without its pixels: words, pairs of words, numbers and sizes of pictures."""
    words = words_in(task.question)
    sizes = [f"{image.width}x{image.height}" for image in task.images[:1]]
    return [*words, *(f"{a} {b}" for a, b in pairwise(words)), *sizes, f"{len(task.images)} images"]


class Patterns:
    """Questions by what they ask, and how many answers each pattern has.

    A pattern is the program of a family of the gym, else the question without the words that fill its slots; what is
    asked too seldom to show its answers counts as all questions with answers of its sort.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        seen = Counter(word for task in tasks for word in set(words_in(task.question)))
        self._common = {word for word, count in seen.items() if count >= max(2, COMMON_SHARE * len(tasks))}
        self._count = Counter(self.of(task) for task in tasks)
        answers: dict[str, set[str]] = {}
        for task in tasks:
            for key in (self.of(task), _sort_of(task.answer)):
                answers.setdefault(key, set()).add(task.answer.casefold())
        self._answers = answers

    def of(self, task: Task) -> str:
        if task.buckets:
            return task.buckets[0]
        words = [word for word in words_in(task.question) if word in self._common and not word[0].isdigit()]
        return " ".join(words)

    def chance(self, task: Task) -> float:
        """One of the options, or of the answers that the pattern has; at most one half."""
        pattern = self.of(task)
        key = pattern if self._count[pattern] >= LEAST_OF_PATTERN else _sort_of(task.answer)
        options = len(task.choices) if len(task.choices) > 1 else len(self._answers.get(key, ()))
        return 1 / max(2, options)


def _sort_of(answer: str) -> str:
    if answer.casefold() in ("yes", "no"):
        return "answers: yes or no"
    return "answers: numbers" if re.search(r"\d", answer) else "answers: words"


def chance_of(tasks: Sequence[Task], patterns: Patterns) -> float:
    """Mean chance of a guess among the answers that each question may have."""
    return sum(map(patterns.chance, tasks)) / len(tasks)


@dataclass(frozen=True, slots=True)
class _Guess:
    text: str
    place: int
    """Among the options; -1 where there are none."""


class BlindGuesser:
    """Learned from tasks and their answers; guesses from the words alone."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._answers = _common_answers(tasks)
        half = len(tasks) // 2
        # Words are counted on one half and weighed on the other, where they have not seen the answers.
        self._count(tasks[:half])
        self._weights = self._fit_weights(tasks[half:])

    def guess(self, task: Task) -> str:
        candidates = self._candidates(task)
        scores = (self._features(task, candidates) - self._mean) / self._scale @ self._weights
        return candidates[int(np.argmax(scores))].text

    def _count(self, tasks: Sequence[Task]) -> None:
        self._seen: Counter[str] = Counter()
        self._cues: Counter[str] = Counter()
        self._cues_of: dict[str, Counter[str]] = {}
        self._total = len(tasks)
        for task in tasks:
            said = set(cues(task))
            self._cues.update(said)
            for candidate in self._candidates(task):
                if answer_is_right(task, candidate.text):
                    self._seen[candidate.text] += 1
                    self._cues_of.setdefault(candidate.text, Counter()).update(said)

    def _candidates(self, task: Task) -> list[_Guess]:
        if len(task.choices) > 1:
            return [_Guess(text=text, place=place) for place, text in enumerate(task.choices)]
        words = re.findall(r"[\w.]+", task.question)[-MOST_QUESTION_WORDS:]
        texts = dict.fromkeys([*self._answers, *(word.rstrip(".") for word in words)])
        return [_Guess(text=text, place=-1) for text in texts if text]

    def _features(self, task: Task, candidates: Sequence[_Guess]) -> Numbers:
        said, question = set(cues(task)), f" {' '.join(words_in(task.question))} "
        lengths = np.array([len(one.text) for one in candidates], dtype=np.float64)
        values = np.array([_value(one.text) for one in candidates])
        ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable") / max(1, len(candidates) - 1)
        rows = []
        for index, one in enumerate(candidates):
            own, count = self._cues_of.get(one.text, Counter()), self._seen[one.text]
            fit = [
                np.log((own[cue] + 0.5) / (count + 1) / ((self._cues[cue] + 0.5) / (self._total + 1)))
                for cue in said
                if self._cues[cue] > 1
            ]
            words = " ".join(words_in(one.text))
            rows.append(
                [
                    np.log((count + 0.5) / (self._total + 1)),
                    float(np.clip(np.sum(fit), -12, 12)) if count else -3.0,
                    *(float(one.place == place) for place in range(6)),
                    float(lengths[index] == lengths.max()),
                    float(lengths[index] == lengths.min()),
                    ranks[index],
                    float(abs(ranks[index] - 0.5) < 0.2),
                    float(f" {words} " in question),
                    question.rfind(f" {words} ") / len(question),
                    float(bool(count)),
                ]
            )
        return np.array(rows)

    def _fit_weights(self, tasks: Sequence[Task]) -> Numbers:
        """Weights by gradient steps on the log-likelihood of the candidates that are right."""
        rows, right = [], []
        for task in tasks:
            candidates = self._candidates(task)
            is_right = np.array([answer_is_right(task, one.text) for one in candidates])
            if is_right.any() and not is_right.all():
                rows.append(self._features(task, candidates))
                right.append(is_right)
        stacked = (
            np.concatenate(rows)
            if rows
            else np.zeros((1, len(self._features(tasks[0], self._candidates(tasks[0]))[0])))
        )
        self._mean, self._scale = stacked.mean(axis=0), stacked.std(axis=0) + 1e-6
        weights = np.zeros(stacked.shape[1])
        if not rows:
            return weights
        starts = np.cumsum([0, *map(len, rows)])[:-1]
        of = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        x, y = (stacked - self._mean) / self._scale, np.concatenate(right)
        for step in range(STEPS):
            scores = x @ weights
            powers = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
            everything, wanted = powers / np.add.reduceat(powers, starts)[of], powers * y
            meant = wanted / np.add.reduceat(wanted, starts)[of]
            weights += RATE * (1 - step / STEPS) * (x.T @ (meant - everything) / len(rows) - DECAY * weights) * 5
        return weights


def _common_answers(tasks: Sequence[Task]) -> list[str]:
    """The answers that are right most often, each by the rule of its task; of numbers also what lies between."""
    counted = Counter(task.answer for task in tasks if len(task.choices) < 2)
    return [text for text, _ in counted.most_common(MOST_ANSWERS)]


def _value(text: str) -> float:
    found = re.search(r"-?\d+(?:\.\d+)?", text)
    return float(found[0]) if found else 0.0


def constant_answer(tasks: Sequence[Task]) -> str:
    """The one answer, or option's letter, that is right for most of the tasks."""
    texts = [text for text, _ in Counter(task.answer for task in tasks).most_common(MOST_ANSWERS)]
    widest = max((len(task.choices) for task in tasks), default=0)
    texts += [chr(ord("A") + place) for place in range(min(widest, 26))]
    return max(dict.fromkeys(texts), key=lambda text: sum(answer_is_right(task, text) for task in tasks))


def prior_finding(train: Sequence[Task], test: Sequence[Task], patterns: Patterns) -> Checked:
    """Accuracy of always giving the answer that is most often right."""
    answer = constant_answer(train)
    hits = [answer_is_right(task, answer) for task in test]
    return share_at_most(
        "prior", hits, chance_of(test, patterns) + MARGIN, note=f"always {answer!r}", example=_example(test, hits)
    )


def words_finding(train: Sequence[Task], test: Sequence[Task], patterns: Patterns) -> Checked:
    """Accuracy of the guesser that reads everything but the pixels."""
    guesser = BlindGuesser(train)
    guesses = [guesser.guess(task) for task in test]
    hits = [answer_is_right(task, guess) for task, guess in zip(test, guesses)]
    return share_at_most("question's words", hits, chance_of(test, patterns) + MARGIN, example=_example(test, hits))


def _example(tasks: Sequence[Task], hits: Sequence[bool]) -> str:
    return next((f"{task.question} {task.answer}" for task, hit in zip(tasks, hits) if hit), "")


def answer_text(task: Task) -> str:
    """The answer's own text: of an option that is named by its letter, the option's."""
    letters = shows_letters(task)
    named = options_named(task.answer, task.choices, has_letters=letters) if task.choices else frozenset()
    return task.choices[next(iter(named))] if len(named) == 1 else task.answer
