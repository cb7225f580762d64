"""Programs on towns: directions followed and given, blocks counted, what is nearest by the streets."""

from itertools import permutations

from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of
from saccade.gym.programs.choosing import by_name, chosen, shuffled
from saccade.gym.state import Element, SceneState

Place = tuple[int, int]


def _place(one: Element) -> Place:
    return int(one.numbers["row"]), int(one.numbers["column"])


def _walker(state: SceneState) -> Element:
    return state.element("walker")


def _landmarks(state: SceneState) -> tuple[Element, ...]:
    return state.of_kind("landmark")


def blocks(one: Element, other: Element) -> int:
    """Blocks between two crossings by the streets."""
    return sum(abs(a - b) for a, b in zip(_place(one), _place(other)))


def _walk_text(down: int, across: int) -> str:
    """A way in words, as "2 blocks up and 1 block right"."""
    parts = []
    for count, (back, forth) in ((down, ("up", "down")), (across, ("left", "right"))):
        if count:
            parts.append(f"{abs(count)} block{'s' if abs(count) > 1 else ''} {forth if count > 0 else back}")
    return " and ".join(parts)


def _offset(state: SceneState, one: Element) -> tuple[int, int]:
    here, there = _place(_walker(state)), _place(one)
    return there[0] - here[0], there[1] - here[1]


def _solve_follow(state: SceneState, words: Words) -> str:
    (found,) = [one for one in _landmarks(state) if _walk_text(*_offset(state, one)) == words["way"]]
    return found.name


@program(
    "From the white spot in the black ring, go {way}. What stands there?",
    "You start at the black ring and go {way}. Which landmark do you reach?",
    solve=_solve_follow,
    axes=("steps",),
)
def _follow(asking: Asking) -> ProgramQuestion | None:
    one = chosen(asking.rng, _landmarks(asking.state))
    down, across = _offset(asking.state, one)
    if abs(down) + abs(across) > asking.levels.whole("steps", 2, 4, 8):
        return None
    wrong = shuffled(asking.rng, [e.name for e in _landmarks(asking.state) if e is not one])[:3]
    near = [e.name for e in _landmarks(asking.state) if _offset(asking.state, e) in ((-down, across), (down, -across))]
    options = [one.name, *dict.fromkeys([*near, *wrong])][:4]
    words = {"way": _walk_text(down, across)}
    return choice_of(one.name, options, words, [_walker(asking.state), one], one.name)


def _solve_way(state: SceneState, words: Words) -> str:
    return _walk_text(*_offset(state, by_name(_landmarks(state), words["it"])))


@program(
    "How do you get from the black ring to the {it}?",
    "Which way leads from the black ring to the {it}?",
    solve=_solve_way,
    axes=("steps",),
)
def _give_directions(asking: Asking) -> ProgramQuestion | None:
    one = chosen(asking.rng, _landmarks(asking.state))
    down, across = _offset(asking.state, one)
    if abs(down) + abs(across) > asking.levels.whole("steps", 3, 5, 10):
        return None
    # Each of the options has the same others: which of them is right cannot be told from what they have in common.
    turned = [(-down, across), (down, -across)] if down and across else [(across, down), (-across, -down)]
    ways = [(down, across), (-down, -across), *turned]
    return choice_of(
        _walk_text(down, across), [_walk_text(*way) for way in ways], {"it": one.name}, [_walker(asking.state), one]
    )


def _solve_blocks(state: SceneState, words: Words) -> str:
    return str(blocks(*(by_name(_landmarks(state), words[slot]) for slot in ("first", "second"))))


@program(
    "How many blocks is the shortest way by the streets from the {first} to the {second}?",
    "Walking along the streets, how many blocks at least is it from the {first} to the {second}?",
    solve=_solve_blocks,
)
def _blocks_between(asking: Asking) -> ProgramQuestion | None:
    pairs = [(blocks(*pair), pair) for pair in permutations(_landmarks(asking.state), 2)]
    size = int(_walker(asking.state).numbers["size"])
    found = asking.with_wanted(range(1, 2 * size - 1), pairs)
    if found is None:
        return None
    (one, other), gap = found, blocks(*found)
    wrong = [max(abs(a - b) for a, b in zip(_place(one), _place(other)))]
    return count_of(gap, {"first": one.name, "second": other.name}, [one, other], wrong=wrong)


def _solve_nearest(state: SceneState, words: Words) -> str:
    return min(_landmarks(state), key=lambda one: blocks(_walker(state), one)).name


@program(
    "Which landmark is the fewest blocks away from the black ring, by the streets?",
    "By the streets, what is the landmark nearest to the black ring?",
    solve=_solve_nearest,
)
def _nearest_landmark(asking: Asking) -> ProgramQuestion | None:
    here = _walker(asking.state)
    ranked = sorted(_landmarks(asking.state), key=lambda one: blocks(here, one))
    if blocks(here, ranked[0]) == blocks(here, ranked[1]):
        return None
    options = [one.name for one in ranked[:4]]
    return choice_of(ranked[0].name, options, {}, [here, ranked[0]], ranked[0].name)


def _solve_street(state: SceneState, words: Words) -> str:
    axis = words["axis"]
    return str(sum(one.numbers[axis] == _walker(state).numbers[axis] for one in _landmarks(state)))


@program(
    "How many landmarks stand on {street} through the black ring?",
    "Count the landmarks on {street} past the black ring.",
    solve=_solve_street,
    experts=("points", "boxes"),
)
def _on_street(asking: Asking) -> ProgramQuestion | None:
    here, is_row = _walker(asking.state), bool(asking.rng.integers(2))
    axis = "row" if is_row else "column"
    meant = [one for one in _landmarks(asking.state) if one.numbers[axis] == here.numbers[axis]]
    if len(meant) != asking.wanted((0, 1, 2)):
        return None
    street = "the street that runs from left to right" if is_row else "the street that runs from top to bottom"
    return count_of(len(meant), {"street": street, "axis": axis}, [here, *meant])


def _solve_within(state: SceneState, words: Words) -> str:
    return str(sum(blocks(_walker(state), one) <= int(words["reach"]) for one in _landmarks(state)))


@program(
    "How many landmarks are at most {reach} blocks from the black ring, by the streets?",
    "Count the landmarks that you can reach from the black ring in {reach} blocks or fewer.",
    solve=_solve_within,
    experts=("points", "boxes"),
)
def _within_reach(asking: Asking) -> ProgramQuestion:
    here, reach = _walker(asking.state), int(asking.rng.integers(2, 4))
    meant = [one for one in _landmarks(asking.state) if blocks(here, one) <= reach]
    return count_of(len(meant), {"reach": str(reach)}, [here, *meant], wrong=[len(_landmarks(asking.state))])


TOWN_PROGRAMS = (
    _follow,
    _give_directions,
    _blocks_between,
    _nearest_landmark,
    _on_street,
    _within_reach,
)
