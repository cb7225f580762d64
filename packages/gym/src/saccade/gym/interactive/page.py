"""A page that is taller than the window it is seen in: widgets, scrolling, clicks and typing.

A page is laid out like the windows of ``grammars/windows.py`` and painted by their looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from saccade.gym.grammars.windows import WindowState, box_of
from saccade.gym.interactive.interactive_family import Command
from saccade.gym.levels import Levels
from saccade.gym.looks.windows import DARK_THEME, GREY_THEME, LIGHT_THEME, Theme, render_window
from saccade.gym.state import Element
from saccade.tasks.interaction import SCALE, Outcome

THEMES = (LIGHT_THEME, DARK_THEME, GREY_THEME)
SCROLLED = 0.6
"""How far one action scrolls, as a share of what is seen."""
CLICKED = ("input", "tick", "button", "row tick", "row tool", "tool", "page", "column")
"""Kinds of widgets that do something when they are clicked."""
SAID = (*CLICKED, "message", "cell", "title")
"""Kinds of widgets that a caption names."""
SCROLL = "'scroll down' and 'scroll up'"
CLICK = "'click X Y' clicks on a place of the picture, in thousandths of its width and height"


@dataclass(slots=True)
class ScrolledPage:
    """Widgets on a page ``height`` pixels high, of which ``seen`` pixels from ``top`` on are shown."""

    width: int
    height: int
    seen: int
    letters_px: int
    theme: Theme
    top: int = 0

    def picture(self, widgets: Sequence[Element]) -> Image.Image:
        """The part of the page that is seen."""
        state = WindowState(elements=tuple(widgets), width=self.width, height=self.height, letters_px=self.letters_px)
        page = _painted(state, self.theme)
        return page.crop((0, self.top, self.width, self.top + self.seen))

    def clicked(self, widgets: Sequence[Element], place: tuple[float, float]) -> Element | None:
        """The widget at a place in thousandths of what is seen, of those that can be clicked."""
        x, y = place[0] / SCALE * self.width, self.top + place[1] / SCALE * self.seen
        for one in reversed(widgets):
            box = box_of(one)
            if one.kind in CLICKED and box.x1 <= x < box.x2 and box.y1 <= y < box.y2:
                return one
        return None

    def caption(self, widgets: Sequence[Element]) -> str:
        """The widgets whose middle is seen, a line each: what they are, what they say, where one clicks."""
        lines = []
        for one in widgets:
            if one.kind in SAID and self.way_to(one) is None:
                said = [
                    one.kind,
                    one.get("label") or one.get("row"),
                    one.get("typed"),
                    "on" if one.get("is_on") else "",
                ]
                place = f"({self.click_on(one).removeprefix('click ')})" if one.kind in CLICKED else ""
                lines.append(" ".join(filter(None, (*said, place))))
        return "\n".join(lines)

    def scroll(self, command: Command) -> Outcome:
        """Up or down by ``SCROLLED`` of what is seen."""
        way = {"down": 1, "up": -1}.get(command.rest.lower())
        if way is None:
            return Outcome(invalid=f"a page is scrolled by {SCROLL}")
        most = self.height - self.seen
        wanted = min(max(0, self.top + way * round(SCROLLED * self.seen)), most)
        if wanted == self.top:
            return Outcome(said=f"The page ends here: it cannot be scrolled {command.rest.lower()}.")
        self.top = wanted
        return Outcome()

    def way_to(self, one: Element) -> str | None:
        """'scroll down' or 'scroll up' where the widget's middle is out of sight; None where it is seen."""
        y = box_of(one).center.y
        if y < self.top:
            return "scroll up"
        return "scroll down" if y >= self.top + self.seen else None

    def click_on(self, one: Element) -> str:
        """The action that clicks on the middle of a widget that is seen."""
        middle = box_of(one).center
        return f"click {round(middle.x / self.width * SCALE)} {round((middle.y - self.top) / self.seen * SCALE)}"


def _painted(state: WindowState, theme: Theme) -> Image.Image:
    [image] = render_window(state, np.random.default_rng(0), Levels(), theme=theme).images
    return image
