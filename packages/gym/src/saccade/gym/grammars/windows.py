"""Windows of programs as a desktop shows them: menus, tool bars, side bars, lists and forms, sometimes a dialog on top.

The grammar lays them out, looks only draw. Nothing has its usual place: orders are shuffled, the window lies anywhere.

Axes: ``size`` (how large the screen is), ``clutter`` (how many rows, tools, fields), ``print`` (how small letters are).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from numpy.random import Generator

from saccade.geometry import Box
from saccade.gym.family import Grammar
from saccade.gym.grammars.words import MONTHS, PEOPLE, SURNAMES, TOWNS
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState

AXES = ("size", "clutter", "print")
MENUS = ("File", "Edit", "View", "Insert", "Format", "Tools", "Data", "Window", "Help", "History")
SIDES = (
    "Inbox", "Drafts", "Sent", "Archive", "Reports", "Customers", "Orders", "Invoices", "Calendar", "Contacts", "Team",
    "Projects",
)  # fmt: skip
TABS = ("General", "Account", "Security", "Sharing", "Display", "Network", "Sound", "Printing", "Privacy", "Billing")
COLUMNS = ("Name", "Town", "Amount", "Date")
FIELDS = (
    "First name", "Last name", "Company", "E-mail", "Telephone", "Street", "Postcode", "Country", "Tax number",
    "Web site", "Job title", "Department", "Account number", "Birthday", "Nickname", "Language",
)  # fmt: skip
TICKS = (
    "Newsletter", "Keep me signed in", "Dark mode", "Send receipts", "Show previews", "Automatic updates",
    "Share my calendar", "Spell checking", "Sound alerts", "Weekly summary",
)  # fmt: skip
BUTTONS = ("Save", "Cancel", "Apply", "Reset", "Preview", "Send", "Export", "Back", "Next", "Duplicate")
DIALOGS = (
    ("Unsaved changes", "What should become of your changes?", ("Keep", "Discard", "Go back")),
    ("Delete entry", "The entry will be gone for good.", ("Delete it", "Leave it", "Ask me later")),
    ("New version", "A new version can be installed now.", ("Install", "Remind me", "Skip")),
)
TOOLS = (
    "save", "print", "search", "bin", "undo", "plus", "gear", "house", "star", "bell", "envelope", "padlock", "chart",
    "calendar", "download",
)  # fmt: skip
ROW_TOOLS = ("pencil", "bin", "star")
ROW_HIGH = 2.1
"""How high a row of a list is, in letters."""
SHARES = {"Name": 0.3, "Town": 0.25, "Amount": 0.2, "Date": 0.25}
"""How wide columns are, as a share of their list."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowState(SceneState):
    """Widgets, each with its box in ``numbers``; a widget's kind says what it is, its label what it says.

    Kinds: "window", "title", "control", "menu", "tool", "side", "tab", "column", "cell", "row tick", "row tool",
    "field", "input", "tick", "button", "page", "dialog", "message", "answer", "covered".
    """

    letters_px: int


def box_of(one: Element) -> Box:
    """A widget's box in pixels."""
    left, top, right, bottom = (one.numbers[side] for side in ("left", "top", "right", "bottom"))
    return Box(left, top, right, bottom)


@dataclass(kw_only=True, slots=True)
class WidgetLayout:
    """Widgets as they are laid out; lengths follow the letters."""

    letters: int
    widgets: list[Element] = field(default_factory=list)

    def put(
        self, kind: str, label: str, left: float, top: float, right: float, bottom: float, **attributes: str
    ) -> None:
        """A widget; ``attributes`` say more of it."""
        sides = {"left": left, "top": top, "right": right, "bottom": bottom}
        numbers = {name: float(round(side)) for name, side in sides.items()}
        box = Box(*numbers.values())
        self.widgets.append(
            Element(
                id=f"{kind}{len(self.widgets)}".replace(" ", "_"),
                kind=kind,
                name=f"{kind} {label}".strip(),
                attributes={"label": label, **attributes},
                numbers=numbers,
                center=box.center,
            )
        )

    def wide(self, words: str, pad: float = 1.0) -> float:
        """About how wide a line of words is, with room at both sides."""
        return (0.6 * len(words) + 2 * pad) * self.letters

    def bar(self, kind: str, labels: Sequence[str], left: float, top: float, right: float, high: float) -> None:
        """Labels side by side, as many as there is room for."""
        for label in labels:
            wide = self.wide(label)
            if left + wide > right:
                return
            self.put(kind, label, left, top, left + wide, top + high)
            left += wide


@dataclass(kw_only=True, slots=True)
class _DrawnWidgets(WidgetLayout):
    """A layout by chance."""

    rng: Generator


def draw_window(rng: Generator, levels: Levels) -> WindowState:
    """A window somewhere on the screen: a list or a form in it, in a third of all with a dialog."""
    width, height = levels.whole("size", 1000, 1280, 1680), levels.whole("size", 700, 860, 1050)
    letters = levels.whole("print", 16, 14, 12)
    layout = _DrawnWidgets(rng=rng, letters=letters)
    wide, high = (round(side * float(rng.uniform(0.72, 0.94))) for side in (width, height))
    left, top = int(rng.integers(width - wide)), int(rng.integers(height - high))
    box = Box(left, top, left + wide, top + high)
    layout.put("window", "", *box.as_tuple())
    body = _frame(layout, box, levels)
    if rng.integers(2):
        _list(layout, body, levels)
    else:
        _form(layout, body, levels)
    if rng.integers(3) == 0:
        _dialog(layout, body)
    return WindowState(elements=tuple(layout.widgets), width=width, height=height, letters_px=letters)


def _frame(layout: _DrawnWidgets, box: Box, levels: Levels) -> Box:
    """Title, menus, tools and side bar; what is left for the body."""
    unit, rng = layout.letters, layout.rng
    title = f"{chosen(rng, TOWNS)} {chosen(rng, ('Office', 'Manager', 'Studio', 'Desk', 'Planner'))}"
    layout.put("title", title, box.x1, box.y1, box.x2, box.y1 + 2.2 * unit)
    at_right = bool(rng.integers(2))
    for index, control in enumerate(("minimise", "maximise", "close")):
        x = box.x2 - (3 - index) * 2.4 * unit if at_right else box.x1 + (2 - index) * 2.4 * unit
        layout.put("control", control, x, box.y1 + 0.2 * unit, x + 2.2 * unit, box.y1 + 2.0 * unit)
    y = box.y1 + 2.4 * unit
    count = levels.whole("clutter", 5, 7, 9)
    layout.bar("menu", shuffled(rng, MENUS)[:count], box.x1 + 0.5 * unit, y, box.x2, 1.9 * unit)
    y += 2.1 * unit
    for index, tool in enumerate(shuffled(rng, TOOLS)[: levels.whole("clutter", 6, 9, 13)]):
        x = box.x1 + (0.6 + 2.8 * index + 1.0 * (index // 4)) * unit
        layout.put("tool", tool, x, y, x + 2.4 * unit, y + 2.4 * unit)
    y += 3.0 * unit
    side = 9.0 * unit
    is_left = bool(rng.integers(2))
    x = box.x1 if is_left else box.x2 - side
    for index, label in enumerate(shuffled(rng, SIDES)[: levels.whole("clutter", 5, 8, 11)]):
        layout.put("side", label, x, y + 2.2 * unit * index, x + side, y + 2.2 * unit * (index + 1))
    return Box(box.x1 + side + unit, y, box.x2 - unit, box.y2) if is_left else Box(box.x1 + unit, y, x - unit, box.y2)


def _list(layout: _DrawnWidgets, body: Box, levels: Levels) -> None:
    """A table of entries, each with a box to tick and tools of its own; pages below."""
    unit, rng = layout.letters, layout.rng
    rows = min(levels.whole("clutter", 8, 13, 20), int((body.height - 5.5 * unit) / (ROW_HIGH * unit)))
    columns = shuffled(rng, COLUMNS)
    entries, tools = drawn_entries(rng, rows)
    wide = body.width - (2.2 + 2.1 * len(ROW_TOOLS)) * unit
    lay_entries(layout, body, entries, columns, tools)
    left = body.x1 + float(rng.uniform(0, 0.5)) * wide
    top = body.y1 + ROW_HIGH * unit * (rows + 1) + 0.6 * unit
    lay_pages(layout, left, top, 6, int(rng.integers(1, 7)))


def drawn_entries(rng: Generator, count: int, towns: Sequence[str] = TOWNS) -> tuple[list[dict[str, str]], list[str]]:
    """Entries with a value for each of ``COLUMNS``, no name or amount twice, and the order of the rows' tools."""
    names = shuffled(rng, [f"{first} {last}" for first in PEOPLE for last in SURNAMES])
    amounts, tools = rng.permutation(range(101, 1000)), shuffled(rng, ROW_TOOLS)
    entries = []
    for index in range(count):
        town, date = chosen(rng, towns), f"{int(rng.integers(1, 29))} {chosen(rng, MONTHS)}"
        entries.append({"Name": names[index], "Town": town, "Amount": str(int(amounts[index])), "Date": date})
    return entries, tools


def lay_entries(
    layout: WidgetLayout,
    body: Box,
    entries: Sequence[Mapping[str, str]],
    columns: Sequence[str],
    tools: Sequence[str],
    ticked: Collection[str] = (),
) -> None:
    """Headings of columns, and a row for each entry; ``ticked`` are names of those whose box is ticked."""
    unit = layout.letters
    row_high = ROW_HIGH * unit
    start, wide = body.x1 + 2.2 * unit, body.width - (2.2 + 2.1 * len(ROW_TOOLS)) * unit
    edges, x = {}, start
    for column in columns:
        edges[column] = (x, x + SHARES[column] * wide)
        layout.put("column", column, x, body.y1, x + SHARES[column] * wide, body.y1 + row_high)
        x += SHARES[column] * wide
    for index, said in enumerate(entries):
        y = body.y1 + row_high * (index + 1)
        of = {"row": said["Name"], "amount": said["Amount"]}
        on = {"is_on": "yes"} if said["Name"] in ticked else {}
        left, top = body.x1 + 0.5 * unit, y + 0.5 * unit
        layout.put("row tick", "", left, top, left + 1.1 * unit, top + 1.1 * unit, **of, **on)
        for column in columns:
            layout.put("cell", said[column], edges[column][0], y, edges[column][1], y + row_high, column=column, **of)
        for place, tool in enumerate(tools):
            left = x + (0.2 + 2.1 * place) * unit
            layout.put("row tool", tool, left, y + 0.2 * unit, left + 1.8 * unit, y + 2.0 * unit, **of)


def lay_pages(layout: WidgetLayout, left: float, top: float, count: int, here: int) -> None:
    """Numbers of pages, the present one marked."""
    unit = layout.letters
    for page in range(1, count + 1):
        is_here = "yes" if page == here else ""
        layout.put("page", str(page), left, top, left + 2 * unit, top + 2 * unit, is_here=is_here)
        left += 2.3 * unit


def _form(layout: _DrawnWidgets, body: Box, levels: Levels) -> None:
    """Tabs, input fields in two columns, boxes to tick, and buttons below."""
    unit, rng = layout.letters, layout.rng
    layout.bar("tab", shuffled(rng, TABS)[: levels.whole("clutter", 3, 5, 7)], body.x1, body.y1, body.x2, 2.2 * unit)
    y, half = body.y1 + 3.2 * unit, body.width / 2
    deep = int((body.height - 7 * unit) / (3.9 * unit))
    labels = shuffled(rng, FIELDS)[: min(levels.whole("clutter", 5, 9, 14), 2 * max(1, deep - 2))]
    for index, label in enumerate(labels):
        row, column = divmod(index, 2)
        x, top = body.x1 + column * half, y + row * 3.9 * unit
        layout.put("field", label, x, top, x + layout.wide(label, 0.2), top + 1.4 * unit)
        layout.put("input", label, x, top + 1.5 * unit, x + half - 1.5 * unit, top + 3.5 * unit)
    y += ((len(labels) + 1) // 2) * 3.9 * unit + 0.2 * unit
    for index, label in enumerate(shuffled(rng, TICKS)[: levels.whole("clutter", 2, 4, 6)]):
        row, column = divmod(index, 2)
        x, top = body.x1 + column * half, y + row * 2.1 * unit
        if top + 5.5 * unit > body.y2:
            break
        is_on = "yes" if rng.integers(2) else ""
        layout.put("tick", label, x, top, x + layout.wide(label, 1.2), top + 1.7 * unit, is_on=is_on)
    buttons = shuffled(rng, BUTTONS)[: levels.whole("clutter", 2, 3, 4)]
    x, top = body.x2, body.y2 - 3.2 * unit
    for label in buttons:
        x -= layout.wide(label, 1.2) + 0.8 * unit
        layout.put("button", label, x, top, x + layout.wide(label, 1.2), top + 2.3 * unit)


def _dialog(layout: _DrawnWidgets, body: Box) -> None:
    """A dialog over the body; what lies under it, in part too, is of the kind "covered": no click on it is asked."""
    unit, rng = layout.letters, layout.rng
    title, message, answers = DIALOGS[int(rng.integers(len(DIALOGS)))]
    wide, high = min(30 * unit, body.width), 10 * unit
    x = body.x1 + float(rng.uniform(0, body.width - wide))
    y = body.y1 + float(rng.uniform(0, max(1.0, body.height - high)))
    box = Box(x, y, x + wide, y + high)
    keeps = ("window", "title")
    layout.widgets = [
        one if one.kind in keeps or not _touches(box_of(one), box) else _covered(one) for one in layout.widgets
    ]
    layout.put("dialog", title, *box.as_tuple())
    layout.put("message", message, x + unit, y + 3 * unit, x + wide - unit, y + 5 * unit)
    left = x + unit
    for label in shuffled(rng, answers):
        layout.put("answer", label, left, y + 7 * unit, left + layout.wide(label, 0.9), y + 9.2 * unit)
        left += layout.wide(label, 0.9) + 0.6 * unit


def _covered(one: Element) -> Element:
    return replace(one, kind="covered", attributes={**one.attributes, "drawn_as": one.kind})


def _touches(one: Box, other: Box) -> bool:
    return one.x1 < other.x2 and other.x1 < one.x2 and one.y1 < other.y2 and other.y1 < one.y2


WINDOW = Grammar(name="windows", draw=draw_window, axes=AXES)
