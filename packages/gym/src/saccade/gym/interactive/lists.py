"""``work_list``: a list over several pages, in which one entry is acted on, or all entries of a town.

Axes: ``clutter`` (how many pages there are and how many entries each has), ``print`` (how small letters are).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from numpy.random import Generator
from PIL import Image

from saccade.geometry import Box
from saccade.gym.grammars.windows import COLUMNS, ROW_HIGH, WidgetLayout, drawn_entries, lay_entries, lay_pages
from saccade.gym.grammars.words import MONTHS, TOWNS
from saccade.gym.interactive.interactive_family import InteractiveFamily, read_command, unknown_action
from saccade.gym.interactive.page import CLICK, THEMES, ScrolledPage
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.programs.windows import ROW_GOALS
from saccade.gym.state import Element
from saccade.tasks.interaction import Move, Outcome, no_place, place_in

AXES = ("clutter", "print")
LIST_TOOLS = {"bin": "the bin", "print": "the printer", "star": "the star", "envelope": "the envelope"}
TOWNS_OF_A_LIST = 5
"""Different towns that the entries of a list have."""


@dataclass(slots=True)
class ListInteraction:
    """A list that is worked on. ``row`` and ``tool`` are the icon that is wanted; or ``town``, whose entries are to be
    ticked before ``tool`` is pressed above the list."""

    page: ScrolledPage
    entries: list[dict[str, str]]
    columns: list[str]
    row_tools: list[str]
    tools: list[str]
    per_page: int
    tool: str
    row: str = ""
    town: str = ""
    here: int = 1
    ticked: set[str] = field(default_factory=set)
    visited: set[int] = field(default_factory=lambda: {1})
    """Pages that were in sight since the list was sorted: what the expert may know."""

    @property
    def goal(self) -> str:
        if self.row:
            return f"In the list, {ROW_GOALS[self.tool]} of {self.row}, by the icon in its row."
        return (
            f"Tick all entries of the town {self.town}, on every page, and no others. Then press "
            f"{LIST_TOOLS[self.tool]} above the list."
        )

    @property
    def actions(self) -> str:
        return (
            f"The action is: {CLICK}. A click on a column's heading sorts the list by it, the numbers below the list "
            "are its pages."
        )

    @property
    def pages(self) -> int:
        return -(-len(self.entries) // self.per_page)

    @property
    def split_key(self) -> bytes:
        return repr((self.goal, self.entries)).encode()

    def picture(self) -> Image.Image:
        return self.page.picture(self._widgets())

    def caption(self) -> str:
        return self.page.caption(self._widgets())

    def act(self, action: str) -> Outcome:
        command = read_command(action, ("click",))
        if command is None:
            return unknown_action(action, self.actions)
        place = place_in(command.rest)
        if place is None:
            return no_place("click")
        one = self.page.clicked(self._widgets(), place)
        return Outcome() if one is None else self._click(one)

    def progress(self) -> float:
        if self.row:
            return float(self.row in [one["Name"] for one in self._on(self.here)])
        wanted = self._wanted()
        return max(0.0, (len(self.ticked & wanted) - len(self.ticked - wanted)) / len(wanted))

    def next_move(self) -> Move:
        """The expert turns the pages in order, and knows no page that it has not seen."""
        names = [one["Name"] for one in self._on(self.here)]
        if self.row:
            if self.row in names:
                return self._click_move("row tool", self.tool, f"there is {self.row}", row=self.row)
            return self._page_move(lambda entry: entry["Name"] == self.row, f"{self.row} is not here")
        wanted = self._wanted()
        for name in names:
            if (name in self.ticked) != (name in wanted):
                why = f"{name} is {'' if name in wanted else 'not '}of {self.town}"
                return self._click_move("row tick", "", why, row=name)
        if self.ticked - wanted or len(self.visited) < self.pages or wanted - self.ticked:
            return self._page_move(lambda one: (one["Name"] in self.ticked) != (one["Name"] in wanted), "page done")
        return self._click_move("tool", self.tool, f"all of {self.town} are ticked")

    def _page_move(self, is_sought: Callable[[dict[str, str]], bool], thought: str) -> Move:
        """To a page that was seen and has what is sought, else to the first that was not seen yet."""
        known = [page for page in sorted(self.visited) if any(map(is_sought, self._on(page)))]
        unseen = [page for page in range(1, self.pages + 1) if page not in self.visited]
        return self._click_move("page", str((known or unseen)[0]), thought)

    def _click_move(self, kind: str, label: str, thought: str, row: str = "") -> Move:
        [one] = [
            other
            for other in self._widgets()
            if other.kind == kind and other.get("label") == label and other.get("row") == row
        ]
        return Move(thought=thought, action=self.page.click_on(one))

    def _click(self, one: Element) -> Outcome:
        label, row = one.get("label"), one.get("row")
        match one.kind:
            case "page":
                self.here = int(label)
                self.visited.add(self.here)
            case "column":
                self.entries.sort(key=lambda entry: _sort_key(label, entry[label]))
                self.visited = {self.here}
            case "row tick":
                self.ticked ^= {row}
            case "row tool":
                return Outcome(said=f"{label} of {row}", is_over=True, is_success=(row, label) == (self.row, self.tool))
            case "tool":
                is_right = not self.row and label == self.tool and self.ticked == self._wanted()
                return Outcome(said=f"{label} for {len(self.ticked)} entries", is_over=True, is_success=is_right)
        return Outcome()

    def _wanted(self) -> set[str]:
        return {one["Name"] for one in self.entries if one["Town"] == self.town}

    def _on(self, page: int) -> list[dict[str, str]]:
        return self.entries[(page - 1) * self.per_page : page * self.per_page]

    def _widgets(self) -> list[Element]:
        unit, page = self.page.letters_px, self.page
        layout = WidgetLayout(letters=unit)
        layout.put("window", "", 0, 0, page.width, page.height)
        for index, tool in enumerate(self.tools):
            layout.put("tool", tool, (0.6 + 2.8 * index) * unit, 0.5 * unit, (3.0 + 2.8 * index) * unit, 2.9 * unit)
        body = Box(0.5 * unit, 3.6 * unit, page.width - 0.5 * unit, page.height)
        lay_entries(layout, body, self._on(self.here), self.columns, self.row_tools, self.ticked)
        top = body.y1 + ROW_HIGH * unit * (self.per_page + 1) + 0.6 * unit
        lay_pages(layout, unit, top, self.pages, self.here)
        return layout.widgets


def _sort_key(column: str, said: str) -> tuple[int, str]:
    """Amounts by size, dates by month and day, all else by letters."""
    if column == "Amount":
        return int(said), ""
    if column == "Date":
        day, month = said.split()
        return 100 * MONTHS.index(month) + int(day), ""
    return 0, said


def draw_list(rng: Generator, levels: Levels) -> ListInteraction:
    """Two to five pages; as often one entry is sought as all of a town."""
    letters = levels.whole("print", 18, 15, 12)
    per_page, pages = levels.whole("clutter", 4, 8, 14), levels.whole("clutter", 2, 3, 5)
    count = per_page * (pages - 1) + int(rng.integers(1, per_page + 1))
    entries, row_tools = drawn_entries(rng, count, shuffled(rng, TOWNS)[:TOWNS_OF_A_LIST])
    width, height = 34 * letters, round((3.6 + ROW_HIGH * (per_page + 1) + 3.2) * letters)
    tools = shuffled(rng, tuple(LIST_TOOLS))[:3]
    one, is_row = chosen(rng, entries), bool(rng.integers(2))
    return ListInteraction(
        page=ScrolledPage(width=width, height=height, seen=height, letters_px=letters, theme=chosen(rng, THEMES)),
        entries=entries,
        columns=shuffled(rng, COLUMNS),
        row_tools=row_tools,
        tools=tools,
        per_page=per_page,
        tool=chosen(rng, row_tools if is_row else tools),
        row=one["Name"] if is_row else "",
        town="" if is_row else one["Town"],
    )


WORK_LIST = InteractiveFamily(
    name="work_list",
    about="a list of several pages that can be sorted: one entry edited, or all entries of a town ticked",
    axes=AXES,
    draw=draw_list,
)
