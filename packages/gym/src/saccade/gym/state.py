"""The state of a scene: what is there, with its attributes, numbers and relations, whatever it will look like.

A grammar draws a state from a generator, a look makes pictures of it, a program asks a question about it. A domain with
more to say than elements and links (walls of a maze, a grammar's own series) subclasses ``SceneState``; a program that
needs it narrows by ``as_state``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from saccade.geometry import Point


@dataclass(frozen=True, kw_only=True, slots=True)
class Element:
    """A thing of a scene."""

    id: str
    """Its own in the state; regions of a rendering are found by it."""
    kind: str
    """What sort of thing it is, as "thing", "bar" or "cell": programs choose by it."""
    name: str
    """How texts call it; several elements may share a name."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Words by kind of attribute: the values of one kind exclude each other ("colour", "shape", "mark")."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """Quantities by name ("value", "radius")."""
    center: Point | None = None
    """In pixels of the state's canvas, where the grammar lays out; None where the look does."""
    depth: float = 0.0
    """Distance from the viewer in the scene's own unit; what is nearer hides what is farther."""
    view: int = 0
    """The picture that shows it."""

    def get(self, attribute: str) -> str:
        """The value of an attribute; "" where it has none of this kind."""
        return self.attributes.get(attribute, "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A relation between two elements that is part of the state, as an edge of a graph."""

    kind: str
    first: str
    second: str
    number: float = 0.0
    """A weight or a length, where the relation has one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneState:
    """Everything that is true of a scene."""

    elements: tuple[Element, ...]
    links: tuple[Link, ...] = ()
    width: int = 256
    height: int = 256
    views: int = 1
    """Number of pictures."""

    def of_kind(self, kind: str) -> tuple[Element, ...]:
        """The elements of a kind, in the state's order."""
        return tuple(element for element in self.elements if element.kind == kind)

    def element(self, identity: str) -> Element:
        """The element with this id; KeyError where there is none."""
        for element in self.elements:
            if element.id == identity:
                return element
        raise KeyError(identity)


State = TypeVar("State", bound=SceneState)


def as_state(state: SceneState, kind: type[State]) -> State:
    """The state as its own class; TypeError where a program was put on a grammar that does not draw it."""
    if not isinstance(state, kind):
        raise TypeError(f"a program for {kind.__name__} was asked about a {type(state).__name__}")
    return state
