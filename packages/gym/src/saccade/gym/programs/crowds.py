"""Programs on large crowded scenes: each finds one small thing by what it bears, and reads it from near by."""

from collections import Counter
from collections.abc import Sequence

from saccade.gym.grammars.crowds import COLOURS, HELD
from saccade.gym.program import Asking, Program, ProgramQuestion, program, with_article
from saccade.gym.programs.answers import Words, choice_of, count_of, told_of
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState
from saccade.types import AnswerKind

OPTIONS = 4


def _number_of(one: Element) -> str:
    """What ties an element to the parts that bear its words."""
    return one.id.removeprefix(one.kind)


def _part(state: SceneState, one: Element, kind: str) -> Element:
    return state.element(f"{kind}{_number_of(one)}")


def _found(state: SceneState, kind: str, **attributes: str) -> Element:
    """The one element of a kind with these attributes."""
    (one,) = [e for e in state.of_kind(kind) if all(e.get(name) == value for name, value in attributes.items())]
    return one


def _unique(elements: Sequence[Element], *attributes: str) -> list[Element]:
    """Those whose values of these attributes no other has together."""
    keys = [tuple(one.get(name) for name in attributes) for one in elements]
    counts = Counter(keys)
    return [one for one, key in zip(elements, keys) if counts[key] == 1]


def _options(asking: Asking, answer: str, options: Sequence[str], *near: str) -> list[str]:
    """The answer among a few: what is near by first."""
    wrong = [*dict.fromkeys([*near, *shuffled(asking.rng, options)])]
    return [answer, *[one for one in wrong if one != answer][: OPTIONS - 1]]


@program(
    "What is the person in the {hat} hat and the {shirt} shirt holding?",
    "Somebody wears a {hat} hat with a {shirt} shirt. What do they hold?",
    "Find the person with a {hat} hat and a {shirt} shirt: what are they carrying?",
    solve=lambda state, words: with_article(
        _found(state, "person", hat=words["hat"], shirt=words["shirt"]).attributes["held"]
    ),
)
def _held(asking: Asking) -> ProgramQuestion | None:
    known = [one for one in _unique(asking.state.of_kind("person"), "hat", "shirt") if one.get("held") != "number"]
    if not known:
        return None
    one = chosen(asking.rng, known)
    options = [with_article(held) for held in HELD]
    answer = with_article(one.attributes["held"])
    words = {"hat": one.attributes["hat"], "shirt": one.attributes["shirt"]}
    return choice_of(answer, _options(asking, answer, options), words, [one], answer)


def _worn(piece: str) -> Program:
    """The colour of a piece of clothing of who holds up a number."""

    def solve(state: SceneState, words: Words) -> str:
        return _found(state, "person", number=words["number"]).attributes[piece]

    def ask(asking: Asking) -> ProgramQuestion:
        people = asking.state.of_kind("person")
        one = chosen(asking.rng, [person for person in people if person.get("number")])
        other = {"hat": "shirt", "shirt": "hat"}[piece]
        answer = one.attributes[piece]
        # Both colours that they wear are among the options.
        options = _options(asking, answer, COLOURS, one.attributes[other])
        return choice_of(answer, options, {"number": one.attributes["number"]}, [one], answer)

    return program(
        f"Somebody holds up the number {{number}}. What colour is their {piece}?",
        f"What colour of {piece} does the person with the number {{number}} wear?",
        f"Which colour has the {piece} of the person who shows the number {{number}}?",
        name=f"{piece}_of_number",
        solve=solve,
    )(ask)


@program(
    "What is on the number plate of the {it}?",
    "Read the number plate of the {it}.",
    "There is one {it} on the road. What does its number plate say?",
    solve=lambda state, words: next(
        one.attributes["plate"] for one in state.of_kind("vehicle") if one.name == words["it"]
    ),
)
def _plate(asking: Asking) -> ProgramQuestion | None:
    known = _unique(asking.state.of_kind("vehicle"), "colour", "vehicle")
    if not known:
        return None
    one = chosen(asking.rng, known)
    near = [other.attributes["plate"] for other in asking.state.of_kind("vehicle") if other is not one][:3]
    return told_of(one.attributes["plate"], [one, _part(asking.state, one, "plate")], words={"it": one.name}, near=near)


@program(
    "What colour is the vehicle with the number plate {plate}?",
    "Which colour has the car, van or bus whose plate reads {plate}?",
    solve=lambda state, words: _found(state, "vehicle", plate=words["plate"]).attributes["colour"],
)
def _colour_of_plate(asking: Asking) -> ProgramQuestion:
    one = chosen(asking.rng, asking.state.of_kind("vehicle"))
    answer = one.attributes["colour"]
    seen = [_part(asking.state, one, "plate"), one]
    return choice_of(answer, _options(asking, answer, COLOURS), {"plate": one.attributes["plate"]}, seen, answer)


def _at_stall(part: str, *wordings: str) -> Program:
    """What the board of a stall says."""

    def solve(state: SceneState, words: Words) -> str:
        return _found(state, "stall", stall=words["stall"]).attributes[part]

    def ask(asking: Asking) -> ProgramQuestion:
        one, other = shuffled(asking.rng, asking.state.of_kind("stall"))[:2]
        seen = [_part(asking.state, one, "sign"), _part(asking.state, one, "board")]
        near = [] if other.attributes[part] == one.attributes[part] else [other.attributes[part]]
        kind: AnswerKind = "integer" if part == "price" else "exact"
        return told_of(one.attributes[part], seen, kind=kind, words={"stall": one.attributes["stall"]}, near=near)

    return program(*wordings, name=f"{part}_at_stall", solve=solve)(ask)


@program(
    "Two stalls are called {first} and {second}. Which of them asks the higher price?",
    "Which stall is dearer, {first} or {second}?",
    solve=lambda state, words: max(
        (words["first"], words["second"]), key=lambda name: int(_found(state, "stall", stall=name).attributes["price"])
    ),
)
def _dearer_stall(asking: Asking) -> ProgramQuestion:
    pair = shuffled(asking.rng, asking.state.of_kind("stall"))[:2]
    names = [one.attributes["stall"] for one in pair]
    dearer = max(pair, key=lambda one: int(one.attributes["price"])).attributes["stall"]
    seen = [_part(asking.state, one, kind) for one in pair for kind in ("sign", "board")]
    return choice_of(dearer, names, {"first": names[0], "second": names[1]}, seen, dearer)


@program(
    "How many people are in the boat {boat}?",
    "How many people does the boat called {boat} carry?",
    "Count the people on board of the boat {boat}.",
    solve=lambda state, words: _found(state, "boat", boat=words["boat"]).attributes["aboard"],
)
def _aboard(asking: Asking) -> ProgramQuestion:
    one = chosen(asking.rng, asking.state.of_kind("boat"))
    words = {"boat": one.attributes["boat"]}
    return count_of(int(one.attributes["aboard"]), words, [_part(asking.state, one, "letters"), one])


CROWD_PROGRAMS = (
    _held,
    _worn("hat"),
    _worn("shirt"),
    _plate,
    _colour_of_plate,
    _at_stall(
        "price",
        "What price is on the board of the stall {stall}?",
        "How much does the stall called {stall} ask?",
        "Read the price at the stall {stall}.",
    ),
    _at_stall(
        "good",
        "What does the stall {stall} sell?",
        "Which goods can you buy at the stall called {stall}?",
    ),
    _dearer_stall,
    _aboard,
)
