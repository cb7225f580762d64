"""Programs on readings: elements with a value, told apart by their names. Any kind that has ``numbers["value"]``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, whether, yes_or_no
from saccade.gym.programs.choosing import by_name, chosen, shuffled
from saccade.gym.state import Element, SceneState


@dataclass(frozen=True, kw_only=True, slots=True)
class Readings:
    """The elements that are read, and how their values are spoken of."""

    kind: str
    many: str
    """Several of them: "dials"."""
    value: str = "value"
    """What is read: "value", "temperature", "length"."""
    shows: str = "shows"
    """ "The red dial SHOWS 30"."""
    most: str = "highest"
    least: str = "lowest"
    evidence: tuple[str, ...] = ()
    """Ids of elements that every reading needs as well, as an axis."""

    def of(self, state: SceneState) -> tuple[Element, ...]:
        return state.of_kind(self.kind)

    def several(self, asking: Asking) -> list[Element]:
        """All of them in random order."""
        return shuffled(asking.rng, self.of(asking.state))


def value_of(one: Element) -> int:
    """The value, which is whole."""
    return round(one.numbers["value"])


def _readings_text(elements: Sequence[Element]) -> str:
    return " ".join(f"{one.name} {value_of(one)}" for one in elements)


def reading_programs(readings: Readings) -> tuple[Program, ...]:
    """All programs of this module for such readings."""
    return (
        _read(readings),
        _extreme(readings, is_most=True),
        _extreme(readings, is_most=False),
        _of_pair(readings, "difference", "By how much do the {value}s of the {first} and the {second} differ?"),
        _of_pair(readings, "sum", "What do the {value}s of the {first} and the {second} add up to?"),
        _higher_of_two(readings),
        _is_above(readings),
        _count_above(readings),
        _which_reads(readings),
        _spread(readings),
    )


def _read(readings: Readings) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return str(value_of(by_name(readings.of(state), words["it"])))

    @program("What is the {value} of the {it}?", "Read the {it}: which {value} is it?", solve=solve)
    def read(asking: Asking) -> ProgramQuestion:
        one = chosen(asking.rng, readings.of(asking.state))
        minor = round(one.numbers.get("minor", 1))
        value = value_of(one)
        wrong = tuple(str(value + step) for step in (-minor, minor, round(one.numbers.get("major", 5))))
        question = count_of(value, {"it": one.name, "value": readings.value}, [one], str(value))
        return replace(question, near=tuple(dict.fromkeys(text for text in wrong if text != question.answer)))

    return read


def _extreme(readings: Readings, *, is_most: bool) -> Program:
    def pick(elements: Sequence[Element]) -> Element:
        return (max if is_most else min)(elements, key=value_of)

    @program(
        "Which of the {many} has the {extreme} {value}?",
        "Compare the {many}. Whose {value} is the {extreme}?",
        name="highest" if is_most else "lowest",
        solve=lambda state, words: pick(readings.of(state)).name,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        elements = readings.several(asking)
        one = pick(elements)
        if sum(value_of(other) == value_of(one) for other in elements) > 1:
            return None
        words = {
            "many": readings.many,
            "value": readings.value,
            "extreme": readings.most if is_most else readings.least,
        }
        return choice_of(one.name, [e.name for e in elements], words, elements, _readings_text(elements))

    return ask


def _of_pair(readings: Readings, name: str, wording: str) -> Program:
    def value(pair: Sequence[Element]) -> int:
        one, other = (value_of(element) for element in pair)
        return one + other if name == "sum" else abs(one - other)

    def solve(state: SceneState, words: Words) -> str:
        return str(value([by_name(readings.of(state), words[slot]) for slot in ("first", "second")]))

    @program(
        wording,
        f"Read the {{first}} and the {{second}}. What is the {name} of their {{value}}s?",
        name=name,
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion:
        pair = readings.several(asking)[:2]
        words = {"first": pair[0].name, "second": pair[1].name, "value": readings.value}
        return count_of(value(pair), words, pair, _readings_text(pair), wrong=[abs(value_of(one)) for one in pair])

    return ask


def _higher_of_two(readings: Readings) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return max((by_name(readings.of(state), words[slot]) for slot in ("first", "second")), key=value_of).name

    @program(
        "Which has the larger {value}: the {first} or the {second}?",
        "Of the {first} and the {second}, whose {value} is the larger one?",
        solve=solve,
    )
    def higher_of_two(asking: Asking) -> ProgramQuestion | None:
        pair = readings.several(asking)[:2]
        if value_of(pair[0]) == value_of(pair[1]):
            return None
        words = {"first": pair[0].name, "second": pair[1].name, "value": readings.value, "most": readings.most}
        return choice_of(max(pair, key=value_of).name, [one.name for one in pair], words, pair, _readings_text(pair))

    return higher_of_two


def _free_numbers(elements: Sequence[Element]) -> list[int]:
    """The numbers of the scale, its ends aside, that are no element's value; its upper end where there are none."""
    low, high, minor = (round(elements[0].numbers[name]) for name in ("low", "high", "minor"))
    taken = {value_of(element) for element in elements}
    return [number for number in range(low + minor, high, minor) if number not in taken] or [high]


def _is_above(readings: Readings) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return whether(value_of(by_name(readings.of(state), words["it"])) > int(words["bound"]))

    @program(
        "Is the {value} of the {it} above {bound}?", "Does the {it} have a {value} of more than {bound}?", solve=solve
    )
    def is_above(asking: Asking) -> ProgramQuestion | None:
        one = readings.several(asking)[0]
        low, high, minor = (round(one.numbers[name]) for name in ("low", "high", "minor"))
        # A bound a few marks away: one from anywhere would say by itself that most values are below or above it.
        gap = minor * int(asking.rng.integers(1, 4))
        bound = value_of(one) - gap if asking.is_wanted else value_of(one) + gap
        if not low < bound < high:
            return None
        words = {"it": one.name, "bound": str(bound), "value": readings.value}
        return yes_or_no(value_of(one) > bound, words, [one], _readings_text([one]))

    return is_above


def _count_above(readings: Readings) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return str(sum(value_of(one) > int(words["bound"]) for one in readings.of(state)))

    @program(
        "How many of the {many} have a {value} above {bound}?",
        "Count the {many} whose {value} is more than {bound}.",
        solve=solve,
    )
    def count_above(asking: Asking) -> ProgramQuestion | None:
        elements = readings.several(asking)
        wanted = asking.wanted(range(len(elements) + 1))
        bounds = [at for at in _free_numbers(elements) if sum(value_of(one) > at for one in elements) == wanted]
        if not bounds:
            return None
        bound = chosen(asking.rng, bounds)
        above = [one for one in elements if value_of(one) > bound]
        words = {"many": readings.many, "bound": str(bound), "value": readings.value}
        return count_of(len(above), words, elements, _readings_text(elements), wrong=[len(elements) - len(above)])

    return count_above


def _which_reads(readings: Readings) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        (found,) = [one for one in readings.of(state) if value_of(one) == int(words["number"])]
        return found.name

    def falsify(asking: Asking) -> ProgramQuestion:
        elements = readings.several(asking)
        words = {
            "many": readings.many,
            "number": str(chosen(asking.rng, _free_numbers(elements))),
            "value": readings.value,
        }
        return choice_of("", [e.name for e in elements], words, elements)

    @program(
        "Which of the {many} has the {value} {number}?",
        "One of the {many} has a {value} of {number}. Which?",
        solve=solve,
        falsify=falsify,
    )
    def which_reads(asking: Asking) -> ProgramQuestion | None:
        elements = readings.several(asking)
        one = elements[0]
        if sum(value_of(other) == value_of(one) for other in elements) > 1:
            return None
        words = {"many": readings.many, "number": str(value_of(one)), "value": readings.value}
        return choice_of(one.name, [e.name for e in elements], words, elements, _readings_text(elements))

    return which_reads


def _spread(readings: Readings) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        found = [value_of(one) for one in readings.of(state)]
        return str(max(found) - min(found))

    @program(
        "How far apart are the {most} and the {least} {value} of the {many}?",
        "What is the {most} {value} of the {many} less the {least}?",
        solve=solve,
        spread=8,
    )
    def spread(asking: Asking) -> ProgramQuestion | None:
        elements = readings.several(asking)
        if len(elements) < 2:
            return None
        ranked = sorted(elements, key=value_of)
        low, high = value_of(ranked[0]), value_of(ranked[-1])
        words = {"many": readings.many, "value": readings.value, "most": readings.most, "least": readings.least}
        return count_of(high - low, words, elements, f"{high} and {low}", wrong=[abs(high), abs(low)])

    return spread
