"""Molecules: rings and chains of carbon with groups on them, valences kept; no two rings share an atom.

Axes: ``size`` (how many groups).
"""

from dataclasses import dataclass, field

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.state import Element, Link, SceneState

AXES = ("size",)
ELEMENTS = {
    "C": "carbon",
    "N": "nitrogen",
    "O": "oxygen",
    "S": "sulfur",
    "F": "fluorine",
    "Cl": "chlorine",
    "Br": "bromine",
    "I": "iodine",
}
"""Names of the elements by their symbols."""
SYMBOLS = {name: symbol for symbol, name in ELEMENTS.items()}
VALENCES = {"C": 4, "N": 3, "O": 2, "S": 2, "F": 1, "Cl": 1, "Br": 1, "I": 1}
HALOGENS = ("fluorine", "chlorine", "bromine", "iodine")

GROUPS = ("methyl", "ethyl", "hydroxyl", "amine", "carbonyl", "halogen", "nitrile", "ether", "ring", "chain")


@dataclass(frozen=True, kw_only=True, slots=True)
class MoleculeState(SceneState):
    """Elements of the kinds "atom" (``element``) and "bond"; a link of the kind "bond" has its order as number."""

    rings: tuple[tuple[str, ...], ...] = ()
    """Ids of the atoms of each ring, in order around it."""

    def neighbours(self, atom: str) -> dict[str, float]:
        """Atoms that are bound to an atom, with the orders of the bonds."""
        near = {link.second: link.number for link in self.links if link.first == atom}
        return near | {link.first: link.number for link in self.links if link.second == atom}

    def hydrogens(self, atom: str) -> int:
        """Hydrogen atoms on an atom, which fill its valence."""
        return VALENCES[SYMBOLS[self.element(atom).attributes["element"]]] - round(sum(self.neighbours(atom).values()))


def atom_id(index: int) -> str:
    return f"atom:{index}"


def bond_id(index: int) -> str:
    """The element of the bond that is the link of this index."""
    return f"bond:{index}"


@dataclass(slots=True)
class _Growing:
    """A molecule while it grows."""

    rng: Generator
    symbols: list[str] = field(default_factory=list)
    bonds: list[tuple[int, int, int]] = field(default_factory=list)
    rings: list[tuple[int, ...]] = field(default_factory=list)

    def atom(self, symbol: str, to: int | None = None, order: int = 1) -> int:
        self.symbols.append(symbol)
        made = len(self.symbols) - 1
        if to is not None:
            self.bonds.append((to, made, order))
        return made

    def free(self, atom: int) -> int:
        """How many bonds an atom has left."""
        return VALENCES[self.symbols[atom]] - sum(order for a, b, order in self.bonds if atom in (a, b))

    def ring(self, to: int | None = None) -> None:
        """A benzene ring, or one of five or six single bonds with perhaps another element in it."""
        size, is_benzene = (6, True) if self.rng.integers(2) else (int(self.rng.integers(5, 7)), False)
        atoms = [self.atom("C") for _ in range(size)]
        for place, atom in enumerate(atoms):
            order = 2 if is_benzene and place % 2 == 0 else 1
            self.bonds.append((atom, atoms[(place + 1) % size], order))
        if not is_benzene and self.rng.integers(2):
            self.symbols[atoms[int(self.rng.integers(1, size))]] = "NOS"[int(self.rng.integers(3))]
        if to is not None:
            self.bonds.append((to, atoms[0], 1))
        self.rings.append(tuple(atoms))

    def chain(self, count: int, to: int | None = None) -> int:
        for _ in range(count):
            to = self.atom("C", to)
        assert to is not None
        return to

    def group(self, kind: str) -> bool:
        """Put a group on a carbon atom that has bonds left; whether there is one."""
        need = 2 if kind == "carbonyl" else 1
        places = [at for at, symbol in enumerate(self.symbols) if symbol == "C" and self.free(at) >= need]
        if not places:
            return False
        at = places[int(self.rng.integers(len(places)))]
        if kind == "methyl":
            self.atom("C", at)
        elif kind == "ethyl":
            self.chain(2, at)
        elif kind == "hydroxyl":
            self.atom("O", at)
        elif kind == "amine":
            self.atom("N", at)
        elif kind == "carbonyl":
            self.atom("O", at, 2)
        elif kind == "halogen":
            self.atom(("F", "Cl", "Br", "I")[int(self.rng.integers(4))], at)
        elif kind == "nitrile":
            self.atom("N", self.atom("C", at), 3)
        elif kind == "ether":
            self.chain(int(self.rng.integers(1, 3)), self.atom("O", at))
        elif kind == "ring":
            self.ring(at)
        else:
            self.chain(3, at)
        return True


def draw_molecule(rng: Generator, levels: Levels) -> MoleculeState:
    """A ring or a chain with 2 to 7 groups, of which some are alike: two and three of a kind are not rare."""
    most = levels.whole("size", 3, 5, 7)
    growing = _Growing(rng)
    if rng.integers(4):
        growing.ring()
    else:
        growing.chain(int(rng.integers(3, 6)))
    usual = GROUPS[int(rng.integers(len(GROUPS)))]
    for _ in range(int(rng.integers(most - 1, most + 1))):
        growing.group(usual if rng.random() < 0.4 else GROUPS[int(rng.integers(len(GROUPS)))])
    names = [ELEMENTS[symbol] for symbol in growing.symbols]
    atoms = tuple(
        Element(id=atom_id(at), kind="atom", name=name, attributes={"element": name}) for at, name in enumerate(names)
    )
    bonds = tuple(Element(id=bond_id(at), kind="bond", name="bond") for at in range(len(growing.bonds)))
    links = tuple(Link(kind="bond", first=atom_id(a), second=atom_id(b), number=order) for a, b, order in growing.bonds)
    rings = tuple(tuple(atom_id(at) for at in ring) for ring in growing.rings)
    return MoleculeState(elements=(*atoms, *bonds), links=links, rings=rings, width=440, height=360)


MOLECULE = Grammar(name="molecule", draw=draw_molecule, axes=AXES)
