"""Figures of an evaluation beyond its shares of right answers: each has a name, and any installed package may add some.

A package offers one as an entry point of the group ``saccade.figures`` that names a ``StageFigure``. Its line stands
in the terminal, in the report and on the run's page of the viewer, its values in ``report.json``.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Protocol, TypeVar

from saccade.characters import visible
from saccade.codec.codecs import Codec
from saccade.entry_points import OWN, load_offers
from saccade.types import Attempt, Json

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

GROUP = "saccade.figures"
MAX_LINE = 1000


class FigureValue(Protocol):
    """What is measured: a dataclass, which a codec writes and reads again."""

    title: ClassVar[str]
    """Word before its line, such as ``boxes``."""

    def describe(self) -> str:
        """One line of plain text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageFigure:
    """How a figure is measured; ``kind`` is the class of its values."""

    kind: type[FigureValue]
    of: Callable[[Sequence[Attempt]], FigureValue | None]
    """Of the trajectories that the machine did not fail; None where there is nothing to measure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredFigure:
    """A figure of an evaluation: its line, its values as ``report.json`` has them, and the object itself."""

    line: str
    values: Mapping[str, Json]
    value: FigureValue


def measure_figures(
    attempts: Sequence[Attempt], tell: Callable[[str], object] = logger.warning
) -> dict[str, MeasuredFigure]:
    """All figures by name; ``tell`` is given a sentence on each that its package cannot give."""

    def measure(_: str, figure: StageFigure) -> MeasuredFigure | None:
        value = figure.of(attempts)
        return (
            None
            if value is None
            else MeasuredFigure(line=_line(value), values=_codec_of(type(value)).to_json(value), value=value)
        )

    return _of_each(measure, tell)


def recorded_lines(values: Mapping[str, Json], tell: Callable[[str], object] = logger.warning) -> dict[str, str]:
    """The lines of an evaluation out of its values in ``report.json``, by the figure's name."""

    def read(name: str, figure: StageFigure) -> str | None:
        if name not in values:
            return None
        try:
            return _line(_codec_of(figure.kind).reader(figure.kind).from_json(values[name], name))
        # The file may be of another version, or anything at all.
        except Exception as error:
            tell(f"the figure {name!r} cannot be read: {type(error).__name__}: {error}")
            return None

    return _of_each(read, tell)


@cache
def _codec_of(_: type[FigureValue]) -> Codec:
    """A codec of its own for each class: in one codec no two classes may have the same name."""
    return Codec({})


def _of_each(do: Callable[[str, StageFigure], Result | None], tell: Callable[[str], object]) -> dict[str, Result]:
    figures, unusable = load_offers(GROUP, StageFigure)
    for sentence in unusable:
        tell(sentence)
    found = {}
    for name, offer in figures.items():
        try:
            result = do(name, offer.value)
        # A package of strangers may raise anything at all: the evaluation is complete without its figure.
        except Exception as error:
            if offer.package == OWN:
                raise
            tell(f"the figure {name!r} of the package {offer.package} failed: {type(error).__name__}: {error}")
            continue
        if result is not None:
            found[name] = result
    return found


def _line(value: FigureValue) -> str:
    return visible(f"{value.title}: {value.describe()}", MAX_LINE)
