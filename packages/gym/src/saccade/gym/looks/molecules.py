"""Structural formulas by RDKit, in colours of the elements or in black; Agg makes pixels of its SVG.

RDKit marks every piece of its drawing with the atoms and bonds that it belongs to. A carbon atom that is a bare corner
has a small box around it as its region.
"""

from functools import partial
from xml.etree import ElementTree

from numpy.random import Generator

from saccade.geometry import Box
from saccade.gym.grammars.molecules import SYMBOLS, MoleculeState, atom_id, bond_id
from saccade.gym.levels import Levels
from saccade.gym.looks.svg import MODULES, draw_svg
from saccade.gym.rendering import Renderer, Rendering, SeenRegion
from saccade.gym.state import SceneState, as_state

CORNER_PX = 7
SAMPLES = 20
"""Layouts that RDKit tries for the one with the fewest collisions."""


def render_molecule(state: SceneState, rng: Generator, levels: Levels, *, is_black: bool) -> Rendering:
    """Turned by any angle; ``print`` makes the drawing smaller."""
    from rdkit.Chem import Atom, BondType, RWMol, SanitizeFlags, SanitizeMol
    from rdkit.Chem.Draw.rdMolDraw2D import MolDraw2DSVG
    from rdkit.Chem.rdDepictor import Compute2DCoords

    known = as_state(state, MoleculeState)
    atoms = known.of_kind("atom")
    orders = (BondType.SINGLE, BondType.DOUBLE, BondType.TRIPLE)
    molecule = RWMol()
    places = {one.id: molecule.AddAtom(Atom(SYMBOLS[one.attributes["element"]])) for one in atoms}
    for link in known.links:
        molecule.AddBond(places[link.first], places[link.second], orders[round(link.number) - 1])
    # Rings of benzene keep the double bonds that the state gave them.
    SanitizeMol(molecule, SanitizeFlags.SANITIZE_ALL ^ SanitizeFlags.SANITIZE_SETAROMATICITY)
    Compute2DCoords(molecule, nFlipsPerSample=3, nSample=SAMPLES, sampleSeed=1, permuteDeg4Nodes=True)
    drawer = MolDraw2DSVG(known.width, known.height)
    options = drawer.drawOptions()
    wanted: dict[str, float] = {
        "prepareMolsBeforeDrawing": False,
        "padding": levels.knob("print", 0.05, 0.1, 0.17),
        "rotate": float(rng.integers(0, 360)),
        "bondLineWidth": int(rng.integers(1, 3)),
    }
    for name, value in wanted.items():  # RDKit's stubs give each option the type of all options
        setattr(options, name, value)
    if is_black:
        options.useBWAtomPalette()
    drawer.DrawMolecule(molecule)
    drawer.FinishDrawing()
    root, names = _svg_with_ids(drawer.GetDrawingText())
    picture = draw_svg(root, names)
    corners = []
    seen = {one.element for one in picture.regions}
    for one in atoms:
        if one.id not in seen:
            at = drawer.GetDrawCoords(places[one.id])
            box = Box(at.x - CORNER_PX, at.y - CORNER_PX, at.x + CORNER_PX, at.y + CORNER_PX)
            whole = Box(*(round(side) for side in box.as_tuple())).clipped(known.width, known.height)
            corners.append(SeenRegion(element=one.id, box=whole))
    return Rendering(images=(picture.image,), regions=(*picture.regions, *corners))


def _svg_with_ids(svg: str) -> tuple[ElementTree.Element, dict[str, str]]:
    """The SVG with an id on every piece, and the elements by these ids."""
    root = ElementTree.fromstring(svg.partition("?>")[2])
    names: dict[str, str] = {}
    for part in root.iter():
        kind = part.get("class", "").split()
        if kind and kind[0].partition("-")[0] in ("atom", "bond"):
            sort, _, index = kind[0].partition("-")
            mark = f"e{len(names)}"
            part.set("id", mark)
            names[mark] = bond_id(int(index)) if sort == "bond" else atom_id(int(index))
    return root, names


NEEDED = ("rdkit", *MODULES)
COLOURED = Renderer(
    name="coloured", render=partial(render_molecule, is_black=False), axes=("print",), extra="gym", modules=NEEDED
)
BLACK = Renderer(
    name="black", render=partial(render_molecule, is_black=True), axes=("print",), extra="gym", modules=NEEDED
)
