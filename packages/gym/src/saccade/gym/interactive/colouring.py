"""``colour_graph``: discs joined by lines are given colours so that no two joined ones are alike. Any such end counts.

Axes: ``clutter`` (how many discs), ``links`` (how many lines beyond a tree).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.random import Generator
from PIL import Image

from saccade.gym.grammars.graphs import NetworkState, networks_drawn
from saccade.gym.interactive.interactive_family import InteractiveFamily, read_command, unknown_action
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.programs.choosing import shuffled
from saccade.tasks.drawing import BACKGROUND, COLOURS, INK, PAPER
from saccade.tasks.interaction import Move, Outcome

AXES = ("clutter", "links")
THREE = ("red", "green", "blue")
LETTERS = tuple("ABCDEFGHJKLMNPQRSTUVWXYZ")
RADIUS_PX = 15


@dataclass(slots=True)
class ColourInteraction:
    """A graph whose discs are being coloured."""

    network: NetworkState
    given: Mapping[str, str]
    """Colours that are there from the start and stay."""
    painted: dict[str, str]

    @property
    def goal(self) -> str:
        return (
            "Give every white disc a colour so that no two discs that a line joins have the same one. The discs that "
            "have a colour from the start keep it."
        )

    @property
    def actions(self) -> str:
        return "The action is 'paint LETTER COLOUR', with the letter of a disc and red, green, blue or white."

    @property
    def split_key(self) -> bytes:
        return repr((self.network.links, self.network.of_kind("node"), sorted(self.given.items()))).encode()

    def picture(self) -> Image.Image:
        painter = Painter(self.network.width, self.network.height, BACKGROUND)
        places = {one.id: one.center for one in self.network.of_kind("node")}
        for link in self.network.links:
            first, second = places[link.first], places[link.second]
            assert first is not None
            assert second is not None
            painter.line("", [first, second], 3, INK)
        for letter, center in places.items():
            assert center is not None
            colour = self._colours().get(letter)
            painter.disc(letter, center, RADIUS_PX + 2 * (letter in self.given), INK)
            painter.disc(letter, center, RADIUS_PX - 2, COLOURS[colour] if colour else PAPER)
            painter.text(letter, letter, center, 16, PAPER if colour else INK)
        return painter.image

    def caption(self) -> str:
        colours = self._colours()
        return "\n".join(
            f"{one.id} is {colours.get(one.id, 'white')}, joined with {' '.join(_neighbours(self.network, one.id))}"
            for one in self.network.of_kind("node")
        )

    def act(self, action: str) -> Outcome:
        command = read_command(action, ("paint",))
        letter, _, colour = (command.rest if command else "").partition(" ")
        letter, colour = letter.strip(",:").upper(), colour.strip().lower()
        if colour not in (*THREE, "white") or letter not in [one.id for one in self.network.of_kind("node")]:
            return unknown_action(action, self.actions)
        if letter in self.given:
            return Outcome(said=f"{letter} has its colour from the start and keeps it.")
        self.painted.pop(letter, None)
        if colour != "white":
            self.painted[letter] = colour
        is_done = self.progress() == 1
        return Outcome(is_over=is_done, is_success=is_done)

    def progress(self) -> float:
        """The share of the discs to paint that have a colour which no disc beside them has."""
        colours = self._colours()
        free = [one.id for one in self.network.of_kind("node") if one.id not in self.given]
        fits = [letter in colours and colours[letter] not in self._beside(letter, colours) for letter in free]
        return sum(fits) / len(fits)

    def next_move(self) -> Move:
        free = [one.id for one in self.network.of_kind("node") if one.id not in self.given]
        end = _completion(self.network, self._colours(), free) or _completion(self.network, dict(self.given), free)
        assert end is not None
        letter = next(one for one in free if self.painted.get(one) != end[one])
        beside = ", ".join(sorted(self._beside(letter, self._colours()))) or "no colour yet"
        return Move(thought=f"beside {letter} is {beside}", action=f"paint {letter} {end[letter]}")

    def _colours(self) -> dict[str, str]:
        return {**self.given, **self.painted}

    def _beside(self, letter: str, colours: Mapping[str, str]) -> set[str]:
        return {colours[other] for other in _neighbours(self.network, letter) if other in colours}


def _neighbours(network: NetworkState, letter: str) -> list[str]:
    pairs = [(link.first, link.second) for link in network.links]
    return [b if a == letter else a for a, b in pairs if letter in (a, b)]


def _completion(network: NetworkState, colours: dict[str, str], free: list[str]) -> dict[str, str] | None:
    """The colours, with one for each of ``free`` that lacks one, so that joined discs differ; None where none is."""
    for letter, colour in colours.items():
        if colour in [colours.get(other) for other in _neighbours(network, letter)]:
            return None
    left = [one for one in free if one not in colours]
    if not left:
        return colours
    tried = (_completion(network, {**colours, left[0]: colour}, free) for colour in THREE)
    return next((found for found in tried if found is not None), None)


def draw_colouring(rng: Generator, levels: Levels) -> ColourInteraction:
    """A graph of four to thirteen discs that three colours suffice for; a third of them have theirs."""
    draw = networks_drawn(LETTERS, "disc", "line", (420, 340), is_measured=False)
    while True:
        network = draw(rng, levels)
        letters = [one.id for one in network.of_kind("node")]
        order = shuffled(rng, letters)
        end = _completion(network, {}, order)
        if end is None:
            continue
        names = dict(zip(THREE, shuffled(rng, THREE)))
        given = {letter: names[end[letter]] for letter in order[: max(1, len(order) // 3)]}
        return ColourInteraction(network=network, given=given, painted={})


COLOUR_GRAPH = InteractiveFamily(
    name="colour_graph",
    about="discs joined by lines, which get three colours so that joined ones differ; many ends count",
    axes=AXES,
    draw=draw_colouring,
)
