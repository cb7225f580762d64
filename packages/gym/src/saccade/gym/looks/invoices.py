"""Looks of invoices: ruled or in bands, with marks that somebody made by hand."""

from functools import partial

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.invoices import InvoiceState, money
from saccade.gym.levels import Levels
from saccade.gym.looks.ink import PENS, draw_strike, draw_tick
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import Colour

INK: Colour = (28, 30, 36)
FAINT: Colour = (98, 102, 112)
TINTS: tuple[Colour, ...] = ((34, 74, 128), (120, 44, 52), (36, 96, 74), (70, 66, 110))
LEFT, ROW = 56, 30
COLUMNS = {"ware": (86, "lm"), "quantity": (430, "rm"), "unit": (545, "rm"), "amount": (664, "rm")}
HEADS = {"ware": "Description", "quantity": "Quantity", "unit": "Unit price", "amount": "Amount"}
ON_TOP = 4
"""So many of the printed values stand at the top; the others are sums."""


def render_invoice(state: SceneState, rng: Generator, levels: Levels, *, has_bands: bool) -> Rendering:
    """A page; the pen's marks lie above the print."""
    known = as_state(state, InvoiceState)
    painter = Painter(known.width, known.height, (253, 253, 251))
    size, tint = levels.whole("print", 15, 14, 12), TINTS[int(rng.integers(len(TINTS)))]
    painter.text("seller", known.seller, Point(LEFT, 54), 28, tint, anchor="lm")
    painter.text("", "INVOICE", Point(known.width - LEFT, 54), 26, FAINT, anchor="rm")
    painter.text("", "Bill to", Point(LEFT, 110), size - 1, FAINT, anchor="lm")
    painter.text("buyer", known.buyer, Point(LEFT, 134), size, INK, anchor="lm")
    keys = list(known.printed)
    for index, key in enumerate(keys[:ON_TOP]):
        _printed(painter, known, key, 104 + 24 * index, size, INK)
    top = 230
    painter.rectangle("", Box(LEFT, top - 18, known.width - LEFT + 10, top + 16), tint)
    for part, (x, anchor) in COLUMNS.items():
        painter.text("", HEADS[part], Point(x, top), size, (250, 250, 250), anchor=anchor)
    for index in range(len(known.lines)):
        _line(painter, known, index, top + ROW * (index + 1) + 6, size, has_bands=has_bands)
    bottom = top + ROW * (len(known.lines) + 1) + 16
    painter.rectangle("", Box(LEFT, bottom - 6, known.width - LEFT + 10, bottom - 4), tint)
    for index, key in enumerate(keys[ON_TOP:]):
        _printed(painter, known, key, bottom + 20 + 26 * index, size + (index == 2), INK)
    words = "Please pay by the due date and give the invoice number. Thank you."
    painter.text("", words, Point(LEFT, known.height - 34), 12, FAINT, anchor="lm")
    _marks(painter, known, top, rng)
    return Rendering(images=(painter.image,), regions=painter.regions())


def _printed(painter: Painter, state: InvoiceState, key: str, y: float, size: int, colour: Colour) -> None:
    painter.text("", key, Point(540, y), size, FAINT, anchor="rm")
    painter.text(key, state.printed[key], Point(state.width - LEFT, y), size, colour, anchor="rm")


def _line(painter: Painter, state: InvoiceState, index: int, y: float, size: int, *, has_bands: bool) -> None:
    line, right = state.lines[index], state.width - LEFT + 10
    if has_bands and index % 2 == 0:
        painter.rectangle("", Box(LEFT, y - ROW // 2, right, y + ROW // 2), (238, 240, 245))
    elif not has_bands:
        painter.rectangle("", Box(LEFT, y + ROW // 2, right, y + ROW // 2 + 1), (206, 208, 214))
    said = {"ware": line.ware, "quantity": str(line.quantity), "unit": money(line.unit), "amount": money(line.amount)}
    for part, (x, anchor) in COLUMNS.items():
        painter.text(f"{part}:{index}", said[part], Point(x, y), size, INK, anchor=anchor)


def _marks(painter: Painter, state: InvoiceState, top: float, rng: Generator) -> None:
    ink = PENS[int(rng.integers(len(PENS)))]
    for index, line in enumerate(state.lines):
        y = top + ROW * (index + 1) + 6
        if line.is_ticked:
            draw_tick(painter, f"tick:{index}", Box(26, y - 10, 48, y + 8), ink, rng)
        if line.is_struck:
            draw_strike(painter, f"strike:{index}", Box(70, y - 9, state.width - 60, y + 9), ink, rng)


RULED = Renderer(name="ruled", render=partial(render_invoice, has_bands=False), axes=("print",))
BANDS = Renderer(name="bands", render=partial(render_invoice, has_bands=True), axes=("print",))
