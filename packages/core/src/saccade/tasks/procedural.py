"""Tasks drawn by the program from a seed, each with its exact answer, targets and an expert that solves it.

Every picture belongs to exactly one split, by a hash of its pixels: a scene that lands in another split is thrown away
and drawn again. So no held-out picture is ever a training picture, whatever the seed, index or difficulty. A scene
without a picture is split by its question. A family of the user's own is named ``FILE.py:NAME`` wherever a family is
named (``family_names.py``).
"""

import zlib
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.own_code import own_file
from saccade.seeding import generator_for, seed_for
from saccade.tasks.family_names import (
    DRAWN,
    SHAPE,
    NamedFamilies,
    family_name,
    family_of_name,
    own_family,
)
from saccade.tasks.scene import DrawsInSplit, FamilyFunction, Scene
from saccade.types import Answer, Example, Task

FAMILIES = NamedFamilies("saccade.gym.drawn:FAMILIES")
"""Families whose experts use the image tools."""

LESSON_FAMILIES = NamedFamilies("saccade.gym.drawn:LESSON_FAMILIES")
"""Families of perception lessons for a model with random weights; they need no tool."""

READING_FAMILIES = NamedFamilies("saccade.gym.drawn:READING_FAMILIES")
"""Families of lessons in reading large print; they need no tool."""

Family = str | FamilyFunction
"""A family by its name, one of the user's own by its function or as ``FILE.py:NAME``."""

SPLITS: Mapping[str, range] = MappingProxyType(
    {"train": range(0, 5), "validation": range(5, 6), "held_out": range(6, 8)}
)
"""The eighths of all pictures that each split owns."""

MAX_DRAWS = 512
"""Draws until a scene falls into its split: at the smallest share, all fail once in 10^29 tasks."""


def checked_scene(scene: object, name: str) -> Scene:
    """The scene that a family drew; ``UserError`` when it is none."""
    if not isinstance(scene, Scene):
        raise UserError(f"the task family {name!r} returned {type(scene).__name__}, not a Scene; {SHAPE}")
    return scene


def generate(
    family: Family, *, split: str, index: int, seed: int, media: MediaStore, difficulty: float = 0.5
) -> Example:
    """Task number ``index`` of a split with an expert's turns; its pictures are added to the store.

    ``difficulty`` is in [0, 1]; each family's module says what it changes. ``UserError`` for a value that is
    not known or out of range.
    """
    name, draw = family_named(family)
    _check(split, index, difficulty)
    rng = generator_for(seed, "task", name, split, index)
    drawer: object = draw
    if isinstance(drawer, DrawsInSplit):
        draw = drawer.within(lambda key: split_of_content(zlib.crc32(key)) == split)
    for _ in range(MAX_DRAWS):
        scene = checked_scene(draw(rng, difficulty), name)
        if split_of(scene) == split:
            return _example(scene, name, _task_id(name, split, index, seed, difficulty), difficulty, media)
    raise UserError(
        f"family {name!r} has too few different pictures at difficulty={difficulty} for the split "
        f"{split!r}; use a higher difficulty"
    )


def split_of(scene: Scene) -> str:
    """The one split that may show this scene."""
    return split_of_content(_content(scene))


def split_of_content(content: int) -> str:
    """The one split that may show what has this checksum."""
    bucket = seed_for(content, "split of a picture") % 8
    return next(name for name, buckets in SPLITS.items() if bucket in buckets)


def family_named(family: Family) -> tuple[str, FamilyFunction]:
    """The name that its tasks carry and the function that draws its scenes; ``UserError`` when it is not there."""
    if isinstance(family, str) and own_file(family) is None:
        return family, family_of_name(family)
    draw = own_family(family) if isinstance(family, str) else family
    name = family_name(draw)
    if DRAWN.get(name, draw) is not draw:
        raise UserError(f"a family that ships is called {name!r}; give your function another name")
    return name, draw


def vocabulary_texts(tasks_per_family: int = 48, *, families: Collection[Family] | None = None) -> Iterator[str]:
    """Questions, answers, thoughts and choices to train a tokenizer on, the same each time; None is ``FAMILIES``."""
    for family in FAMILIES if families is None else families:
        name, draw = family_named(family)
        for index in range(tasks_per_family):
            rng = generator_for(0, "vocabulary", name, index)
            scene = draw(rng, index / max(1, tasks_per_family - 1))
            yield scene.asked.question
            yield from scene.asked.choices
            for turn in scene.asked.turns:
                yield turn.thought
                if isinstance(turn.action, Answer):
                    yield turn.action.text


def _content(scene: Scene) -> int:
    if scene.split_key:
        return zlib.crc32(scene.split_key)
    checksum = 0 if scene.images else zlib.crc32(repr((scene.asked.question, scene.asked.choices)).encode())
    for image in scene.images:
        checksum = zlib.crc32(image.tobytes(), checksum)
    return checksum


def _check(split: str, index: int, difficulty: float) -> None:
    if split not in SPLITS:
        raise UserError(f"no split {split!r}; the splits are {', '.join(SPLITS)}")
    if index < 0:
        raise UserError(f"index={index} of a task is negative; count from 0")
    if not 0.0 <= difficulty <= 1.0:
        raise UserError(f"difficulty={difficulty} is out of range; use a value from 0 to 1")


def _task_id(family: str, split: str, index: int, seed: int, difficulty: float) -> str:
    """Seed and difficulty are said only when they are not the usual ones."""
    parts = [f"{family}/{split}/{index:06d}"]
    if seed != 0:
        parts.append(f"seed{seed}")
    if difficulty != 0.5:
        parts.append(f"difficulty{difficulty!r}")
    return "-".join(parts)


def _example(scene: Scene, family: str, task_id: str, difficulty: float, media: MediaStore) -> Example:
    asked = scene.asked
    task = Task(
        id=task_id,
        family=family,
        question=asked.question,
        answer=asked.answer,
        answer_kind=asked.answer_kind,
        images=tuple(media.add(image) for image in scene.images),
        choices=asked.choices,
        tolerance=asked.tolerance,
        targets=asked.targets,
        frame_times_s=scene.frame_times_s,
        event_s=scene.event_s,
        difficulty=difficulty,
        objects=scene.objects,
        accepted=asked.accepted,
        buckets=asked.buckets,
    )
    return Example(task=task, turns=asked.turns)
