"""Populations of marked plates, and programs on marks that are digits or arrows."""

from collections.abc import Callable

from saccade.gym.fine import ARROWS, DIGITS, LETTERS, TEXTURES
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of
from saccade.gym.programs.choosing import Phrases, Population, by_name, named_once, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES


def marked_plates(mark: str, marks: tuple[str, ...], a_mark: str) -> Population:
    """Plates told apart by a mark and a colour; ``a_mark`` is how one is spoken of, as "the letter {tint}"."""
    return Population(
        kind="plate",
        one="plate",
        many="plates",
        tint=mark,
        tints=marks,
        sort="colour",
        sorts=COLOUR_NAMES,
        phrases=Phrases(
            tint=f"plates with {a_mark}",
            sort="{sort} plates",
            both=f"{{sort}} plates with {a_mark}",
            either=f"plates with {a_mark} or {{other_tint}}",
            not_tint=f"plates without {a_mark}",
            sort_not_tint=f"{{sort}} plates without {a_mark}",
            tint_or_sort=f"plates that are {{sort}} or bear {a_mark} (or both)",
            one_tint=f"plate with {a_mark}",
            one_sort="{sort} plate",
            one_both=f"{{sort}} plate with {a_mark}",
            has_tint=f"marked with {a_mark}",
        ),
    )


TEXTURED = marked_plates("texture", TEXTURES, "the texture {tint}")
LETTERED = marked_plates("letter", LETTERS, "the letter {tint}")
NUMBERED = marked_plates("digit", DIGITS, "the digit {tint}")
ARROWED = marked_plates("arrow", ARROWS, "the arrow {tint}")

Pair = tuple[Element, Element]


def _digit(one: Element) -> int:
    return int(one.attributes["digit"])


def digit_programs() -> tuple[Program, ...]:
    """Sums, differences and comparisons of digits on named plates."""
    return (
        _of_pair("sum_of_digits", "the sum of the digits", lambda one, other: one + other),
        _of_pair("product_of_digits", "the product of the digits", lambda one, other: one * other, least=1),
        _of_pair("gap_of_digits", "the difference between the digits", lambda one, other: abs(one - other)),
        _larger_digit(),
        _total(),
        _extreme_digit(is_most=True),
        _extreme_digit(is_most=False),
    )


def _named_pair(asking: Asking, least: int = 0) -> Pair | None:
    """Two plates with names of their own and digits of at least so much."""
    named = [one for one in shuffled(asking.rng, named_once(NUMBERED.seen(asking))) if _digit(one) >= least]
    return (named[0], named[1]) if len(named) > 1 else None


def _of_pair(name: str, what: str, value: Callable[[int, int], int], least: int = 0) -> Program:
    def solve(state: SceneState, words: Words) -> str:
        one, other = (_digit(by_name(state.of_kind("plate"), words[slot])) for slot in ("first", "second"))
        return str(value(one, other))

    @program(
        "What is {what} on the {first} and the {second}?",
        "Work out {what} on the {first} and on the {second}.",
        name=name,
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        pair = _named_pair(asking, least)
        if pair is None:
            return None
        one, other = (_digit(element) for element in pair)
        words = {"first": pair[0].name, "second": pair[1].name, "what": what}
        return count_of(value(one, other), words, pair, f"{one} and {other}", wrong=(one + other, one * other))

    return ask


def _larger_digit() -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return max((by_name(state.of_kind("plate"), words[slot]) for slot in ("first", "second")), key=_digit).name

    @program(
        "Which shows the larger digit: the {first} or the {second}?",
        "Compare the digits on the {first} and the {second}. Whose is larger?",
        solve=solve,
    )
    def larger_digit(asking: Asking) -> ProgramQuestion | None:
        pair = _named_pair(asking)
        if pair is None or _digit(pair[0]) == _digit(pair[1]):
            return None
        larger = max(pair, key=_digit)
        words = {"first": pair[0].name, "second": pair[1].name}
        said = " ".join(one.attributes["digit"] for one in pair)
        return choice_of(larger.name, [one.name for one in pair], words, pair, said)

    return larger_digit


def _total() -> Program:
    def solve(state: SceneState, words: Words) -> str:
        return str(sum(_digit(one) for one in state.of_kind("plate") if one.get("colour") == words["colour"]))

    @program(
        "What do the digits on the {colour} plates add up to?", "Add up the digits on all {colour} plates.", solve=solve
    )
    def total_of_colour(asking: Asking) -> ProgramQuestion | None:
        elements = NUMBERED.seen(asking)
        for colour in shuffled(asking.rng, sorted({one.get("colour") for one in elements})):
            meant = [one for one in elements if one.get("colour") == colour]
            if 2 <= len(meant) <= 4:
                total = sum(map(_digit, meant))
                said = " ".join(one.attributes["digit"] for one in meant)
                return count_of(total, {"colour": colour}, meant, said, wrong=(total - _digit(meant[0]), len(meant)))
        return None

    return total_of_colour


def _extreme_digit(*, is_most: bool) -> Program:
    extreme = "largest" if is_most else "smallest"

    def solve(state: SceneState, words: Words) -> str:
        return (max if is_most else min)(state.of_kind("plate"), key=_digit).get("colour")

    @program(
        f"Which colour has the plate with the {extreme} digit?",
        f"Find the {extreme} digit. What colour is its plate?",
        name=f"{extreme}_digit",
        solve=solve,
    )
    def ask(asking: Asking) -> ProgramQuestion | None:
        ranked = sorted(NUMBERED.seen(asking), key=_digit, reverse=is_most)
        if len(ranked) < 3 or len(ranked) > 12 or _digit(ranked[0]) == _digit(ranked[1]):
            return None
        wrong = [one.get("colour") for one in ranked[1:3]]
        said = f"{ranked[0].get('digit')} {ranked[0].get('colour')}"
        return choice_of(ranked[0].get("colour"), COLOUR_NAMES, {}, NUMBERED.seen(asking), said, wrong=wrong)

    return ask
