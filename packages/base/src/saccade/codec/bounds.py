"""Bounds of fields in ``Annotated``, by which a codec checks values and says in words what they must be."""

import sys
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from saccade.errors import UserError

_CALLED = {int: "a whole number", float: "a number", str: "text"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Bounds of a number, or of the length of a text or a list: ``port: Annotated[int, Bounds(least=0, most=65_535)]``.

    NaN is within none.
    """

    least: float | None = None
    above: float | None = None
    """A number that the field must be greater than."""
    most: float | None = None
    pattern: str | None = None
    """A regular expression that is searched for in a text."""
    words: str = ""
    """What the values are called in messages; by default their kind and bounds."""

    def hold(self, value: Any) -> bool:
        """Whether a number, or the length of a text or a list, is within them."""
        size = value if isinstance(value, int | float) else len(value)
        is_low = (self.least is not None and not size >= self.least) or (
            self.above is not None and not size > self.above
        )
        return not is_low and (self.most is None or size <= self.most)

    def meta(self, kind: Any) -> Any:
        """The same for msgspec."""
        from msgspec import Meta

        ends: dict[str, Any] = {"ge": self.least, "gt": self.above, "le": self.most}
        if kind not in (int, float):
            lengths = (None if end is None else int(end) for end in (self.least, self.most))
            ends = {**dict(zip(("min_length", "max_length"), lengths)), "pattern": self.pattern}
        return Meta(description=self.requirement(kind), **ends)

    def requirement(self, kind: Any) -> str:
        """What values of this kind must be, in words."""
        if self.words:
            return self.words
        unit = "" if kind in (int, float) else " characters" if kind is str else " items"
        called = _CALLED.get(kind, "a list")
        if self.least is not None and self.most is not None:
            return f"{called} {'of' if unit else 'from'} {self.least} to {self.most}{unit}"
        ends = ((self.least, "{} or more"), (self.above, "above {}"), (self.most, "at most {}"))
        ranges = [words.format(end) for end, words in ends if end is not None]
        return f"{called}{'' if self.above is not None else ' of'} {' and '.join(ranges)}{unit}"


Positive = Annotated[int, Bounds(least=1)]
Count = Annotated[int, Bounds(least=0)]
Share = Annotated[float, Bounds(least=0, most=1)]
NotNegative = Annotated[float, Bounds(least=0, most=sys.float_info.max, words="a finite number of 0 or more")]


def check_bounds(settings: object) -> None:
    """UserError for a field that is out of its bounds; None is within all."""
    for name, annotation in get_type_hints(type(settings), include_extras=True).items():
        for one in (annotation, *get_args(annotation)):
            for bounds in one.__metadata__ if get_origin(one) is Annotated else ():
                value = getattr(settings, name)
                if value is not None and not bounds.hold(value):
                    raise UserError(f"{name}={value} must be {bounds.requirement(get_args(one)[0])}")
