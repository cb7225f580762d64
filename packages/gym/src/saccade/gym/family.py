"""A family: a grammar that draws states, looks that draw pictures of them, programs that ask about them.

``FAMILY[/PROGRAM][@LOOK][?OPTION&OPTION...]`` names a family or a part of it: "shape_counts", "shape_counts/parity",
"shape_counts/parity@paper", "shape_counts?clutter=0.9&expert=points&unanswerable=0.25". An option is a level of a named
axis of difficulty, the kind of expert, or the share of questions that the picture does not answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar, get_args

from numpy.random import Generator

from saccade.errors import UserError
from saccade.gym.extras import check_extra
from saccade.gym.levels import Levels, share_of
from saccade.gym.program import UNANSWERABLE, Asking, ExpertKind, Program, ProgramQuestion
from saccade.gym.rendering import Renderer
from saccade.gym.sample import GymSample, compose, find_question, shown_pictures, state_key
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
    """Whether evidence is as small as ``fine.py``'s print: experts crop an eighth of the picture's sides (64 of 512
    pixels there)."""
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
        return NamedDraw(name=self.name, family=self, accepts=accepts) if self.is_split_by_state else self

    def part(self, name: str) -> "NamedDraw":
        """The part that a name means, which begins with the family's; ``UserError`` for one that is not there."""
        head, _, options = name.partition("?")
        head, _, look = head.partition("@")
        _, _, program = head.partition("/")
        draw = NamedDraw(
            name=name,
            family=self,
            program=self.program(program) if program else None,
            renderer=self.renderer(look) if look else None,
        )
        return _with_options(draw, options)

    def program(self, name: str) -> Program:
        """The program of this name; ``UserError`` names those that there are."""
        return _part_named(self.programs, name, f"program of the family {self.name!r}")

    def renderer(self, name: str) -> Renderer:
        """The look of this name; ``UserError`` names those that there are."""
        return _part_named(self.all_renderers, name, f"look of the family {self.name!r}")

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
        asking, asked = self.question(chosen, look, rng, levels, is_answerable=is_answerable, accepts=accepts)
        return compose(
            self.name,
            chosen,
            look,
            asking,
            asked,
            shown_pictures(chosen, asking, asked, is_answerable, hides=unanswerable is not None),
            expert=expert,
            suffix="" if unanswerable is None else IF_NOT,
            is_answerable=is_answerable,
            is_fine=self.is_fine_print,
            is_split_by_state=self.is_split_by_state,
        )

    def question(
        self,
        program: Program,
        look: Renderer,
        rng: Generator,
        levels: Levels,
        *,
        is_answerable: bool = True,
        accepts: Accepts | None = None,
    ) -> tuple[Asking, ProgramQuestion]:
        """A question of a program, with the state that it was found in; no picture is drawn unless it looks at one."""
        found: dict[str, tuple[Asking, ProgramQuestion]] = {}
        left = program.spread if is_answerable else 1
        for turn in range(MOST_STATES):
            if turn % STATES_PER_COIN == 0:
                coin = float(rng.random())
            state = self.grammar.draw(rng, levels)
            if accepts is not None and not accepts(state_key(state)):
                continue
            asking = Asking(
                state=state, render=partial(look.render, state, rng, levels), rng=rng, levels=levels, coin=coin
            )
            asked = find_question(program, asking, is_answerable)
            if asked is not None:
                found.setdefault(asked.answer, (asking, asked))
                left -= 1
            if not left:
                break
        if not found:
            raise UserError(
                f"the program {self.name}/{program.name} found no question in {MOST_STATES} states at levels {levels}; "
                "its grammar does not draw what it asks about"
            )
        answers = list(found)
        return found[answers[int(rng.integers(len(answers)))] if len(answers) > 1 else answers[0]]


Part = TypeVar("Part", Program, Renderer)


def _part_named(parts: Sequence[Part], name: str, what: str) -> Part:
    for part in parts:
        if part.name == name:
            return part
    raise UserError(f"no {what} is called {name!r}; there are {', '.join(part.name for part in parts)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedDraw:
    """A family, or a part of it, as a ``FamilyFunction``."""

    name: str
    """As it was asked for; the tasks carry it."""
    family: GymFamily
    program: Program | None = None
    renderer: Renderer | None = None
    levels: Mapping[str, float] = field(default_factory=dict)
    expert: ExpertKind | None = None
    unanswerable: float | None = None
    accepts: Accepts | None = None

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, rng: Generator, difficulty: float) -> Scene:
        return self.sample(rng, Levels(base=difficulty, named=self.levels)).scene

    def within(self, accepts: Accepts) -> FamilyFunction:
        """The draw of states that are accepted, where the family is split by them."""
        return replace(self, accepts=accepts) if self.family.is_split_by_state else self

    def sample(self, rng: Generator, levels: Levels) -> GymSample:
        """A scene with everything that it was made of. Levels that the name says win."""
        return self.family.sample(
            rng,
            Levels(base=levels.base, named={**levels.named, **self.levels}),
            program=self.program,
            renderer=self.renderer,
            expert=self.expert,
            unanswerable=self.unanswerable,
            accepts=self.accepts,
        )


def _with_options(draw: NamedDraw, options: str) -> NamedDraw:
    levels: dict[str, float] = {}
    expert: ExpertKind | None = None
    unanswerable: float | None = None
    for option in filter(None, options.split("&")):
        key, _, value = option.partition("=")
        if key == "expert":
            expert = _expert(draw, value)
        elif key == "unanswerable":
            unanswerable = share_of(draw.name, option, value)
        elif key in draw.family.axes:
            levels[key] = share_of(draw.name, option, value)
        else:
            raise UserError(
                f"{draw.name!r}: {option!r} is no option; use expert=KIND, unanswerable=SHARE or a level of "
                f"{', '.join(draw.family.axes) or 'no axis'}"
            )
    return replace(draw, levels=levels, expert=expert, unanswerable=unanswerable)


def _expert(draw: NamedDraw, value: str) -> ExpertKind:
    kinds: tuple[ExpertKind, ...] = get_args(ExpertKind)
    for kind in kinds:
        if kind == value:
            return kind
    raise UserError(f"{draw.name!r}: no expert {value!r}; use one of {', '.join(kinds)}")
