"""Checks of the gym's families: a second solver on states, hard negatives, paraphrases, and each axis of difficulty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.evaluation.audit.blind import words_in
from saccade.evaluation.audit.drawn import LEVELS
from saccade.evaluation.audit.findings import Checked, none_of
from saccade.gym.extras import missing_modules
from saccade.gym.family import GymFamily, NamedDraw
from saccade.gym.golden import golden_complaint, golden_record, library_versions
from saccade.gym.levels import Levels
from saccade.gym.registry import gym_families
from saccade.gym.sample import GymSample
from saccade.media.store import image_hash
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.tasks.scene import FamilyFunction
from saccade.types import Task

AXIS_DRAWS = 12
"""Scenes that are drawn at most at both ends of an axis; one that changes in none of them is not read."""
STATES = 60
"""States that are measured at each level of difficulty; nothing is drawn."""
SAID_BY_CHANCE = 3
"""An answer of fewer letters may stand in a question by chance, as a number or an option's letter."""


@dataclass(frozen=True, kw_only=True)
class GymDraw:
    """The gym's family behind a function that draws scenes, as the audit draws it."""

    draw: GymFamily | NamedDraw

    @property
    def family(self) -> GymFamily:
        return self.draw.family if isinstance(self.draw, NamedDraw) else self.draw

    def samples(self, count: int, seed: int) -> list[GymSample]:
        """Samples of all programs in turn, easy and hard."""
        programs = self.family.programs
        found = []
        for index in range(count):
            rng = generator_for(seed, "audit", self.family.name, index)
            levels = Levels(base=index % 5 / 4)
            if isinstance(self.draw, NamedDraw):
                found.append(self.draw.sample(rng, levels))
            else:
                found.append(self.draw.sample(rng, levels, program=programs[index % len(programs)]))
        return found

    def hardness(self, seed: int) -> list[list[float]]:
        """What the grammar says that difficulty raises, or the number of elements, of states at each level."""
        grammar, name = self.family.grammar, self.family.name

        def measured(index: int, level: float) -> float:
            state = grammar.draw(generator_for(seed, "hardness of states", name, index), Levels(base=level))
            return float(len(state.elements)) if grammar.hardness is None else grammar.hardness(state)

        return [[measured(index, level) for index in range(STATES)] for level in LEVELS]


def gym_draw(draw: FamilyFunction) -> GymDraw | None:
    """The gym's family, where the function is one."""
    return GymDraw(draw=draw) if isinstance(draw, GymFamily | NamedDraw) else None


def golden_finding(gym: GymDraw, found: Checked) -> Checked:
    """What was found of bytes, and whether a family that ships still draws what its golden hash says."""
    family, record = gym.family, golden_record(gym.family.name)
    if found.verdict != "passes" or record is None or gym_families().get(family.name) is not family:
        return found
    if complaint := golden_complaint(family):
        return replace(found, verdict="convicted", figure=1.0, note=complaint, example=family.name)
    if record[0] != library_versions(family):
        return replace(found, note="the same in another process; the golden hash was made with other libraries")
    return replace(found, note="the same in another process, and the golden hash")


def second_solver_finding(samples: Sequence[GymSample]) -> Checked:
    """Answers on which the program's second solver, from state and words alone, disagrees."""
    solved = [(one, one.program.solve) for one in samples if one.program.solve is not None and one.is_answerable]
    hits, example = [], ""
    for one, solve in solved:
        assert solve is not None
        said = solve(one.state, one.asked.words)
        hits.append(not answer_is_right(task_of(one), said))
        example = example or (
            f"{_name(one)}: {one.scene.asked.question} {one.asked.answer}, or {said}" if hits[-1] else ""
        )
    without = sorted({one.program.name for one in samples if one.program.solve is None})
    note = f"second solver from the state, {len(hits)} tasks" + (f"; none for {', '.join(without)}" if without else "")
    return none_of("ambiguous", hits, note=note, example=example)


def negatives_finding(samples: Sequence[GymSample]) -> Checked:
    """Hard negatives that the task's own rule calls right."""
    hits, example = [], ""
    for one in samples:
        right = [text for text in one.asked.near if answer_is_right(task_of(one), text)]
        hits.append(bool(right))
        example = example or (f"{_name(one)}: {one.asked.answer}, negative {right[0]}" if right else "")
    return none_of("hard negatives", hits, example=example)


def paraphrases_finding(samples: Sequence[GymSample]) -> Checked:
    """Paraphrases in which the answer stands where another paraphrase of the same question lacks it.

    One that names every option, as "yes or no" does, says none.
    """
    hits, example = [], ""
    for one in samples:
        options = one.asked.choices
        says = [
            _has(text, one.asked.answer) and not (options and all(_has(text, each) for each in options))
            for text in one.paraphrases
        ]
        answer = " ".join(words_in(one.asked.answer))
        leaks = len(answer) >= SAID_BY_CHANCE and any(says) and not all(says)
        hits.append(leaks or len(one.paraphrases) < 2)
        example = example or (f"{_name(one)}: {one.paraphrases[says.index(True)]} {answer}" if leaks else "")
    return none_of("paraphrases", hits, example=example)


def _has(text: str, said: str) -> bool:
    """Whether the words stand in the text, one after the other."""
    return f" {' '.join(words_in(said))} " in f" {' '.join(words_in(text))} "


def axes_finding(drawn: GymDraw, seed: int) -> Checked:
    """Named axes of difficulty that change nothing of what is drawn: no program, look or grammar reads them."""
    axes = drawn.family.axes
    dead = [axis for axis in axes if not any(_changes(drawn, axis, seed, index) for index in range(AXIS_DRAWS))]
    return none_of(
        "axes", [axis in dead for axis in axes], note=f"axes: {', '.join(axes) or 'none'}", example=", ".join(dead)
    )


def _changes(drawn: GymDraw, axis: str, seed: int, index: int) -> bool:
    """Whether any program or look draws other pixels or words at the other end of the axis."""
    family = drawn.family
    looks = [look for look in family.all_renderers if axis in look.axes] or [family.renderers[0]]
    programs = [one for one in family.programs if axis in one.axes] or [family.programs[0]]
    for look in looks:
        for program in programs:
            ends = [
                family.sample(
                    generator_for(seed, "axis", axis, index),
                    Levels(base=0.5, named={axis: level}),
                    program=program,
                    renderer=look,
                )
                for level in (0.0, 1.0)
            ]
            shown = [([image_hash(image) for image in one.scene.images], one.scene.asked.question) for one in ends]
            if shown[0] != shown[1]:
                return True
    return False


def drawable_families() -> list[str]:
    """Names of the gym's families whose libraries are installed."""
    return [
        name
        for name, family in gym_families().items()
        if not any(missing_modules(renderer) for renderer in family.renderers)
    ]


def task_of(sample: GymSample) -> Task:
    """The sample's question as a task without its pictures, to be judged by its own rule."""
    asked = sample.scene.asked
    return Task(
        id=_name(sample),
        family=sample.family,
        question=asked.question,
        answer=asked.answer,
        answer_kind=asked.answer_kind,
        images=(),
        choices=asked.choices,
        tolerance=asked.tolerance,
        accepted=asked.accepted,
    )


def _name(sample: GymSample) -> str:
    return f"{sample.family}/{sample.program.name}"
