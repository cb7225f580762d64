"""Difficulty: whether what makes a task hard grows with it.

A family may say what its difficulty changes (``claims(hardness=...)``). Of the others an audit measures the picture:
how small the evidence is, how much there is to see, how many things, answers and steps of the expert there are. Of the
gym's families it also measures the scenes' states: what the grammar says that difficulty raises, or their elements.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from saccade.evaluation.audit.drawn import LEVELS, DrawnFamily
from saccade.evaluation.audit.findings import Checked
from saccade.seeding import generator_for
from saccade.types import Example

SLACK = 2.0
"""Standard errors by which a level may lie below the one before."""
MOVES = 4.0
"""Standard errors between the easiest and the hardest level, from which a measure counts as changed."""
CLAIMED_DRAWS = 20

Measures = Mapping[str, Sequence[Sequence[float]]]


def difficulty_finding(drawn: DrawnFamily, further: Measures | None = None) -> Checked:
    """The number of measures that rise with difficulty all the way; at least one must, and evidence must not grow.

    ``further`` measures are added to those of the picture: by name, the values at each of ``LEVELS``.
    """
    check = "difficulty"
    measures = _claimed_measures(drawn) or {**_drawn_measures(drawn), **(further or {})}
    rising, falling, bent = [], [], []
    for name, levels in measures.items():
        means = np.array([np.mean(one) for one in levels])
        errors = np.array([np.std(one) / np.sqrt(len(one)) for one in levels]) + 1e-9
        spread = float(np.hypot(errors[0], errors[-1]))
        steps, noise = np.diff(means), SLACK * np.hypot(errors[1:], errors[:-1])
        if (steps >= -noise).all() and means[-1] - means[0] > MOVES * spread:
            rising.append(name)
        elif (steps <= noise).all() and means[0] - means[-1] > MOVES * spread:
            falling.append(name)
        elif float(np.ptp(means)) > MOVES * float(errors.max()) * 1.5:
            bent.append(name)
    parts = [("rises", rising), ("falls", falling), ("goes up and down", bent)]
    note = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts if names)
    is_wrong = not rising or "smallness of the evidence" in falling
    return Checked(
        check=check,
        verdict="convicted" if is_wrong else "passes",
        figure=float(len(rising)),
        bound=1.0,
        is_least=True,
        note=note or "nothing that was measured changes with difficulty",
    )


def _claimed_measures(drawn: DrawnFamily) -> Measures:
    hardness = drawn.claims.hardness
    if hardness is None:
        return {}
    scenes = [
        [drawn.draw(generator_for(drawn.seed, "hardness", index), level) for index in range(CLAIMED_DRAWS)]
        for level in LEVELS
    ]
    return {"hardness": [[hardness(scene) for scene in level] for level in scenes]}


def _drawn_measures(drawn: DrawnFamily) -> Measures:
    levels = [drawn.at_level(level) for level in LEVELS]
    names = {name for level in levels for one in level for name in _measures(one, drawn)}
    found = {
        name: [[values[name] for one in level if name in (values := _measures(one, drawn))] for level in levels]
        for name in sorted(names)
    }
    found = {name: values for name, values in found.items() if all(len(one) >= 5 for one in values)}
    return {**found, "different answers": [_distinct(level) for level in levels]}


def _measures(example: Example, drawn: DrawnFamily) -> dict[str, float]:
    task = example.task
    found = {
        "steps of the expert": float(len(example.turns)),
        "words of the question": float(len(task.question.split())),
        "pictures": float(len(task.images)),
        "things named": float(len(task.objects)),
        "pieces of evidence": float(len(task.targets)),
    }
    if task.images:
        found["detail of the picture"] = float(drawn.seen[task.images[0].hash].png_size)
    if task.targets and task.images:
        areas = [
            one.box.area / (task.images[one.image_index].width * task.images[one.image_index].height)
            for one in task.targets
            if one.image_index < len(task.images)
        ]
        found["smallness of the evidence"] = -float(np.log(np.mean(areas) + 1e-6)) if areas else 0.0
    return found


def _distinct(examples: Sequence[Example]) -> list[float]:
    """How many different answers each fifth of the examples has."""
    parts = [examples[start::5] for start in range(5)]
    return [len({one.task.answer for one in part}) / len(part) for part in parts if part]
