"""Sections of a run's report and page that tell of one method: any installed package may add some.

A package offers one as an entry point of the group ``saccade.sections`` that names a ``Section``. Nothing of it is
imported before a report is written or a run's page is shown.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from saccade.characters import visible
from saccade.entry_points import OWN, load_offers
from saccade.errors import UserError
from saccade.types import Attempt, ImageRef, Json, Turn

if TYPE_CHECKING:
    from saccade.viewer.evidence import Evidence
    from saccade.viewer.pictures import Album

logger = logging.getLogger(__name__)

GROUP = "saccade.sections"
MAX_LINE = 1000

Tell = Callable[[str], object]
"""Is given a sentence on what could not be read or shown."""
Read = TypeVar("Read")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True, slots=True)
class Section(Generic[Read]):
    """How a section is read of a run and shown."""

    read: Callable[["Evidence", Tell], Read | None]
    """What there is to show; None for nothing. UserError for a file that cannot be read."""
    rows: Callable[[Read], Mapping[str, Json]]
    """Keys and values of ``report.json``."""
    html: Callable[[Read], str] | None = None
    """Safe markup of ``report.html``, a ``<section>``; the page runs no script of it."""
    lines: Callable[[Read], Mapping[str, str]] | None = None
    """By evaluation, a line of text beside its accuracy."""
    closing: Callable[[Read], str] | None = None
    """A line of text with which the run's command ends; empty for none."""
    drawn: Callable[[Mapping[str, Json]], Json] | None = None
    """The section on a run's page of the viewer, as ``viewer/drawn.py`` draws it, out of ``report.json``."""
    turn: "Callable[[Turn, Attempt, Sequence[ImageRef], Album], str] | None" = None
    """Safe markup below a turn of a trajectory, whose images before it are given; empty for nothing to show."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadSection:
    """A section of one run."""

    rows: Mapping[str, Json]
    html: str | None
    lines: Mapping[str, str]
    closing: str


def read_sections(evidence: "Evidence", tell: Tell) -> tuple[ReadSection, ...]:
    """The sections that have something to show, those of Saccade first."""
    return tuple(_of_each(lambda section: _read(section, evidence, tell), tell))


def drawn_sections(report: Mapping[str, Json], tell: Tell) -> list[Json]:
    """The drawings of a run's page, out of its ``report.json``."""
    return list(_of_each(lambda section: section.drawn and section.drawn(report), tell))


def turn_parts(turn: Turn, attempt: Attempt, images: Sequence[ImageRef], album: "Album") -> tuple[str, ...]:
    """What sections show below a turn."""
    shown = _of_each(lambda section: section.turn and section.turn(turn, attempt, images, album), logger.warning)
    return tuple(filter(None, shown))


def _read(section: Section[Read], evidence: "Evidence", tell: Tell) -> ReadSection | None:
    value = section.read(evidence, tell)
    if value is None:
        return None
    return ReadSection(
        rows=section.rows(value),
        html=section.html and section.html(value),
        lines=section.lines(value) if section.lines else {},
        closing=visible(section.closing(value), MAX_LINE) if section.closing else "",
    )


def _of_each(do: Callable[[Section[object]], Result | None], tell: Tell) -> Iterable[Result]:
    sections, unusable = load_offers(GROUP, Section)
    for sentence in unusable:
        tell(sentence)
    for name, offer in sections.items():
        try:
            result = do(offer.value)
        except UserError as error:
            tell(str(error))
        # A package of strangers may raise anything at all: the report is complete without its section.
        except Exception as error:
            if offer.package == OWN:
                raise
            tell(f"the section {name!r} of the package {offer.package} failed: {type(error).__name__}: {error}")
        else:
            if result is not None:
                yield result
