"""The phrases of questions: selections of cells, numbers, nouns, superlatives, relations, lists."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from saccade.readers.charts.asking.matching import Bound, Phrase, Tokens, is_one
from saccade.readers.charts.asking.meaning import (
    Aggregate,
    Constant,
    Extreme,
    NamedParts,
    Number,
    Relation,
    Scaled,
    Sum,
    Value,
    together,
)
from saccade.readers.charts.asking.words import QuestionToken

NOUNS = ("CATEGORY", "SERIES", "MARK", "LINE", "YEAR", "MONTH", "DAY", "THING", "COLOUR")
_ALL_NOUNS = "VALUE|MEASURE|CATEGORY|SERIES|MARK|LINE|YEAR|MONTH|DAY|THING"
_HEADS = "VALUE|MEASURE|MARK|LINE|IT"
_AGGREGATES = {"SUM": "sum", "MEAN": "mean", "MEDIAN": "median", "RANGE": "range"}
_RELATIONS: tuple[tuple[tuple[str, ...], Relation], ...] = (
    (("MORE", "THAN"), "above"),
    (("LESS", "THAN"), "below"),
    (("MORE", "VALUE|MEASURE", "THAN"), "above"),
    (("LESS", "VALUE|MEASURE", "THAN"), "below"),
    (("ABOVE",), "above"),
    (("BELOW",), "below"),
    (("ATLEAST",), "at least"),
    (("ATMOST",), "at most"),
    (("EQUAL",), "equal"),
    (("EQUAL", "TO"), "equal"),
)


def _selection(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    """Categories, series, or both, with or without small words before each: "of tea and milk in 2020"."""
    for selection, end in selections(tokens, place):
        yield Bound(selection=selection), end


def selections(tokens: Tokens, place: int, *, needs_names: bool = False) -> Iterator[tuple[NamedParts, int]]:
    starts = [place]
    if _at(tokens, place, "OF|ACROSS"):
        starts.append(place + 1)
    for start in starts:
        for first, end in _group(tokens, start):
            yield first, end
            for skip in (0, 1):
                if skip and not _at(tokens, end, "OF|S"):
                    continue
                for second, last in _group(tokens, end + skip):
                    if (both := _both(first, second)) is not None:
                        yield both, last
            if _at(tokens, end, "OF|ACROSS") and _at(tokens, end + 1, "ALL") and _at(tokens, end + 2, _ALL_NOUNS):
                yield first, end + 3
        # "all years", "the values of red", "each category in 2020"
        after = start + 1 if _at(tokens, start, "ALL") else start
        if start > place or after > start:
            if _at(tokens, after, _ALL_NOUNS):
                if not needs_names:
                    yield NamedParts(), after + 1
                yield from selections(tokens, after + 1, needs_names=needs_names)
            elif after > start and not needs_names:
                yield NamedParts(), after


def _group(tokens: Tokens, place: int) -> Iterator[tuple[NamedParts, int]]:
    """Names of one kind: "tea", "tea, milk and rice", "both 2020 and 2021"; a noun may follow, as in "the tea bar"."""
    if _at(tokens, place, "BOTH"):
        place += 1
    # "the year 2020", "country Peru"
    if _at(tokens, place, "YEAR|MONTH|DAY|THING|CATEGORY|SERIES|MARK|LINE") and _is_name(tokens, place + 1):
        place += 1
    names: list[QuestionToken] = []
    while _is_name(tokens, place):
        token = tokens[place]
        if names and (token.series is None) != (names[0].series is None):
            return
        names.append(token)
        place += 1
        selection = (
            NamedParts(categories=tuple(_texts(names)))
            if token.series is None
            else NamedParts(series=tuple(one.series for one in names if one.series is not None))
        )
        yield selection, place
        if _at(tokens, place, "MARK|LINE|SERIES|VALUE|MEASURE"):
            yield selection, place + 1
        if _at(tokens, place, "S") and _at(tokens, place + 1, "VALUE|MEASURE|MARK|LINE"):
            yield selection, place + 2
        if _at(tokens, place, "COMMA"):
            place += 1
        if _at(tokens, place, "AND"):
            place += 1


def _numbers(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    for number, end in numbers(tokens, place):
        yield Bound(numbers=(number,)), end


def numbers(tokens: Tokens, place: int) -> Iterator[tuple[Number, int]]:
    """A cell, an aggregate, an extreme value, or twice or half of one."""
    for factor, symbol in ((2.0, "TWICE"), (0.5, "HALF")):
        if _at(tokens, place, symbol):
            for inner, end in numbers(tokens, place + 1):
                yield Scaled(factor, inner), end
    if place < len(tokens) and tokens[place].number is not None and _at(tokens, place + 1, "TIMES"):
        for inner, end in numbers(tokens, place + 2):
            yield Scaled(tokens[place].number or 0.0, inner), end
    yield from _cells(tokens, place)
    if _at(tokens, place, "TOGETHER"):
        for selection, end in selections(tokens, _after_heads(tokens, place + 1), needs_names=True):
            yield Aggregate("sum", selection), end
    for name, start in _aggregate_names(tokens, place):
        for selection, end in _optional(tokens, _after_heads(tokens, start)):
            yield Aggregate(name, selection), end
    # "tea's total", "the tea total"
    for selection, end in _group(tokens, place):
        for name, start in _aggregate_names(tokens, end + _at(tokens, end, "S")):
            for more, last in _optional(tokens, _after_heads(tokens, start)):
                if (both := _both(selection, more)) is not None:
                    yield Aggregate(name, both), last
    # "the sum of the highest and the lowest value"
    if _at(tokens, place, "SUM") and _at(tokens, place + 1, "OF"):
        for one, middle in numbers(tokens, place + 2):
            if isinstance(one, Extreme) and _at(tokens, middle, "AND"):
                for other, end in numbers(tokens, middle + 1):
                    if isinstance(other, Extreme):
                        yield Sum(one, other), end
    for bound, start in _superlative(tokens, place):
        if _at(tokens, start, "AND|TO"):
            yield Extreme(bool(bound.is_highest), NamedParts(), bound.place), start
        if _at(tokens, start, "VALUE|MEASURE"):
            for selection, end in _optional(tokens, start + 1):
                yield Extreme(bool(bound.is_highest), selection, bound.place), end


def _cells(tokens: Tokens, place: int) -> Iterator[tuple[Number, int]]:
    start = _after_heads(tokens, place)
    for selection, end in selections(tokens, start, needs_names=True):
        if start == place and _at(tokens, place, "OF|ACROSS"):
            continue
        if _at(tokens, end, "TOGETHER"):
            yield Aggregate("sum", selection), end + 1
        if _at(tokens, end, "PLUS"):
            for other, last in _cells(tokens, end + 1):
                yield Sum(*together(Value(selection), other)), last
        yield Value(selection), end


def _aggregate_names(tokens: Tokens, place: int) -> Iterator[tuple[str, int]]:
    for symbol, name in _AGGREGATES.items():
        if _at(tokens, place, symbol):
            yield name, place + 1


def _optional(tokens: Tokens, place: int) -> Iterator[tuple[NamedParts, int]]:
    yield NamedParts(), place
    yield from selections(tokens, place)


def _nouns(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    for noun in NOUNS:
        if _at(tokens, place, noun):
            yield Bound(noun=noun), place + 1


def _superlative(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    rank = tokens[place].ordinal if place < len(tokens) else None
    start = place if rank is None else place + 1
    for symbol in ("MAX", "MIN"):
        if _at(tokens, start, symbol):
            yield Bound(is_highest=symbol == "MAX", place=rank or 0), start + 1


def _relations(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    for symbols, relation in _RELATIONS:
        if all(_at(tokens, place + offset, symbol) for offset, symbol in enumerate(symbols)):
            yield Bound(relation=relation), place + len(symbols)


def _limits(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    """A number that the question says, or one that is worked out."""
    if place < len(tokens) and (said := tokens[place].number) is not None and not _at(tokens, place + 1, "TIMES"):
        yield Bound(numbers=(Constant(said),)), place + 1
    yield from _numbers(tokens, place)


def _measures(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    """The measure that is compared: a value, a total, an average."""
    for name, start in _aggregate_names(tokens, place):
        yield Bound(measure=name), start + _at(tokens, start, "VALUE|MEASURE")
    if _at(tokens, place, "VALUE|MEASURE"):
        yield Bound(), place + 1
        if _at(tokens, place + 1, "TOGETHER|ONAVERAGE"):
            yield Bound(measure="sum" if _at(tokens, place + 1, "TOGETHER") else "mean"), place + 2
    if _at(tokens, place, "TOGETHER|ONAVERAGE"):
        yield Bound(measure="sum" if _at(tokens, place, "TOGETHER") else "mean"), place + 1


def _choices(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    """Numbers of which one is asked for, each with its words as its name: "tea or rice", "of tea, milk and rice"."""
    if _at(tokens, place, "BETWEEN|OF"):
        place += 1
    for first, end in numbers(tokens, place):
        yield from _more_choices(tokens, end, ((_label_of(tokens, place, end, first), first),))


def _more_choices(tokens: Tokens, place: int, chosen: tuple[tuple[str, Number], ...]) -> Iterator[tuple[Bound, int]]:
    is_last = _at(tokens, place, "OR|AND")
    start = place + 1
    if _at(tokens, place, "COMMA"):
        is_last = _at(tokens, place + 1, "OR|AND")
        start = place + 1 + is_last
    elif not is_last:
        return
    for number, end in numbers(tokens, start):
        more = (*chosen, (_label_of(tokens, start, end, number), number))
        if is_last:
            yield Bound(listed=more), end
        else:
            yield from _more_choices(tokens, end, more)


def _label_of(tokens: Tokens, start: int, end: int, number: Number) -> str:
    """The name of a cell without the words around it; the whole phrase of anything else."""
    names = [token.said for token in tokens[start:end] if token.category is not None or token.series is not None]
    return names[0] if isinstance(number, Value) and names else " ".join(token.said for token in tokens[start:end])


def _things(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    if _is_name(tokens, place):
        yield Bound(things=(tokens[place],)), place + 1
        if _at(tokens, place + 1, "MARK|LINE|SERIES"):
            yield Bound(things=(tokens[place],)), place + 2


def _counts(tokens: Tokens, place: int) -> Iterator[tuple[Bound, int]]:
    said = tokens[place].number if place < len(tokens) else None
    if said is not None and said.is_integer() and 1 <= said <= 100:
        yield Bound(count=int(said)), place + 1


def _after_heads(tokens: Tokens, place: int) -> int:
    while _at(tokens, place, _HEADS) and not _is_name(tokens, place):
        place += 1
    return place


def _both(one: NamedParts, other: NamedParts) -> NamedParts | None:
    """One selection of categories and one of series; None when both name the same kind."""
    if other == NamedParts():
        return one
    if one.categories is None and other.series is None and one.series is not None:
        return NamedParts(categories=other.categories, series=one.series)
    if one.series is None and other.categories is None and one.categories is not None:
        return NamedParts(categories=one.categories, series=other.series)
    return None


def _texts(names: list[QuestionToken]) -> list[str]:
    return [token.category for token in names if token.category is not None]


def _is_name(tokens: Tokens, place: int) -> bool:
    return place < len(tokens) and (tokens[place].category is not None or tokens[place].series is not None)


def _at(tokens: Tokens, place: int, symbols: str) -> bool:
    return place < len(tokens) and is_one(tokens[place], symbols)


PHRASES: Mapping[str, Phrase] = MappingProxyType(
    {
        "selection": _selection,
        "number": _numbers,
        "noun": _nouns,
        "superlative": _superlative,
        "relation": _relations,
        "limit": _limits,
        "measure": _measures,
        "choices": _choices,
        "thing": _things,
        "n": _counts,
    }
)
