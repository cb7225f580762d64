"""Programs on windows: where to click to do something. The answer is a point in the widget's box."""

from collections.abc import Callable, Sequence

from saccade.answer_boxes import written_boxes, written_point
from saccade.geometry import Box, Point
from saccade.gym.grammars.windows import BUTTONS, DIALOGS, FIELDS, MENUS, SIDES, TABS, TICKS, TOOLS, box_of
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words
from saccade.gym.programs.choosing import at, chosen, others
from saccade.gym.state import Element, SceneState

ALWAYS = ("control", "column", "page")
"""Kinds whose labels are all there wherever one is, so that none is absent."""
NEAR = 3
"""Widgets of the same kind that are wrong, the nearest first."""

TOOL_GOALS = {
    "save": "save your work",
    "print": "print the page",
    "search": "look for a word",
    "bin": "throw something away",
    "undo": "take back the last step",
    "plus": "add a new entry",
    "gear": "change the settings",
    "house": "go back to the start page",
    "star": "mark something as a favourite",
    "bell": "see the alerts",
    "envelope": "write a message",
    "padlock": "lock the program",
    "chart": "see a chart",
    "calendar": "pick a date",
    "download": "download a file",
}
ROW_GOALS = {"pencil": "edit the entry", "bin": "delete the entry", "star": "add a star to the entry"}
CONTROL_GOALS = {
    "minimise": "minimise the window",
    "maximise": "make the window as large as the screen",
    "close": "close the window",
}


def click_on(one: Element, words: Words, state: SceneState, *seen: Element) -> ProgramQuestion:
    """A click on a widget; what has to be read for it comes first in the evidence."""
    box, middle = box_of(one), _middle(box_of(one))
    rest = [other for other in state.of_kind(one.kind) if other is not one]
    rest.sort(key=lambda other: abs(at(other).x - middle.x) + abs(at(other).y - middle.y))
    return ProgramQuestion(
        answer=written_point(middle),
        kind="click",
        words=words,
        accepted=(written_boxes([box]),),
        near=tuple(written_point(_middle(box_of(other))) for other in rest[:NEAR]),
        evidence=(*(other.id for other in seen), one.id),
        conclusion="there it is",
    )


def _middle(box: Box) -> Point:
    """The whole pixel in the middle."""
    return Point(int(box.center.x), int(box.center.y))


def _labelled(state: SceneState, kind: str, label: str, row: str = "") -> Element:
    return next(one for one in state.of_kind(kind) if one.get("label") == label and one.get("row") == row)


def _point_of(state: SceneState, kind: str, label: str, row: str = "") -> str:
    return written_point(_middle(box_of(_labelled(state, kind, label, row))))


def _on_label(kind: str, labels: Sequence[str], *wordings: str, say: Callable[[str], str] = str) -> Program:
    """A click on the one widget of a kind with a label; ``say`` puts the label, or its goal, in words."""
    by_words = {say(label): label for label in labels}

    def solve(state: SceneState, words: Words) -> str:
        return _point_of(state, kind, by_words[words["it"]])

    def ask(asking: Asking) -> ProgramQuestion | None:
        there = asking.state.of_kind(kind)
        if not there:
            return None
        one = chosen(asking.rng, there)
        return click_on(one, {"it": say(one.attributes["label"])}, asking.state)

    def falsify(asking: Asking) -> ProgramQuestion | None:
        """A label that no widget has, where there are others of the kind."""
        there = asking.state.of_kind(kind)
        missing = others(labels, *(one.attributes["label"] for one in there))
        if not there or not missing:
            return None
        return click_on(there[0], {"it": say(chosen(asking.rng, missing))}, asking.state, *there[1:])

    name = f"click_{kind}".replace(" ", "_")
    return program(*wordings, name=name, solve=solve, falsify=None if kind in ALWAYS else falsify)(ask)


@program(
    "In the list, {goal} of {row}.",
    "Where do you click to {goal} of {row}?",
    "You want to {goal} of {row}. Click the right icon.",
    solve=lambda state, words: _point_of(state, "row tool", _tool_of(words["goal"]), words["row"]),
)
def _click_row_tool(asking: Asking) -> ProgramQuestion | None:
    there = asking.state.of_kind("row tool")
    if not there:
        return None
    one = chosen(asking.rng, there)
    name = [cell for cell in _cells(asking.state, one.attributes["row"]) if cell.get("column") == "Name"]
    words = {"goal": ROW_GOALS[one.attributes["label"]], "row": one.attributes["row"]}
    return click_on(one, words, asking.state, *name) if name else None


def _tool_of(goal: str) -> str:
    return next(tool for tool, said in ROW_GOALS.items() if said == goal)


def _cells(state: SceneState, row: str) -> list[Element]:
    return [cell for cell in state.of_kind("cell") if cell.get("row") == row]


@program(
    "Tick the row whose amount is {amount}.",
    "Select the entry with the amount {amount} by its box.",
    "Which box do you tick to choose the entry that has the amount {amount}?",
    solve=lambda state, words: written_point(
        _middle(box_of(next(one for one in state.of_kind("row tick") if one.get("amount") == words["amount"])))
    ),
)
def _click_row_tick(asking: Asking) -> ProgramQuestion | None:
    there = asking.state.of_kind("row tick")
    if not there:
        return None
    one = chosen(asking.rng, there)
    amount = [cell for cell in _cells(asking.state, one.attributes["row"]) if cell.get("column") == "Amount"]
    return click_on(one, {"amount": one.attributes["amount"]}, asking.state, *amount) if amount else None


WINDOW_PROGRAMS = (
    _on_label(
        "menu", MENUS, "Open the {it} menu.", "Where do you click to open the menu {it}?", "Click {it} in the menu bar."
    ),
    _on_label(
        "tool",
        TOOLS,
        "Which icon of the tool bar lets you {it}?",
        "Click the icon in the tool bar to {it}.",
        "Use the tool bar to {it}.",
        say=TOOL_GOALS.__getitem__,
    ),
    _on_label(
        "control", tuple(CONTROL_GOALS), "Where do you click to {it}?", "Click to {it}.", say=CONTROL_GOALS.__getitem__
    ),
    _on_label(
        "side",
        SIDES,
        "Go to {it} by the side bar.",
        "Click {it} in the side bar.",
        "Where in the side bar do you find {it}?",
    ),
    _on_label("tab", TABS, "Switch to the {it} tab.", "Open the tab {it}.", "Click the tab that says {it}."),
    _on_label(
        "column",
        ("Name", "Town", "Amount", "Date"),
        "Sort the list by {it}.",
        "Click the heading of the column {it}.",
        "Where do you click to sort by {it}?",
    ),
    _click_row_tool,
    _click_row_tick,
    _on_label(
        "page", tuple("123456"), "Go to page {it} of the list.", "Click the number that brings you to page {it}."
    ),
    _on_label(
        "input",
        FIELDS,
        "Where do you type the {it}?",
        "Click into the field for the {it}.",
        "You want to fill in the {it}. Where do you click?",
        say=lambda label: label if label == "E-mail" else label.lower(),
    ),
    _on_label(
        "tick",
        TICKS,
        "Switch the option \u201c{it}\u201d on or off.",
        "Click the box of \u201c{it}\u201d.",
        "Where do you click to change \u201c{it}\u201d?",
    ),
    _on_label(
        "button", BUTTONS, "Press the {it} button.", "Click the button that says {it}.", "Where is the button {it}?"
    ),
    _on_label(
        "answer",
        tuple(label for _, _, answers in DIALOGS for label in answers),
        "Answer the dialog with \u201c{it}\u201d.",
        "In the dialog, press \u201c{it}\u201d.",
    ),
)
