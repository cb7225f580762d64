"""``fill_form``: a card with data, a form below or above it, and a button that hands the form in.

The card names some of the form's fields and options. All others must stay as they are, and the button must be the one
that the goal names, so that neither filling in everything nor pressing anything pays.

Axes: ``clutter`` (how many fields and options), ``print`` (how small letters are), ``size`` (how wide the page is, and
how little of it is seen).
"""

from dataclasses import dataclass, field, replace

from numpy.random import Generator
from PIL import Image

from saccade.gym.grammars.windows import BUTTONS, FIELDS, TICKS, WidgetLayout
from saccade.gym.grammars.words import MONTHS, PEOPLE, SURNAMES, TOWNS
from saccade.gym.interactive.interactive_family import (
    MAX_TYPED,
    Command,
    InteractiveFamily,
    read_command,
    unknown_action,
)
from saccade.gym.interactive.page import CLICK, SCROLL, THEMES, ScrolledPage
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element
from saccade.tasks.interaction import Move, Outcome, no_place, place_in

AXES = ("clutter", "print", "size")
STREETS = ("Mill Lane", "High Street", "Park Road", "Station Road", "Church Hill", "River Walk")
COUNTRIES = ("Norway", "Peru", "Ghana", "Japan", "Chile", "Malta", "Kenya", "Nepal")
JOBS = ("baker", "pilot", "nurse", "welder", "clerk", "tailor", "plumber", "teacher")


def value_for(label: str, rng: Generator) -> str:
    """What a card says for a field of this label."""
    options = {
        "First name": PEOPLE, "Last name": SURNAMES, "Street": STREETS, "Country": COUNTRIES, "Job title": JOBS,
        "Language": ("English", "Spanish", "Arabic", "French", "Hindi"), "Nickname": PEOPLE,
        "Department": ("sales", "service", "design", "repairs"), "Company": tuple(f"{town} Ltd" for town in TOWNS),
    }  # fmt: skip
    if label in options:
        return chosen(rng, options[label])
    if label == "Birthday":
        return f"{int(rng.integers(1, 29))} {chosen(rng, MONTHS)}"
    if label == "E-mail":
        return f"{chosen(rng, PEOPLE)}@{chosen(rng, TOWNS)}.org".lower()
    if label == "Web site":
        return f"www.{chosen(rng, TOWNS)}.org".lower()
    return str(int(rng.integers(10_000, 100_000)))


@dataclass(slots=True)
class FormInteraction:
    """A form that is being filled in."""

    page: ScrolledPage
    widgets: tuple[Element, ...]
    wanted: dict[str, str]
    """What each field of the form is to say; "" for those that stay empty."""
    wanted_on: dict[str, bool]
    button: str
    typed: dict[str, str] = field(default_factory=dict)
    on: dict[str, bool] = field(default_factory=dict)
    active: str = ""
    """The field that takes what is typed; "" before one was clicked."""
    unread: set[str] = field(default_factory=set)
    """Lines of the card that were not in sight yet. The expert looks for them before it fills in anything."""

    def __post_init__(self) -> None:
        self.unread = {one.id for one in self.widgets if one.kind == "message"}
        self._read()

    @property
    def goal(self) -> str:
        return (
            "Fill in the form with what the card says and switch on the options that the card names. Leave all other "
            f"fields and options as they are. Then press {self.button}, once."
        )

    @property
    def actions(self) -> str:
        return (
            f"The actions are: {CLICK}; 'type WORDS' writes into the field that was clicked last, in place of what it "
            f"says; {SCROLL} move the page."
        )

    @property
    def split_key(self) -> bytes:
        return repr((self.goal, self.wanted, self.wanted_on)).encode()

    def picture(self) -> Image.Image:
        return self.page.picture([self._now(one) for one in self.widgets])

    def caption(self) -> str:
        return self.page.caption([self._now(one) for one in self.widgets])

    def act(self, action: str) -> Outcome:
        command = read_command(action, ("click", "type", "scroll"))
        if command is None:
            return unknown_action(action, self.actions)
        if command.verb == "scroll":
            outcome = self.page.scroll(command)
            self._read()
            return outcome
        if command.verb == "type":
            return self._type(command)
        place = place_in(command.rest)
        if place is None:
            return no_place("click")
        return self._click(self.page.clicked(self.widgets, place))

    def progress(self) -> float:
        right = [self.typed.get(label, "") == value for label, value in self.wanted.items()]
        right += [self.on[label] == value for label, value in self.wanted_on.items()]
        return sum(right) / len(right)

    def next_move(self) -> Move:
        for one in self.widgets:
            if one.id in self.unread and (way := self.page.way_to(one)):
                return Move(thought="the card is not whole in sight", action=way)
        for label, value in self.wanted.items():
            if self.typed.get(label, "") != value:
                if self.active == label:
                    why = f"the card says {label}: {value}" if value else f"the card does not name {label}"
                    return Move(thought=why, action=f"type {value}".strip())
                return self._click_move("input", label, f"the field {label} is to say {value or 'nothing'}")
        for label, is_on in self.wanted_on.items():
            if self.on[label] != is_on:
                return self._click_move("tick", label, f"{label} is to be {'on' if is_on else 'off'}")
        return self._click_move("button", self.button, "all is filled in")

    def _click_move(self, kind: str, label: str, thought: str) -> Move:
        one = next(other for other in self.widgets if other.kind == kind and other.get("label") == label)
        way = self.page.way_to(one)
        return Move(thought=thought, action=way or self.page.click_on(one))

    def _read(self) -> None:
        """Notes which lines of the card are in sight."""
        self.unread -= {one.id for one in self.widgets if one.id in self.unread and self.page.way_to(one) is None}

    def _type(self, command: Command) -> Outcome:
        words = command.rest
        if len(words) > MAX_TYPED:
            return Outcome(invalid=f"no more than {MAX_TYPED} characters can be typed at once")
        if not self.active:
            return Outcome(said="No field was clicked: nothing was typed.")
        if len(words) >= 2 and words[0] == words[-1] and words[0] in "\"'":
            words = words[1:-1]
        self.typed[self.active] = " ".join(words.split())
        return Outcome()

    def _click(self, one: Element | None) -> Outcome:
        label = one.get("label") if one else ""
        self.active = label if one and one.kind == "input" else ""
        if one and one.kind == "tick":
            self.on[label] = not self.on[label]
        if not one or one.kind != "button":
            return Outcome()
        is_right = label == self.button and self.progress() == 1
        return Outcome(said=f"{label} was pressed.", is_over=True, is_success=is_right)

    def _now(self, one: Element) -> Element:
        """A widget as it looks now."""
        label = one.get("label")
        if one.kind == "input":
            is_active = "yes" if label == self.active else ""
            return replace(
                one, attributes={**one.attributes, "typed": self.typed.get(label, ""), "is_active": is_active}
            )
        if one.kind == "tick":
            return replace(one, attributes={**one.attributes, "is_on": "yes" if self.on[label] else ""})
        return one


def draw_form(rng: Generator, levels: Levels) -> FormInteraction:
    """A card and a form in any order, on a page about twice as high as what is seen of it."""
    letters = levels.whole("print", 20, 16, 13)
    width, seen = levels.whole("size", 360, 460, 620), levels.whole("size", 420, 400, 380)
    labels = shuffled(rng, FIELDS)[: levels.whole("clutter", 2, 5, 9)]
    options = shuffled(rng, TICKS)[: levels.whole("clutter", 1, 3, 5)]
    named = labels[: max(1, round(0.7 * len(labels)))]
    wanted = {label: value_for(label, rng) for label in named}
    on = {label: bool(rng.integers(2)) for label in options}
    switched = [label for label in options if not on[label] and rng.integers(2)]
    layout = WidgetLayout(letters=letters)
    layout.put("window", "", 0, 0, width, 10_000)
    layout.put("title", f"{chosen(rng, TOWNS)} Office", 0, 0, width, 2.2 * letters)
    said = [f"{label}: {wanted[label]}" for label in shuffled(rng, named)] + [f"Switch on: {one}" for one in switched]
    buttons = shuffled(rng, BUTTONS)[:3]
    parts = shuffled(rng, ("card", "form"))
    y = 3.2 * letters
    for part in parts:
        y = _lay_card(layout, said, y, width) if part == "card" else _lay_form(layout, labels, options, y, width)
    y = _lay_buttons(layout, buttons, y, width)
    height = max(seen, round(y + letters))
    window, *rest = layout.widgets
    whole = replace(window, numbers={**window.numbers, "bottom": float(height)})
    return FormInteraction(
        page=ScrolledPage(width=width, height=height, seen=seen, letters_px=letters, theme=chosen(rng, THEMES)),
        widgets=(whole, *rest),
        wanted={label: wanted.get(label, "") for label in labels},
        wanted_on={label: on[label] or label in switched for label in options},
        button=chosen(rng, buttons),
        on=on,
    )


def _lay_card(layout: WidgetLayout, said: list[str], top: float, width: int) -> float:
    """The card's lines in a frame; where the next part begins."""
    unit = layout.letters
    bottom = top + (1.7 * len(said) + 1) * unit
    layout.put("card", "", unit, top, width - unit, bottom)
    for index, line in enumerate(said):
        y = top + (0.5 + 1.7 * index) * unit
        layout.put("message", line, 1.5 * unit, y, width - 1.5 * unit, y + 1.7 * unit)
    return bottom + unit


def _lay_form(layout: WidgetLayout, labels: list[str], options: list[str], top: float, width: int) -> float:
    """Fields below each other, then the options; where the next part begins."""
    unit = layout.letters
    for label in labels:
        layout.put("field", label, unit, top, width - unit, top + 1.4 * unit)
        layout.put("input", label, unit, top + 1.5 * unit, width - unit, top + 3.5 * unit)
        top += 4.1 * unit
    for label in options:
        layout.put("tick", label, unit, top, unit + layout.wide(label, 1.2), top + 1.7 * unit)
        top += 2.2 * unit
    return top + 0.6 * unit


def _lay_buttons(layout: WidgetLayout, labels: list[str], top: float, width: int) -> float:
    x, unit = float(layout.letters), layout.letters
    for label in labels:
        wide = layout.wide(label, 0.9)
        if x + wide > width:
            x, top = float(unit), top + 2.9 * unit
        layout.put("button", label, x, top, x + wide, top + 2.3 * unit)
        x += wide + 0.6 * unit
    return top + 2.9 * unit


FILL_FORM = InteractiveFamily(
    name="fill_form",
    about="a form on a page that scrolls: filled in by what a card says, and handed in by the right button",
    axes=AXES,
    draw=draw_form,
)
