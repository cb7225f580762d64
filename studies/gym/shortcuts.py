"""Shortcuts of the gym: how often its questions are answered right without their pictures.

    OMP_NUM_THREADS=1 python -m studies.gym.shortcuts --tasks 3000 --json OUT.json [FAMILY ...]
    OMP_NUM_THREADS=1 python -m studies.gym.shortcuts --tasks 3000 --files FAMILY ...

A policy that wants the reward without looking may know a question's program by its wording, which answers are frequent
there, the options with their order, lengths and likeness to each other, the numbers in the question and, with
``--files``, sizes and bytes of the stored pictures. 60 % of the tasks are counted, 18 % train gradient boosting over
(task, candidate) pairs, the rest is answered. States are not drawn unless a program looks at its picture.
"""

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from saccade.evaluation.audit.blind import words_in
from saccade.evaluation.audit.drawn import LEVELS
from saccade.gym.family import GymFamily
from saccade.gym.levels import Levels
from saccade.gym.program import sentence
from saccade.gym.registry import gym_families
from saccade.media.encode import png_bytes
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.types import Task

MOST_ANSWERS, MOST_WORDS, LEAST_OF_PROGRAM = 30, 12, 40
MARGIN, RARE, NONE = 0.05, 0.02, -99.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question without its picture."""

    task: Task
    program: str
    size: tuple[float, ...]
    """Of the pictures: their number, width, height and bytes; empty where they were not drawn."""


def asked(family: GymFamily, index: int, with_files: bool) -> Asked:
    """One question, at one of the audit's levels in turn."""
    rng, level = generator_for(11, "shortcuts", family.name, index), LEVELS[index % len(LEVELS)]
    levels = Levels(base=level)
    program = family.programs[int(rng.integers(len(family.programs)))]
    look = family.renderers[int(rng.integers(len(family.renderers)))]
    asking, found = family.question(program, look, rng, levels)
    size: tuple[float, ...] = ()
    if with_files:
        images = asking.rendering.images
        size = (len(images), *images[0].size, float(sum(len(png_bytes(image)) for image in images)))
    choices = tuple(found.choices[int(i)] for i in rng.permutation(len(found.choices)))
    wordings = [sentence(wording, found.words) for wording in program.wordings]
    task = Task(
        id=f"{family.name}/{index}",
        family=family.name,
        question=wordings[int(rng.integers(len(wordings)))],
        answer=found.answer,
        answer_kind=found.kind,
        images=(),
        choices=choices,
        tolerance=found.tolerance,
        accepted=() if not found.accepted else tuple(dict.fromkeys((found.answer, *found.accepted))),
        difficulty=level,
    )
    return Asked(task=task, program=program.name, size=size)


class Attack:
    """Counts of one part of the tasks, boosting on another; guesses answers of the rest."""

    def __init__(self, counted: Sequence[Asked], trained: Sequence[Asked]) -> None:
        self.right: dict[str, Counter[str]] = defaultdict(Counter)
        self.offered: dict[str, Counter[str]] = defaultdict(Counter)
        self.words: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.said: dict[str, Counter[str]] = defaultdict(Counter)
        self.programs = sorted({one.program for one in (*counted, *trained)})
        for one in counted:
            said = set(words_in(one.task.question))
            self.right[one.program][one.task.answer] += 1
            self.offered[one.program].update(one.task.choices)
            self.words[one.program, one.task.answer].update(said)
            self.said[one.program].update(said)
        rows = [self.rows(one) for one in trained]
        labels = [
            [answer_is_right(one.task, text) for text in texts] for one, (texts, _) in zip(trained, rows, strict=True)
        ]
        self.model = HistGradientBoostingClassifier(max_iter=120, learning_rate=0.08, random_state=0)
        self.model.fit(np.concatenate([row for _, row in rows]), np.concatenate(labels))

    def rows(self, one: Asked) -> tuple[list[str], np.ndarray]:
        """The candidates of a question and their features."""
        task, program = one.task, one.program
        words = words_in(task.question)
        frequent = [text for text, _ in self.right[program].most_common(MOST_ANSWERS)]
        texts = list(task.choices) or list(dict.fromkeys([*frequent, *words[-MOST_WORDS:]])) or ["0"]
        values = np.array([number_in(text) for text in texts])
        lengths = np.array([len(text) for text in texts])
        known = np.nan_to_num(values, nan=0.0)
        total = sum(self.right[program].values())
        numbers = [float(word) for word in words if re.fullmatch(r"\d+(\.\d+)?", word)]
        rows = []
        for place, text in enumerate(texts):
            count, own = self.right[program][text], self.words[program, text]
            fit = sum(
                np.log((own[word] + 0.5) / (count + 1) / ((self.said[program][word] + 0.5) / (total + 1)))
                for word in set(words)
            )
            alike = [SequenceMatcher(None, text, other).ratio() for other in task.choices if other != text]
            rows.append(
                [
                    self.programs.index(program) if program in self.programs else -1,
                    len(task.choices),
                    place if task.choices else -1,
                    lengths[place],
                    (lengths < lengths[place]).mean(),
                    (lengths == lengths[place]).mean(),
                    values[place],
                    (known < known[place]).mean(),
                    np.abs(known - known[place]).mean(),
                    np.mean(alike) if alike else np.nan,
                    f" {text.casefold()} " in f" {' '.join(words)} ",
                    task.question.casefold().find(text.casefold()) / len(task.question),
                    count / (total + 1),
                    (count + 0.5) / (self.offered[program][text] + 1) if task.choices else np.nan,
                    float(np.clip(fit, -12, 12)) if count else np.nan,
                    len(words),
                    *[(numbers[at] - values[place]) if at < len(numbers) else np.nan for at in range(2)],
                    *(numbers[at] if at < len(numbers) else np.nan for at in range(2)),
                    task.difficulty,
                    *one.size,
                ]
            )
        return texts, np.nan_to_num(np.array(rows, dtype=np.float64), nan=NONE)

    def guesses(self, tasks: Sequence[Asked]) -> list[str]:
        """The likeliest candidate of each question."""
        rows = [self.rows(one) for one in tasks]
        chances = self.model.predict_proba(np.concatenate([row for _, row in rows]))[:, 1]
        parts = np.split(chances, np.cumsum([len(texts) for texts, _ in rows])[:-1])
        return [texts[int(np.argmax(part))] for (texts, _), part in zip(rows, parts, strict=True)]

    def usual(self, one: Asked) -> str:
        """What is right most often for the program."""
        ranked = [text for text, _ in self.right[one.program].most_common() if text in (one.task.choices or (text,))]
        return ranked[0] if ranked else one.task.answer + "?"


def number_in(text: str) -> float:
    found = re.search(r"-?\d+(?:\.\d+)?", text)
    return float(found[0]) if found else float("nan")


def chances(tasks: Sequence[Asked]) -> dict[tuple[str, float], float]:
    """By program and level: one of the answers that occur, at most a half; rare ones count by their share, 2 % as one.

    Boards and charts have other sizes at each level, and so other answers.
    """
    answers: dict[tuple[str, float], Counter[str]] = defaultdict(Counter)
    for one in tasks:
        answers[one.program, one.task.difficulty][one.task.answer] += 1
    sizes = {}
    for key, found in answers.items():
        shares = [count / sum(found.values()) for count in found.values()]
        sizes[key] = sum(share >= RARE for share in shares) + sum(share for share in shares if share < RARE) / RARE
    return {key: 1 / max(2, size) for key, size in sizes.items()}


def interval(hits: Sequence[bool]) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    n, p, z = len(hits), sum(hits) / len(hits), 1.96
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return round((middle - half) / (1 + z * z / n), 3), round((middle + half) / (1 + z * z / n), 3)


def attacked(family: GymFamily, count: int, with_files: bool) -> dict[str, object]:
    """The figures of a family, and of its programs."""
    tasks = [asked(family, index, with_files) for index in range(count)]
    counted, trained = round(0.6 * count), round(0.78 * count)
    attack, rest = Attack(tasks[:counted], tasks[counted:trained]), tasks[trained:]
    guesses = attack.guesses(rest)
    hits = [answer_is_right(one.task, text) for one, text in zip(rest, guesses, strict=True)]
    usual = [answer_is_right(one.task, attack.usual(one)) for one in rest]
    by_level = chances(tasks)
    chance_each = [
        1 / len(one.task.choices) if one.task.choices else by_level[one.program, one.task.difficulty] for one in rest
    ]
    programs = {}
    for name in attack.programs:
        at = [place for place, one in enumerate(rest) if one.program == name]
        if len(at) < LEAST_OF_PROGRAM:
            continue
        chance = sum(chance_each[place] for place in at) / len(at)
        low, high = interval([hits[place] for place in at])
        programs[name] = {
            "tasks": len(at),
            "chance": round(chance, 3),
            "usual": round(float(np.mean([usual[place] for place in at])), 3),
            "guessed": round(float(np.mean([hits[place] for place in at])), 3),
            "interval": (low, high),
            "leaks": low > chance + MARGIN,
        }
    return {
        "family": family.name,
        "tasks": len(rest),
        "with_files": with_files,
        "chance": round(sum(chance_each) / len(rest), 3),
        "usual": round(float(np.mean(usual)), 3),
        "guessed": round(float(np.mean(hits)), 3),
        "interval": interval(hits),
        "programs": programs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--tasks", type=int, default=3000)
    parser.add_argument("--files", action="store_true", help="Draw the pictures and tell their sizes.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for name in options.families or sorted(gym_families()):
        found.append(one := attacked(gym_families()[name], options.tasks, options.files))
        print(f"{name}: chance {one['chance']}, usual {one['usual']}, guessed {one['guessed']} {one['interval']}")
        for program, figures in one["programs"].items():  # type: ignore[attr-defined]
            if figures["leaks"]:
                print(f"    {program}: {figures}")
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
