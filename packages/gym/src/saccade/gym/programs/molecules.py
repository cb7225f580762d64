"""Programs on structural formulas: atoms, bonds, rings and groups, and ways between atoms."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from itertools import permutations

from saccade.gym.grammars.molecules import HALOGENS, SYMBOLS, MoleculeState, bond_id
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import choice_of, count_of, told_of, yes_or_no
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState, as_state

Words = Mapping[str, str]
COUNTED = ("oxygen", "nitrogen", "sulfur", *HALOGENS)
ORDERS = {"double": 2, "triple": 3}


def _molecule(state: SceneState) -> MoleculeState:
    return as_state(state, MoleculeState)


def _atoms(state: SceneState, *elements: str) -> list[Element]:
    return [one for one in state.of_kind("atom") if one.attributes["element"] in elements]


def _counts(asking: Asking, most: int = 2) -> range:
    """Counts that molecules have often enough to be asked for equally often: one more where they are large."""
    return range(1, most + 1 + (asking.levels["size"] >= 0.5))


@program(
    "How many {element} atoms does the molecule have?",
    "Count the {element} atoms.",
    solve=lambda state, words: str(len(_atoms(state, words["element"]))),
)
def _count_element(asking: Asking) -> ProgramQuestion | None:
    count = asking.wanted(_counts(asking, most=3))
    there = [name for name in COUNTED if len(_atoms(asking.state, name)) == count]
    if not there:
        return None
    name = chosen(asking.rng, there)
    return count_of(len(_atoms(asking.state, name)), {"element": name}, _atoms(asking.state, name))


@program(
    "How many carbon atoms does the molecule have? Corners and ends of lines without a letter are carbon.",
    "Count the carbon atoms, bare corners and ends of lines among them.",
)
def _count_carbon(asking: Asking) -> ProgramQuestion | None:
    found = _atoms(asking.state, "carbon")
    return count_of(len(found), {}, found, wrong=[len(asking.state.of_kind("atom"))])


def _hydrogens(state: SceneState) -> int:
    known = _molecule(state)
    return sum(known.hydrogens(one.id) for one in known.of_kind("atom"))


@program(
    "How many hydrogen atoms does the molecule have, those that are not drawn among them?",
    "Count all hydrogen atoms, drawn or implied.",
)
def _count_hydrogen(asking: Asking) -> ProgramQuestion | None:
    count = _hydrogens(asking.state)
    return count_of(count, {}, asking.state.of_kind("atom"), "fill the valences", wrong=[count + 2, count - 2])


def formula_of(state: SceneState) -> str:
    """The molecular formula in Hill's order: carbon, hydrogen, then by letters."""
    counts = Counter(SYMBOLS[one.attributes["element"]] for one in state.of_kind("atom"))
    counts["H"] = _hydrogens(state)
    order = ["C", "H", *sorted(set(counts) - {"C", "H"})]
    return "".join(f"{symbol}{counts[symbol] if counts[symbol] > 1 else ''}" for symbol in order if counts[symbol])


@program(
    "What is the molecular formula, carbon and hydrogen first, then the other elements by letter?",
    "Write the molecular formula in Hill's order.",
    solve=lambda state, words: formula_of(state),
)
def _formula(asking: Asking) -> ProgramQuestion | None:
    hydrogens = _hydrogens(asking.state)
    right = formula_of(asking.state)
    near = [right.replace(f"H{hydrogens}", f"H{hydrogens + step}") for step in (1, -2)]
    return told_of(right, asking.state.of_kind("atom"), near=near)


def _solve_rings(state: SceneState, words: Words) -> str:
    """One ring for each bond beyond those of a tree."""
    return str(len(state.links) - len(state.of_kind("atom")) + 1)


@program("How many rings does the molecule have?", "Count the rings.", solve=_solve_rings)
def _count_rings(asking: Asking) -> ProgramQuestion | None:
    state = _molecule(asking.state)
    # Small molecules with three rings are so rare that none might be found.
    count = asking.wanted((1, 2, 3) if asking.levels["size"] >= 0.5 else (1, 2))
    if len(state.rings) != count:
        return None
    found = [state.element(atom) for ring in state.rings for atom in ring]
    return count_of(count, {}, found)


@program("How many atoms does the ring have?", "How many atoms make up the molecule's ring?")
def _ring_size(asking: Asking) -> ProgramQuestion | None:
    state = _molecule(asking.state)
    if len(state.rings) != 1 or len(state.rings[0]) != asking.wanted((5, 6)):
        return None
    (ring,) = state.rings
    return count_of(len(ring), {}, [state.element(atom) for atom in ring], wrong=[len(ring) + 1])


@program(
    "How many {kind} bonds are drawn?",
    "Count the {kind} bonds of the drawing.",
    solve=lambda state, words: str(len(_bonds(state, ORDERS[words["kind"]]))),
)
def _count_bonds(asking: Asking) -> ProgramQuestion | None:
    kind, count = asking.wanted([*(("double", count) for count in range(1, 5)), ("triple", 1), ("triple", 2)])
    found = [asking.state.element(bond_id(at)) for at in _bonds(asking.state, ORDERS[kind])]
    return count_of(count, {"kind": kind}, found) if len(found) == count else None


def _bonds(state: SceneState, order: int) -> list[int]:
    return [at for at, link in enumerate(state.links) if link.number == order]


def carbonyls(state: SceneState) -> list[Element]:
    """Oxygen atoms on a double bond."""
    known = _molecule(state)
    return [one for one in _atoms(state, "oxygen") if 2 in known.neighbours(one.id).values()]


def hydroxyls(state: SceneState) -> list[Element]:
    """Oxygen atoms with a hydrogen."""
    known = _molecule(state)
    return [one for one in _atoms(state, "oxygen") if known.hydrogens(one.id)]


def amines(state: SceneState) -> list[Element]:
    """Nitrogen atoms with two hydrogens."""
    known = _molecule(state)
    return [one for one in _atoms(state, "nitrogen") if known.hydrogens(one.id) == 2]


def _count_group(
    find: Callable[[SceneState], list[Element]], *elements: str
) -> Callable[[Asking], ProgramQuestion | None]:
    def ask(asking: Asking) -> ProgramQuestion | None:
        found = find(asking.state)
        if len(found) != asking.wanted(_counts(asking)):
            return None
        return count_of(len(found), {}, found, wrong=[len(_atoms(asking.state, *elements))])

    return ask


@program(
    "Which halogen does the molecule contain?",
    "What is the molecule's halogen?",
    solve=lambda state, words: next(name for name in HALOGENS if _atoms(state, name)),
)
def _which_halogen(asking: Asking) -> ProgramQuestion | None:
    there = [name for name in HALOGENS if _atoms(asking.state, name)]
    if there != [asking.wanted(HALOGENS)]:
        return None
    return choice_of(there[0], HALOGENS, {}, _atoms(asking.state, there[0]))


@program(
    "Is there a {element} atom in the molecule?",
    "Does the molecule contain any {element}?",
    solve=lambda state, words: "yes" if _atoms(state, words["element"]) else "no",
)
def _has_element(asking: Asking) -> ProgramQuestion | None:
    """An element that is there, or not; the evidence of absence is all that is no carbon."""
    # The coin says which element as well: were others taken with each state, rare ones would be asked for in vain.
    name, is_there = asking.wanted([(name, is_there) for name in COUNTED for is_there in (True, False)])
    found, others = _atoms(asking.state, name), _atoms(asking.state, *COUNTED)
    if bool(found) != is_there or not others:
        return None
    return yes_or_no(bool(found), {"element": name}, found or others)


@program("Is the {element} atom a part of a ring?", "Does a ring run through the {element} atom?")
def _in_ring(asking: Asking) -> ProgramQuestion | None:
    """Whether the only atom of an element is a part of a ring; sulfur is in rings alone."""
    state = _molecule(asking.state)
    name, wanted = asking.wanted([(name, holds) for name in ("oxygen", "nitrogen") for holds in (True, False)])
    if len(_atoms(state, name)) != 1 or not state.rings:
        return None
    (atom,) = _atoms(state, name)
    holds = any(atom.id in ring for ring in state.rings)
    return yes_or_no(holds, {"element": name}, [atom]) if holds == wanted else None


def _solve_more(state: SceneState, words: Words) -> str:
    return max((words["first"], words["second"]), key=lambda name: len(_atoms(state, name)))


@program(
    "Are there more {first} or more {second} atoms?", "Of which is there more, {first} or {second}?", solve=_solve_more
)
def _more_of(asking: Asking) -> ProgramQuestion | None:
    # Both of a pair are as often the more frequent one, however rare an element is.
    more, less = asking.wanted(list(permutations(COUNTED, 2)))
    if len(_atoms(asking.state, more)) <= len(_atoms(asking.state, less)):
        return None
    pair = shuffled(asking.rng, (more, less))
    return choice_of(more, pair, {"first": pair[0], "second": pair[1]}, _atoms(asking.state, *pair))


def _solve_distance(state: SceneState, words: Words) -> str:
    """By counting the steps in which a set of atoms grows until it holds the other end."""
    known = _molecule(state)
    (first,), (second,) = (_atoms(state, words[end]) for end in ("first", "second"))
    reached, count = {first.id}, 0
    while second.id not in reached:
        reached = reached.union(*(known.neighbours(atom) for atom in reached))
        count += 1
    return str(count)


@program(
    "How many bonds lie on the shortest way from the {first} to the {second} atom?",
    "Walking along bonds, how many steps is the {second} atom from the {first} atom?",
    solve=_solve_distance,
)
def _bonds_between(asking: Asking) -> ProgramQuestion | None:
    """Bonds on the shortest way between the only atoms of two elements."""
    state = _molecule(asking.state)
    single = [name for name in COUNTED if len(_atoms(state, name)) == 1]
    if len(single) < 2:
        return None
    pair = [single[int(at)] for at in asking.rng.permutation(len(single))[:2]]
    ends = [_atoms(state, name)[0] for name in pair]
    count = bonds_between(state, ends[0].id, ends[1].id)
    if count != asking.wanted((2, 3, 4, 5, 6)):
        return None
    return count_of(count, {"first": pair[0], "second": pair[1]}, ends, "count the bonds between")


def bonds_between(state: MoleculeState, first: str, second: str) -> int:
    """Bonds on the shortest way from an atom to another."""
    far, waiting = {first: 0}, deque([first])
    while second not in far:
        atom = waiting.popleft()
        for near in state.neighbours(atom):
            if near not in far:
                far[near] = far[atom] + 1
                waiting.append(near)
    return far[second]


MOLECULE_PROGRAMS = (
    _count_element,
    _count_carbon,
    _count_hydrogen,
    _formula,
    _count_rings,
    _ring_size,
    _count_bonds,
    Program(
        name="carbonyls",
        wordings=("How many oxygen atoms have a double bond?", "Count the C=O groups."),
        ask=_count_group(carbonyls, "oxygen"),
    ),
    Program(
        name="hydroxyls",
        wordings=("How many OH groups are there?", "How many times is OH or HO written?"),
        ask=_count_group(hydroxyls, "oxygen"),
    ),
    Program(
        name="amines",
        wordings=("How many NH2 groups are there?", "How many times is NH2 or H2N written?"),
        ask=_count_group(amines, "nitrogen"),
    ),
    _which_halogen,
    _has_element,
    _in_ring,
    _more_of,
    _bonds_between,
)
