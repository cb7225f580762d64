"""Looks of windows of programs: light, dark, and a grey one with edges as older programs have them."""

from dataclasses import dataclass
from functools import partial

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.windows import WindowState, box_of
from saccade.gym.levels import Levels
from saccade.gym.looks.icons import paint_icon
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState, as_state
from saccade.tasks.drawing import Colour

PAD = 0.5
"""Room at the left of words, in letters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Theme:
    """Colours of a look."""

    desk: Colour
    window: Colour
    bar: Colour
    side: Colour
    sheet: Colour
    ink: Colour
    faint: Colour
    rule: Colour
    accent: Colour
    has_edges: bool = False


LIGHT_THEME = Theme(
    desk=(126, 156, 182), window=(250, 250, 252), bar=(236, 238, 243), side=(242, 244, 248), sheet=(255, 255, 255),
    ink=(32, 36, 46), faint=(104, 110, 124), rule=(208, 212, 222), accent=(36, 98, 220),
)  # fmt: skip
DARK_THEME = Theme(
    desk=(58, 52, 74), window=(34, 36, 44), bar=(44, 47, 57), side=(40, 42, 51), sheet=(52, 55, 66),
    ink=(232, 234, 240), faint=(158, 164, 178), rule=(76, 80, 94), accent=(52, 142, 120),
)  # fmt: skip
GREY_THEME = Theme(
    desk=(0, 110, 112), window=(206, 206, 200), bar=(196, 196, 190), side=(214, 214, 208), sheet=(255, 255, 255),
    ink=(16, 16, 16), faint=(84, 84, 84), rule=(128, 128, 124), accent=(20, 40, 120), has_edges=True,
)  # fmt: skip
ON_ACCENT: Colour = (255, 255, 255)


class _Screen:
    """A window while it is painted."""

    def __init__(self, state: WindowState, theme: Theme) -> None:
        self.painter, self.theme, self.letters = Painter(state.width, state.height, theme.desk), theme, state.letters_px

    def fill(self, one: Element, colour: Colour, *, is_framed: bool = False) -> None:
        """The whole widget, which is its region."""
        self.painter.rectangle(one.id, box_of(one), colour)
        if is_framed:
            self.painter.rectangle(one.id, box_of(one), self.theme.rule, border=1)
        if is_framed and self.theme.has_edges:
            box = box_of(one)
            self.painter.rectangle(one.id, Box(box.x1, box.y1, box.x2, box.y1 + 2), (244, 244, 240))
            self.painter.rectangle(one.id, Box(box.x1, box.y1, box.x1 + 2, box.y2), (244, 244, 240))

    def words(self, one: Element, colour: Colour, *, left: float | None = None, words: str = "") -> None:
        """The widget's label: from the left, or in its middle."""
        box = box_of(one)
        at = box.center if left is None else Point(box.x1 + left * self.letters, box.center.y)
        said = words or one.attributes["label"]
        self.painter.text("", said, at, self.letters, colour, anchor="mm" if left is None else "lm")

    def icon(self, one: Element, icon: str, share: float = 0.7) -> None:
        box = box_of(one)
        side = share * min(box.width, box.height) / 2
        middle = box.center
        inner = Box(middle.x - side, middle.y - side, middle.x + side, middle.y + side)
        paint_icon(self.painter, one.id, icon, inner, self.theme.ink)


def _paint_widget(screen: _Screen, one: Element) -> None:
    theme, label, kind = screen.theme, one.attributes["label"], one.get("drawn_as") or one.kind
    match kind:
        case "window":
            screen.fill(one, theme.window, is_framed=True)
        case "title":
            screen.fill(one, theme.accent if theme.has_edges else theme.bar)
            screen.words(one, ON_ACCENT if theme.has_edges else theme.ink)
        case "control":
            screen.fill(one, theme.window, is_framed=True)
            _paint_control(screen, one)
        case "tool":
            screen.fill(one, theme.bar, is_framed=True)
            screen.icon(one, label)
        case "row tool":
            screen.fill(one, theme.window)
            screen.icon(one, label)
        case "side" | "column":
            screen.fill(one, theme.side if kind == "side" else theme.bar, is_framed=True)
            screen.words(one, theme.ink, left=PAD + 0.5)
        case "menu" | "message":
            screen.fill(one, theme.window)
            screen.words(one, theme.ink, left=None if kind == "menu" else PAD)
        case "field" | "cell":
            screen.fill(one, theme.window)
            screen.words(one, theme.faint if kind == "field" else theme.ink, left=PAD * (kind == "cell"))
        case "input" | "card":
            screen.fill(one, theme.sheet, is_framed=True)
            screen.words(one, theme.ink, left=PAD, words=one.get("typed") or " ")
            if one.get("is_active"):
                screen.painter.rectangle(one.id, box_of(one), theme.accent, border=2)
        case "row tick":
            screen.fill(one, theme.sheet, is_framed=True)
            if one.get("is_on"):
                paint_icon(screen.painter, one.id, "tick", box_of(one), theme.ink)
        case "tick":
            _paint_tick(screen, one)
        case "dialog":
            screen.fill(one, theme.window, is_framed=True)
            box = box_of(one)
            strip = Box(box.x1, box.y1, box.x2, box.y1 + 2 * screen.letters)
            screen.painter.rectangle(one.id, strip, theme.accent)
            screen.painter.text("", label, strip.center, screen.letters, ON_ACCENT)
        case _:
            is_first = kind == "page" and bool(one.get("is_here"))
            screen.fill(one, theme.accent if is_first else theme.bar, is_framed=True)
            screen.words(one, ON_ACCENT if is_first else theme.ink)


def _paint_control(screen: _Screen, one: Element) -> None:
    middle, reach = box_of(one).center, screen.letters * 0.4
    left, right, top, bottom = middle.x - reach, middle.x + reach, middle.y - reach, middle.y + reach
    ends = {
        "minimise": [[Point(left, bottom), Point(right, bottom)]],
        "maximise": [
            [Point(left, top), Point(right, top), Point(right, bottom), Point(left, bottom), Point(left, top)]
        ],
        "close": [[Point(left, top), Point(right, bottom)], [Point(left, bottom), Point(right, top)]],
    }
    for places in ends[one.attributes["label"]]:
        screen.painter.line(one.id, places, 1.6, screen.theme.ink)


def _paint_tick(screen: _Screen, one: Element) -> None:
    """A box, ticked or not, with its words at the right: a click on either counts."""
    box, theme = box_of(one), screen.theme
    screen.painter.rectangle(one.id, box, theme.window)
    side = 1.1 * screen.letters
    square = Box(box.x1, round(box.center.y - side / 2), round(box.x1 + side), round(box.center.y + side / 2))
    screen.painter.rectangle(one.id, square, theme.sheet)
    screen.painter.rectangle(one.id, square, theme.faint, border=1)
    if one.get("is_on"):
        paint_icon(screen.painter, one.id, "tick", square, theme.ink)
    screen.words(one, theme.ink, left=1.6)


def render_window(state: SceneState, rng: Generator, levels: Levels, *, theme: Theme) -> Rendering:
    """The screen: widgets in the order in which they lie above each other."""
    known = as_state(state, WindowState)
    screen = _Screen(known, theme)
    for one in known.elements:
        _paint_widget(screen, one)
    return Rendering(images=(screen.painter.image,), regions=screen.painter.regions())


LIGHT = Renderer(name="light", render=partial(render_window, theme=LIGHT_THEME))
DARK = Renderer(name="dark", render=partial(render_window, theme=DARK_THEME))
GREY = Renderer(name="grey", render=partial(render_window, theme=GREY_THEME))
