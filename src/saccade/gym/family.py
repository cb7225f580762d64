"""A family: a grammar that draws states, looks that draw pictures of them, programs that ask about them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from numpy.random import Generator

from saccade.errors import UserError
from saccade.gym.covering import covered_up
from saccade.gym.experts import expert_turns, place_in
from saccade.gym.extras import check_extra
from saccade.gym.levels import Levels
from saccade.gym.program import UNANSWERABLE, Asking, ExpertKind, Program, ProgramQuestion
from saccade.gym.rendering import Renderer, Rendering, SeenRegion
from saccade.gym.state import SceneState
from saccade.tasks.scene import FamilyFunction, Scene, SceneQuestion
from saccade.types import ExpertTurn, SceneObject

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


@dataclass(frozen=True, kw_only=True, slots=True)
class GymSample:
    """A scene with everything that it was made of."""

    scene: Scene
    family: str
    program: Program
    renderer: Renderer
    levels: Levels
    state: SceneState
    rendering: Rendering
    asked: ProgramQuestion
    is_answerable: bool
    paraphrases: tuple[str, ...]
    """The question in every wording."""
    experts: Mapping[ExpertKind, tuple[ExpertTurn, ...]]
    """The tool calls of each expert that makes sense."""


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
            found = _question(chosen, asking, is_answerable)
            if found is not None:
                asked, rendering = found
                return self._sample(chosen, look, asking, rendering, asked, expert, unanswerable, is_answerable)
        raise UserError(
            f"the program {self.name}/{chosen.name} found no question in {MOST_STATES} states at levels {levels}; its "
            "grammar does not draw what it asks about"
        )

    def _expert_kinds(self, program: Program) -> tuple[ExpertKind, ...]:
        """The program's, the usual one first: of fine print, the one that looks closer."""
        if not self.is_fine_print:
            return program.experts
        return ("crop", *(kind for kind in program.experts if kind not in ("crop", "glance")))

    def _sample(
        self,
        program: Program,
        renderer: Renderer,
        asking: Asking,
        rendering: Rendering,
        asked: ProgramQuestion,
        expert: ExpertKind | None,
        unanswerable: float | None,
        is_answerable: bool,
    ) -> GymSample:
        choices = tuple(asked.choices[int(i)] for i in asking.rng.permutation(len(asked.choices)))
        asked = replace(asked, choices=choices)
        suffix = "" if unanswerable is None else IF_NOT
        paraphrases = tuple(wording.format(**asked.words) + suffix for wording in program.wordings)
        question = paraphrases[int(asking.rng.integers(len(paraphrases)))]
        evidence = _evidence(asking.state, rendering, asked)
        experts = _experts(self._expert_kinds(program), renderer, evidence, rendering, asked, self.is_fine_print)
        kind = expert if expert is not None and expert in experts else next(iter(experts))
        scene = Scene(
            images=rendering.images,
            asked=SceneQuestion(
                question=question,
                answer=asked.answer,
                answer_kind=asked.kind,
                choices=choices,
                tolerance=asked.tolerance,
                accepted=() if not asked.accepted else tuple(dict.fromkeys((asked.answer, *asked.accepted))),
                buckets=(f"program {program.name}", f"look {renderer.name}"),
                targets=tuple(
                    region.target(label, rendering.images[region.image_index].size) for label, region in evidence
                ),
                looks=experts[kind],
                conclusion=asked.conclusion,
            ),
            objects=_objects(asking.state, rendering),
            split_key=state_key(asking.state) if self.is_split_by_state else b"",
            frame_times_s=rendering.frame_times_s,
            event_s=asked.event_s,
        )
        return GymSample(
            scene=scene,
            family=self.name,
            program=program,
            renderer=renderer,
            levels=asking.levels,
            state=asking.state,
            rendering=rendering,
            asked=asked,
            is_answerable=is_answerable,
            paraphrases=paraphrases,
            experts=experts,
        )


def state_key(state: SceneState) -> bytes:
    """The state in bytes: the same for the same state."""
    return repr(state).encode()


def _question(program: Program, asking: Asking, is_answerable: bool) -> tuple[ProgramQuestion, Rendering] | None:
    if is_answerable:
        asked = program.ask(asking)
        return None if asked is None else (asked, asking.rendering)
    if program.falsify is not None:
        asked = program.falsify(asking)
        return None if asked is None else (_untold(asked), asking.rendering)
    asked = program.ask(asking)
    if asked is None or not any(asking.rendering.of(identity) for identity in asked.evidence):
        return None
    return _untold(asked), covered_up(asking.rendering, asked.evidence, asking.rng)


def _untold(asked: ProgramQuestion) -> ProgramQuestion:
    """The question with no answer. What would have answered it is a hard negative."""
    choices = (*asked.choices, UNANSWERABLE) if asked.choices else ()
    near = tuple(dict.fromkeys(text for text in (asked.answer, *asked.near) if text and text != UNANSWERABLE))
    kind = asked.kind if asked.kind == "choice" else "exact"
    return replace(
        asked, answer=UNANSWERABLE, kind=kind, tolerance=0.0, accepted=(), choices=choices, near=near, code="",
        conclusion="not there",
    )  # fmt: skip


def _evidence(state: SceneState, rendering: Rendering, asked: ProgramQuestion) -> list[tuple[str, SeenRegion]]:
    return [(state.element(identity).name, region) for identity in asked.evidence for region in rendering.of(identity)]


def _experts(
    possible: Sequence[ExpertKind],
    renderer: Renderer,
    evidence: Sequence[tuple[str, SeenRegion]],
    rendering: Rendering,
    asked: ProgramQuestion,
    is_fine: bool,
) -> Mapping[ExpertKind, tuple[ExpertTurn, ...]]:
    sizes = [image.size for image in rendering.images]
    has_code = asked.code and renderer.has_flat_colours
    kinds = [kind for kind in possible if kind != "code" or has_code] or ["glance"]
    return {kind: expert_turns(kind, evidence, sizes, asked.code, is_fine=is_fine) for kind in kinds}


def _objects(state: SceneState, rendering: Rendering) -> tuple[SceneObject, ...]:
    """All elements that have attributes, as an exact judge needs them; a name that several bear is numbered."""
    elements = {element.id: element for element in state.elements if element.attributes}
    shown = [region for region in rendering.regions if region.element in elements]
    names: dict[tuple[int, str], int] = {}
    for region in shown:
        key = (region.image_index, elements[region.element].name)
        names[key] = names.get(key, 0) + 1
    counted: dict[tuple[int, str], int] = {}
    found = []
    for region in shown:
        element = elements[region.element]
        key = (region.image_index, element.name)
        counted[key] = counted.get(key, 0) + 1
        name = element.name if names[key] == 1 else f"{element.name} {counted[key]}"
        size = rendering.images[region.image_index].size
        mask = None if region.cover is None else region.mask(*size)
        attributes = {**element.attributes, "place": place_in(region.box.center, size)}
        found.append(
            SceneObject(name=name, box=region.box, attributes=attributes, image_index=region.image_index, mask=mask)
        )
    return tuple(found)


Part = TypeVar("Part", Program, Renderer)


def _named(parts: Sequence[Part], name: str, what: str) -> Part:
    for part in parts:
        if part.name == name:
            return part
    raise UserError(f"no {what} is called {name!r}; there are {', '.join(part.name for part in parts)}")
