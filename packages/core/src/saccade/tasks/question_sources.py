"""Questions drawn from several families without an end, even or by a curriculum."""

from collections.abc import Sequence

from saccade.media.store import MediaStore
from saccade.tasks.adaptive import ByLearnability, CurriculumSettings, HeldDifficulty
from saccade.tasks.curriculum import InOrder, Mixture, Share, TaskSampler
from saccade.tasks.procedural import Family, family_named, generate
from saccade.types import Task


def drawn_questions(
    families: Sequence[Family],
    settings: CurriculumSettings,
    *,
    seed: int,
    media: MediaStore,
    difficulty: float = 0.5,
    first: int = 0,
    streams: tuple[str, ...] = ("main",),
) -> TaskSampler:
    """A source of drawn training questions, from number ``first`` of each family on, starting at ``difficulty``."""
    parts = {
        family_named(family)[0]: _family(family, settings, seed, media, difficulty, first, streams)
        for family in families
    }
    if settings.by_learnability:
        return ByLearnability(parts, floor=settings.floor, memory=settings.memory)
    return Mixture({name: Share(questions=part, share=1.0) for name, part in parts.items()})


def _family(
    family: Family,
    settings: CurriculumSettings,
    seed: int,
    media: MediaStore,
    difficulty: float,
    first: int,
    streams: tuple[str, ...],
) -> TaskSampler:
    def draw(index: int, axis: str, level: float) -> Task:
        on_axis = _at_level(family, axis, level)
        base = difficulty if axis else level
        return generate(on_axis, split="train", index=first + index, seed=seed, media=media, difficulty=base).task

    if not settings.holds_difficulty:
        return InOrder(lambda index: draw(index, "", difficulty), streams=streams)
    return HeldDifficulty(
        draw,
        axes=named_axes(family),
        start=difficulty,
        target=settings.target,
        gain=settings.gain,
        streams=streams,
    )


def named_axes(family: Family) -> tuple[str, ...]:
    """The axes of a family of the gym that its name leaves open; of any other the one difficulty, ``""``."""
    name, draw = family_named(family)
    axes = getattr(getattr(draw, "family", draw), "axes", ()) if isinstance(family, str) else ()
    return tuple(axis for axis in axes if f"{axis}=" not in name) or ("",)


def _at_level(family: Family, axis: str, level: float) -> Family:
    if not axis:
        return family
    assert isinstance(family, str)  # named_axes gives axes of names alone
    return f"{family}{'&' if '?' in family else '?'}{axis}={level:g}"
