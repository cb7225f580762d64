"""Drawn documents: pages of marked plates under a head of two colours, asked about by their heads.

Twelve pages lie in a document, in pairs whose heads are each other's turned round (hard negatives), with plates of the
same colours and other marks, so that an answer from the wrong page is right by luck only. At the foot of each page
stands the document's code of five colours: pages of different documents can be told apart, too. Colours stand for
what real pages say in letters.

``page_mark`` asks for one plate's mark, ``page_pair`` for two on one page, ``page_cross`` for two on different pages.
No family asks "same", whether two of a page's three marks are the same, yes in about half of the questions.
Difficulty: the mark's side 32 px at 0, 28 at 0.5, 6 at 1. Documents are split by their codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.geometry import Box
from saccade.gym.drawn.plates import MARKS, PLATE_COLOURS, PLATE_PX, plate_corner
from saccade.tasks.claims import claims
from saccade.tasks.drawing import BACKGROUND, COLOUR_NAMES, COLOURS, INK
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, place_of, rectangle_target, whole_knob
from saccade.types import SceneObject, Target

PAGES = 12
CODE_TILES = 5
TILE_PX = 32
HEAD_TILE_PX = 64
HEAD_BOX = Box(64, 4, 192, 52)
HEAD_FRAME_PX = 8
"""Of the first tile alone, so that an encoder without places can tell it from the second."""
CELLS = tuple(range(4, 12))
"""Cells of the 4 x 4 grid between head and foot, which plates lie in."""

PageQuestion = Literal["mark", "pair", "cross", "same"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PagePlate:
    """A plate with a mark on a page."""

    colour: str
    mark: str
    cell: int

    @property
    def box(self) -> Box:
        left, top = plate_corner(self.cell, 0, 0)
        return Box(left, top, left + PLATE_PX, top + PLATE_PX)


@dataclass(frozen=True, kw_only=True, slots=True)
class SoughtPlate:
    """A plate that a question asks for."""

    page: int
    """Index of its page in the document."""
    plate: PagePlate


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnPage:
    """A page of a document."""

    head: tuple[str, str]
    plates: tuple[PagePlate, ...]

    @property
    def heading(self) -> str:
        return f"{self.head[0]} and {self.head[1]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnDocument:
    """A document of drawn pages."""

    code: tuple[str, ...]
    pages: tuple[DrawnPage, ...]

    @property
    def name(self) -> str:
        return " ".join(self.code)

    def picture(self, index: int, mark_px: int, ground: int = BACKGROUND[0]) -> Image.Image:
        """The page as it is printed, on paper of this grey (0..255)."""
        page = self.pages[index]
        pixels = np.full((SIZE_PX, SIZE_PX, 3), ground, dtype=np.uint8)
        left, top, right, bottom = (int(edge) for edge in HEAD_BOX.as_tuple())
        middle, frame = left + HEAD_TILE_PX, HEAD_FRAME_PX
        pixels[top:bottom, left:middle] = INK
        pixels[top + frame : bottom - frame, left + frame : middle - frame] = COLOURS[page.head[0]]
        pixels[top:bottom, middle:right] = COLOURS[page.head[1]]
        for place, colour in enumerate(self.code):
            start = (SIZE_PX - CODE_TILES * TILE_PX) // 2 + place * TILE_PX
            pixels[SIZE_PX - TILE_PX : SIZE_PX - 4, start : start + TILE_PX] = COLOURS[colour]
        inset = (PLATE_PX - mark_px) // 2
        for plate in page.plates:
            x1, y1, x2, y2 = (int(edge) for edge in plate.box.as_tuple())
            pixels[y1:y2, x1:x2] = COLOURS[plate.colour]
            pixels[y1 + inset : y1 + inset + mark_px, x1 + inset : x1 + inset + mark_px] = MARKS[plate.mark]
        return Image.fromarray(pixels)


def drawn_document(rng: Generator, pages: int = PAGES) -> DrawnDocument:
    """A document of an even number of pages, in random order; no two have one head."""
    pairs = [(one, other) for place, one in enumerate(COLOUR_NAMES) for other in COLOUR_NAMES[place + 1 :]]
    found: list[DrawnPage] = []
    for choice in rng.permutation(len(pairs))[: pages // 2]:
        one, other = pairs[int(choice)]
        count = int(rng.integers(2, 4))
        colours = [PLATE_COLOURS[int(place)] for place in rng.permutation(len(PLATE_COLOURS))[:count]]
        for head in ((one, other), (other, one)):
            found.append(DrawnPage(head=head, plates=_plates(rng, colours)))
    code = tuple(COLOUR_NAMES[int(place)] for place in rng.integers(len(COLOUR_NAMES), size=CODE_TILES))
    return DrawnDocument(code=code, pages=tuple(found[int(place)] for place in rng.permutation(len(found))))


def _plates(rng: Generator, colours: Sequence[str]) -> tuple[PagePlate, ...]:
    cells = rng.permutation(len(CELLS))[: len(colours)]
    marks = rng.integers(len(MARKS), size=len(colours))
    return tuple(
        PagePlate(colour=colour, mark=list(MARKS)[int(mark)], cell=CELLS[int(cell)])
        for colour, cell, mark in zip(colours, cells, marks)
    )


def mark_smallness(scene: Scene) -> float:
    """What difficulty changes: minus the pixels of the sought plates that are of their marks."""
    marks = []
    for target in scene.asked.targets:
        left, top, right, bottom = (int(side) for side in target.box.as_tuple())
        plate = np.asarray(scene.images[target.image_index])[top:bottom, left:right]
        marks.append((plate != plate[0, 0]).any(axis=2).sum())
    return -float(np.mean(marks))


@claims(hardness=mark_smallness)
def draw_page_mark(rng: Generator, difficulty: float) -> Scene:
    """The mark of one plate."""
    return document_scene(drawn_document(rng), rng, "mark", mark_side(difficulty))


@claims(hardness=mark_smallness)
def draw_page_pair(rng: Generator, difficulty: float) -> Scene:
    """The marks of two plates of one page."""
    return document_scene(drawn_document(rng), rng, "pair", mark_side(difficulty))


@claims(hardness=mark_smallness)
def draw_page_cross(rng: Generator, difficulty: float) -> Scene:
    """The marks of two plates of different pages."""
    return document_scene(drawn_document(rng), rng, "cross", mark_side(difficulty))


def mark_side(difficulty: float) -> int:
    """The side of a mark in pixels at this difficulty; even, so that it lies in the middle."""
    return whole_knob(difficulty, 16, 14, 3) * 2


def document_scene(document: DrawnDocument, rng: Generator, kind: PageQuestion, mark_px: int) -> Scene:
    """All pages of a document, with a question on one or two of them."""
    sought = sought_plates(document, rng, kind)
    asked = SceneQuestion(
        question=asked_text(document, sought),
        answer=right_answer(sought),
        targets=tuple(_target(one) for one in sought),
        looks=(),
        conclusion=" ".join(f"{one.plate.colour} {place_of(one.plate.box.center)} {one.plate.mark}" for one in sought),
    )
    return Scene(
        images=tuple(document.picture(index, mark_px) for index in range(len(document.pages))),
        asked=asked,
        split_key=document.name.encode(),
        objects=tuple(one for index, page in enumerate(document.pages) for one in _objects(index, page)),
    )


def sought_plates(document: DrawnDocument, rng: Generator, kind: PageQuestion) -> tuple[SoughtPlate, ...]:
    """What a question of this kind asks for: a plate, two of one page, one each of two pages, or all three of a page.

    ValueError for "same" where no page ``has_three`` plates.
    """
    if kind == "same":
        return _three_plates(document, rng)
    first, second = (int(place) for place in rng.permutation(len(document.pages))[:2])
    pages = {"mark": (first,), "pair": (first, first), "cross": (first, second)}[kind]
    plates = (document.pages[first].plates[0], document.pages[pages[-1]].plates[1])
    return tuple(SoughtPlate(page=page, plate=plate) for page, plate in zip(pages, plates))


def has_three(document: DrawnDocument) -> bool:
    """Whether some page has three plates."""
    return any(len(page.plates) == 3 for page in document.pages)


def _three_plates(document: DrawnDocument, rng: Generator) -> tuple[SoughtPlate, ...]:
    """Those of a page for which yes and no are as likely, as far as the document has a page for either."""
    every = [
        [SoughtPlate(page=index, plate=plate) for plate in page.plates]
        for index, page in enumerate(document.pages)
        if len(page.plates) == 3
    ]
    if not every:
        raise ValueError(f"document {document.name} has no page of three plates")
    wanted = ("no", "yes")[int(rng.integers(2))]
    fitting = [sought for sought in every if right_answer(sought) == wanted] or every
    return tuple(fitting[int(rng.integers(len(fitting)))])


def right_answer(sought: Sequence[SoughtPlate]) -> str:
    """Of three plates whether two bear the same mark, of others their marks."""
    marks = [one.plate.mark for one in sought]
    if len(marks) == 3:
        return "yes" if len(set(marks)) < 3 else "no"
    return " and ".join(marks)


def asked_text(document: DrawnDocument, sought: Sequence[SoughtPlate], *, names_document: bool = False) -> str:
    """The question for these plates; with the document's code where all documents are searched."""
    heads = [document.pages[one.page].heading for one in sought]
    where = f" of the document {document.name}" if names_document else ""
    one, *others = (one.plate.colour for one in sought)
    if not others:
        return f"On the page headed {heads[0]}{where}, which mark is on the {one} plate?"
    if len(sought) == 3:
        named = f"the {one} plate, the {others[0]} plate and the {others[1]} plate"
        return f"On the page headed {heads[0]}{where}, do two of {named} bear the same mark, yes or no?"
    if sought[0].page == sought[1].page:
        return f"On the page headed {heads[0]}{where}, which marks are on the {one} plate and the {others[0]} plate?"
    return (
        f"Which marks are on the {one} plate of the page headed {heads[0]} and on the {others[0]} plate of the page "
        f"headed {heads[1]}{where}?"
    )


def _target(sought: SoughtPlate) -> Target:
    return rectangle_target(f"{sought.plate.colour} plate", sought.plate.box, sought.page)


def _objects(index: int, page: DrawnPage) -> list[SceneObject]:
    head = SceneObject(name="head", box=HEAD_BOX, attributes={"colours": " ".join(page.head)}, image_index=index)
    plates = [
        SceneObject(
            name=plate.colour,
            box=plate.box,
            attributes={"place": place_of(plate.box.center), "mark": plate.mark},
            image_index=index,
        )
        for plate in page.plates
    ]
    return [head, *plates]
