"""Matching of a question's tokens with the pattern of a form: all ways in which every token has its place.

A pattern is a row of parts: symbols of the vocabulary (``A|B`` for one of several) and, in small letters, phrases.
A question mark makes a part optional.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from saccade.readers.charts.asking.meaning import NamedParts, Number, Relation
from saccade.readers.charts.asking.words import QuestionToken

Tokens = tuple[QuestionToken, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """Bindings of the phrases of a pattern, each kind in the order of the question."""

    numbers: tuple[Number, ...] = ()
    selection: NamedParts | None = None
    noun: str | None = None
    is_highest: bool | None = None
    place: int = 0
    relation: Relation | None = None
    measure: str | None = None
    listed: tuple[tuple[str, Number], ...] = ()
    things: tuple[QuestionToken, ...] = ()
    count: int | None = None

    def joined(self, other: "Bound") -> "Bound | None":
        """Both together; None where both say the same kind of thing that can be said once only."""
        changes: dict[str, object] = {}
        for name in ("selection", "noun", "is_highest", "relation", "measure", "count"):
            if (new := getattr(other, name)) is not None:
                if getattr(self, name) is not None:
                    return None
                changes[name] = new
        return replace(
            self,
            **changes,  # type: ignore[arg-type]
            place=self.place or other.place,
            numbers=self.numbers + other.numbers,
            listed=self.listed + other.listed,
            things=self.things + other.things,
        )


Phrase = Callable[[Tokens, int], Iterator[tuple[Bound, int]]]


def matches(pattern: str, tokens: Tokens, phrases: Mapping[str, Phrase]) -> Iterator[Bound]:
    """The bindings of each way to read the whole question as the pattern."""
    for bound, end in _rest(pattern.split(), tokens, 0, Bound(), phrases):
        if end == len(tokens):
            yield bound


def is_one(token: QuestionToken, symbols: str) -> bool:
    """Whether a token stands for one of some symbols."""
    return not token.symbols.isdisjoint(symbols.split("|"))


def _rest(
    parts: list[str], tokens: Tokens, place: int, bound: Bound, phrases: Mapping[str, Phrase]
) -> Iterator[tuple[Bound, int]]:
    if not parts:
        yield bound, place
        return
    part = parts[0]
    if part.endswith("?"):
        yield from _rest(parts[1:], tokens, place, bound, phrases)
    part = part.rstrip("?")
    if part in phrases:
        for more, end in phrases[part](tokens, place):
            if (both := bound.joined(more)) is not None:
                yield from _rest(parts[1:], tokens, end, both, phrases)
    elif place < len(tokens) and is_one(tokens[place], part):
        yield from _rest(parts[1:], tokens, place + 1, bound, phrases)
