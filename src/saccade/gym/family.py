"""A family: a grammar that draws states, looks that draw pictures of them, programs that ask about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from numpy.random import Generator

from saccade.errors import UserError
from saccade.gym.extras import check_extra
from saccade.gym.levels import Levels
from saccade.gym.program import UNANSWERABLE, Asking, ExpertKind, Program
from saccade.gym.rendering import Renderer
from saccade.gym.sample import GymSample, compose, find_question, state_key
from saccade.gym.state import SceneState
from saccade.tasks.scene import FamilyFunction, Scene

MOST_STATES = 400
"""States that are drawn until a program finds a question in one."""

STATES_PER_COIN = 100
"""After so many states another answer is wanted."""

IF_NOT = f" If the picture does not tell, answer {UNANSWERABLE}."
"""Follows every question of a draw that has unanswerable ones in it, so that it gives nothing away."""

Accepts = Callable[[bytes], bool]
"""Whether a state of this key is wanted."""

GrammarFunction = Callable[[Generator, Levels], SceneState]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grammar:
    """Draws states from a generator and levels."""

    name: str
    draw: GrammarFunction
    axes: tuple[str, ...] = ()
    hardness: Callable[[SceneState], float] | None = None
    """What difficulty raises, for the audit; None: the number of elements."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GymFamily:
    """A task family (``FamilyFunction``) whose programs and looks can be asked for by name."""

    name: str
    about: str
    """One line for ``saccade families`` and the family's page."""
    domain: str
    """One of ``saccade.gym.registry.DOMAINS``."""
    grammar: Grammar
    renderers: tuple[Renderer, ...]
    """Looks of which each draw takes one. All need the same extra, or none: no picture depends on what is installed."""
    programs: tuple[Program, ...]
    more_renderers: tuple[Renderer, ...] = ()
    """Looks that are drawn where they are named alone (``FAMILY@LOOK``)."""
    is_split_by_state: bool = False
    """Whether splits share no state, rather than no picture: for looks that are slow, which then draw no picture in
    vain. Every state must have a look of its own."""
    is_fine_print: bool = False
    """Whether evidence is in ``fine.py``'s print: experts look at squares of 64 pixels."""
    needs_closer: bool = False
    """Whether the view of the whole picture (64 pixels wide) leaves every question at chance."""

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def axes(self) -> tuple[str, ...]:
        """Every named axis of difficulty, each once."""
        parts: tuple[Grammar | Renderer | Program, ...] = (self.grammar, *self.all_renderers, *self.programs)
        return tuple(dict.fromkeys(axis for part in parts for axis in part.axes))

    @property
    def all_renderers(self) -> tuple[Renderer, ...]:
        return (*self.renderers, *self.more_renderers)

    @property
    def extra(self) -> str:
        """The extra that its usual looks need; "" for none."""
        return next((renderer.extra for renderer in self.renderers if renderer.extra), "")

    def __call__(self, rng: Generator, difficulty: float) -> Scene:
        return self.sample(rng, Levels(base=difficulty)).scene

    def within(self, accepts: Accepts) -> FamilyFunction:
        """The family's draws of states that are accepted, where it is split by them."""
        if not self.is_split_by_state:
            return self
        return lambda rng, difficulty: self.sample(rng, Levels(base=difficulty), accepts=accepts).scene

    def program(self, name: str) -> Program:
        """The program of this name; ``UserError`` names those that there are."""
        return _named(self.programs, name, f"program of the family {self.name!r}")

    def renderer(self, name: str) -> Renderer:
        """The look of this name; ``UserError`` names those that there are."""
        return _named(self.all_renderers, name, f"look of the family {self.name!r}")

    def sample(
        self,
        rng: Generator,
        levels: Levels,
        *,
        program: Program | None = None,
        renderer: Renderer | None = None,
        expert: ExpertKind | None = None,
        unanswerable: float | None = None,
        accepts: Accepts | None = None,
    ) -> GymSample:
        """A scene: its program and look drawn where they are not given.

        ``unanswerable`` is the share of questions that the picture does not answer; None: none, and the question does
        not speak of it. An ``expert`` that the program does not have is its usual one.
        """
        chosen = program or self.programs[int(rng.integers(len(self.programs)))]
        look = renderer or self.renderers[int(rng.integers(len(self.renderers)))]
        check_extra(look)
        is_answerable = unanswerable is None or float(rng.random()) >= unanswerable
        for turn in range(MOST_STATES):
            if turn % STATES_PER_COIN == 0:
                coin = float(rng.random())
            state = self.grammar.draw(rng, levels)
            if accepts is not None and not accepts(state_key(state)):
                continue
            asking = Asking(
                state=state, render=partial(look.render, state, rng, levels), rng=rng, levels=levels, coin=coin
            )
            found = find_question(chosen, asking, is_answerable)
            if found is not None:
                return compose(
                    self.name,
                    chosen,
                    look,
                    asking,
                    *found,
                    expert=expert,
                    suffix="" if unanswerable is None else IF_NOT,
                    is_answerable=is_answerable,
                    is_fine=self.is_fine_print,
                    is_split_by_state=self.is_split_by_state,
                )
        raise UserError(
            f"the program {self.name}/{chosen.name} found no question in {MOST_STATES} states at levels {levels}; its "
            "grammar does not draw what it asks about"
        )


Part = TypeVar("Part", Program, Renderer)


def _named(parts: Sequence[Part], name: str, what: str) -> Part:
    for part in parts:
        if part.name == name:
            return part
    raise UserError(f"no {what} is called {name!r}; there are {', '.join(part.name for part in parts)}")
