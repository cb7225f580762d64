"""Programs on circuits: values, sorts, what is in series and in parallel, and where current flows."""

from collections.abc import Mapping, Sequence

from saccade.gym.grammars.circuits import LETTERS, MAIN, UNITS, CircuitState
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.answers import choice_of, count_of, told_of, yes_or_no
from saccade.gym.state import Element, SceneState, as_state

Words = Mapping[str, str]
MEASURED = {"resistor": "resistance", "capacitor": "capacitance", "inductor": "inductance"}
SPELT = {"resistor": "ohms", "capacitor": "microfarads", "inductor": "millihenries"}
MANY = {"resistor": "resistors", "capacitor": "capacitors", "inductor": "inductors", "lamp": "lamps"}
"""Of switches other programs ask."""


def _circuit(state: SceneState) -> CircuitState:
    return as_state(state, CircuitState)


def _parts(asking: Asking, *sorts: str) -> list[Element]:
    """The parts of some sorts, in random order."""
    found = [one for one in asking.state.of_kind("part") if one.attributes["part"] in sorts]
    return [found[int(at)] for at in asking.rng.permutation(len(found))]


def _number_text(value: float) -> str:
    return f"{value:g}"


def _no_such_part(asking: Asking) -> ProgramQuestion | None:
    """The value of a part whose number no part of its sort has."""
    sort = tuple(UNITS)[int(asking.rng.integers(len(UNITS)))]
    there = _circuit(asking.state).sort(sort)
    name = f"{LETTERS[sort]}{len(there) + 1}"
    shown = there or list(asking.state.of_kind("battery"))
    return told_of("", shown, kind="integer", words={"quantity": MEASURED[sort], "name": name, "unit": SPELT[sort]})


@program(
    "What is the {quantity} of {name} in {unit}?",
    "Read the {quantity} of {name}, in {unit}.",
    solve=lambda state, words: _number_text(_circuit(state).part(words["name"]).numbers["value"]),
    falsify=_no_such_part,
)
def _value(asking: Asking) -> ProgramQuestion | None:
    parts = _parts(asking, *UNITS)
    if not parts:
        return None
    sort = parts[0].attributes["part"]
    near = [
        _number_text(one.numbers["value"]) for one in parts[1:] if one.numbers["value"] != parts[0].numbers["value"]
    ]
    words = {"quantity": MEASURED[sort], "name": parts[0].name, "unit": SPELT[sort]}
    return told_of(_number_text(parts[0].numbers["value"]), parts[:1], kind="integer", words=words, near=near[:2])


def _solve_who_has(state: SceneState, words: Words) -> str:
    return next(
        one.name for one in _circuit(state).sort("resistor") if _number_text(one.numbers["value"]) == words["value"]
    )


@program(
    "Which resistor has {value} ohms?",
    "What is the name of the resistor of {value} ohms?",
    solve=_solve_who_has,
    spread=10,
)
def _who_has(asking: Asking) -> ProgramQuestion | None:
    resistors = _parts(asking, "resistor")
    if len(resistors) < 2:
        return None
    words = {"value": _number_text(resistors[0].numbers["value"])}
    return told_of(resistors[0].name, resistors[:1], words=words, near=[resistors[1].name])


@program("How many {parts} does the circuit have?", "Count the {parts} of the diagram.", spread=10)
def _count_sort(asking: Asking) -> ProgramQuestion | None:
    sort = asking.wanted(tuple(MANY))
    found = _circuit(asking.state).sort(sort)
    return count_of(len(found), {"parts": MANY[sort]}, found) if found else None


def _solve_largest(state: SceneState, words: Words) -> str:
    return max(_circuit(state).sort("resistor"), key=lambda one: one.numbers["value"]).name


@program(
    "Which resistor has the greatest resistance?",
    "Name the resistor with the most ohms.",
    solve=_solve_largest,
    spread=10,
)
def _largest(asking: Asking) -> ProgramQuestion | None:
    order = sorted(_parts(asking, "resistor"), key=lambda one: -one.numbers["value"])
    if len(order) < 2:
        return None
    return told_of(order[0].name, order[:2], near=[order[1].name, order[-1].name])


@program("Which resistor has the least resistance?", "Name the resistor with the fewest ohms.", spread=10)
def _smallest(asking: Asking) -> ProgramQuestion | None:
    order = sorted(_parts(asking, "resistor"), key=lambda one: one.numbers["value"])
    if len(order) < 2:
        return None
    return told_of(order[0].name, order[:2], near=[order[1].name, order[-1].name])


@program(
    "What is the resistance in ohms of all resistors together in the branch of {name}?",
    "Add up the resistors of the branch that holds {name}: how many ohms?",
    solve=lambda state, words: _number_text(
        sum(
            one.numbers["value"]
            for one in _circuit(state).sort("resistor")
            if one.numbers["branch"] == _circuit(state).part(words["name"]).numbers["branch"]
        )
    ),
)
def _branch_sum(asking: Asking) -> ProgramQuestion | None:
    """The resistance of a branch with two resistors or more."""
    state = _circuit(asking.state)
    for one in _parts(asking, "resistor"):
        row = [other for other in state.branch(one.numbers["branch"]) if other.attributes["part"] == "resistor"]
        if len(row) > 1:
            total = sum(other.numbers["value"] for other in row)
            near = [_number_text(one.numbers["value"]), _number_text(total + 10)]
            return told_of(_number_text(total), row, kind="integer", words={"name": one.name}, near=near)
    return None


@program("What is the voltage of the battery in volts?", "How many volts does the battery give?")
def _volts(asking: Asking) -> ProgramQuestion | None:
    (battery,) = asking.state.of_kind("battery")
    volts = battery.numbers["volts"]
    return told_of(
        _number_text(volts), [battery], kind="integer", near=[_number_text(volts + 1), _number_text(2 * volts)]
    )


@program(
    "How many branches are connected in parallel to the battery?",
    "Into how many parallel branches does the current split?",
    solve=lambda state, words: str(len({one.numbers["branch"] for one in state.of_kind("part")} - {MAIN})),
    spread=4,
)
def _branches(asking: Asking) -> ProgramQuestion | None:
    state = _circuit(asking.state)
    firsts = [state.branch(number)[0] for number in range(state.branches)]
    return count_of(state.branches, {}, firsts, wrong=[len(state.of_kind("part"))])


@program(
    "How many switches are open?",
    "Count the switches that are open.",
    solve=lambda state, words: str(sum(one.get("is") == "open" for one in state.of_kind("part"))),
    spread=10,
)
def _open_switches(asking: Asking) -> ProgramQuestion | None:
    switches = _circuit(asking.state).sort("switch")
    found = [one for one in switches if one.attributes["is"] == "open"]
    if not switches:
        return None
    return count_of(len(found), {}, found or switches, wrong=[len(switches)])


@program(
    "Is the switch {name} open or closed?",
    "Is {name} open or is it closed?",
    solve=lambda state, words: _circuit(state).part(words["name"]).attributes["is"],
)
def _switch_is(asking: Asking) -> ProgramQuestion | None:
    wanted = asking.wanted(("open", "closed"))
    for one in _parts(asking, "switch"):
        if one.attributes["is"] == wanted:
            return choice_of(wanted, ("open", "closed"), {"name": one.name}, [one])
    return None


def _solve_joined(state: SceneState, words: Words) -> str:
    branches = {_circuit(state).part(words[which]).numbers["branch"] for which in ("first", "second")}
    return "in series" if len(branches) == 1 else "in parallel"


@program(
    "Are {first} and {second} connected in series or in parallel?",
    "Are {first} and {second} in series or in parallel with each other?",
    solve=_solve_joined,
)
def _joined(asking: Asking) -> ProgramQuestion | None:
    """Two parts of one branch, or the only parts of two."""
    state, wanted = _circuit(asking.state), asking.wanted(("in series", "in parallel"))
    parts = [one for one in _parts(asking, *LETTERS) if one.numbers["branch"] != MAIN]
    for one in parts:
        for other in parts:
            is_series = one.numbers["branch"] == other.numbers["branch"]
            if one is other or is_series != (wanted == "in series"):
                continue
            if is_series or all(len(state.branch(part.numbers["branch"])) == 1 for part in (one, other)):
                words = {"first": one.name, "second": other.name}
                return choice_of(wanted, ("in series", "in parallel"), words, [one, other])
    return None


@program("Which part shares a branch with {name}?", "With which part is {name} in series?", spread=10)
def _partner(asking: Asking) -> ProgramQuestion | None:
    """The other part of a branch of two."""
    state = _circuit(asking.state)
    for one in _parts(asking, *LETTERS):
        row = state.branch(one.numbers["branch"])
        if len(row) == 2:
            other = row[row[0] is one]
            near = [part.name for part in state.of_kind("part") if part not in row]
            return told_of(other.name, [one, other], words={"name": one.name}, near=near[:2])
    return None


def is_live(state: CircuitState, one: Element) -> bool:
    """Whether direct current flows through a part for good: all switches on its way are closed."""
    way = [*state.branch(MAIN), *state.branch(one.numbers["branch"])]
    return all(part.get("is") != "open" for part in way)


def _direct(state: CircuitState, parts: Sequence[Element]) -> list[Element]:
    """Those in whose branch no capacitor is."""
    blocked = {one.numbers["branch"] for one in state.sort("capacitor")}
    return [one for one in parts if one.numbers["branch"] not in blocked and one.numbers["branch"] != MAIN]


def _solve_flows(state: SceneState, words: Words) -> str:
    """By the switches that are open, and what each of them cuts off."""
    known = _circuit(state)
    cut = {one.numbers["branch"] for one in known.sort("switch") if one.attributes["is"] == "open"}
    return "no" if MAIN in cut or known.part(words["name"]).numbers["branch"] in cut else "yes"


@program(
    "Does current flow through {name}?",
    "With the switches as they stand, does {name} carry current?",
    solve=_solve_flows,
)
def _flows(asking: Asking) -> ProgramQuestion | None:
    """Asked of parts that have a switch on their way."""
    state = _circuit(asking.state)
    for one in _direct(state, _parts(asking, "resistor", "lamp", "inductor")):
        way = [part for part in (*state.branch(MAIN), *state.branch(one.numbers["branch"])) if part.get("is")]
        if way and is_live(state, one) == asking.is_wanted:
            return yes_or_no(asking.is_wanted, {"name": one.name}, [one, *way], "follow the wires")
    return None


@program("How many lamps are lit?", "With the switches as they stand, how many lamps shine?")
def _lamps_lit(asking: Asking) -> ProgramQuestion | None:
    state = _circuit(asking.state)
    lamps = state.sort("lamp")
    if not lamps or len(_direct(state, lamps)) < len(lamps) or not state.sort("switch"):
        return None
    found = [one for one in lamps if is_live(state, one)]
    if len(found) != asking.wanted((0, 1, 2)):
        return None
    return count_of(len(found), {}, [*lamps, *state.sort("switch")], "follow the wires", wrong=[len(lamps)])


CIRCUIT_PROGRAMS = (
    _value,
    _who_has,
    _count_sort,
    _largest,
    _smallest,
    _branch_sum,
    _volts,
    _branches,
    _open_switches,
    _switch_is,
    _joined,
    _partner,
    _flows,
    _lamps_lit,
)
