"""A sample of a family: a question found in a state, and the scene that it makes with all that is known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.gym.covering import covered_up, ground_covered_up
from saccade.gym.experts import expert_turns, place_in
from saccade.gym.levels import Levels
from saccade.gym.program import UNANSWERABLE, Asking, ExpertKind, Program, ProgramQuestion, sentence
from saccade.gym.rendering import Renderer, Rendering, SeenRegion
from saccade.gym.state import SceneState
from saccade.tasks.scene import Scene, SceneQuestion
from saccade.types import ExpertTurn, SceneObject


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


def state_key(state: SceneState) -> bytes:
    """The state in bytes: the same for the same state."""
    return repr(state).encode()


def compose(
    family: str,
    program: Program,
    renderer: Renderer,
    asking: Asking,
    asked: ProgramQuestion,
    rendering: Rendering,
    *,
    expert: ExpertKind | None,
    suffix: str,
    is_answerable: bool,
    is_fine: bool,
    is_split_by_state: bool,
) -> GymSample:
    """The sample of a question: its wording, its options shuffled, its targets and experts. ``suffix`` ends it."""
    choices = tuple(asked.choices[int(i)] for i in asking.rng.permutation(len(asked.choices)))
    asked = replace(asked, choices=choices)
    paraphrases = tuple(sentence(wording, asked.words) + suffix for wording in program.wordings)
    question = paraphrases[int(asking.rng.integers(len(paraphrases)))]
    evidence = _evidence(asking.state, rendering, asked)
    experts = _experts(program, renderer, evidence, rendering, asked, is_fine=is_fine)
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
        split_key=state_key(asking.state) if is_split_by_state else b"",
        frame_times_s=rendering.frame_times_s,
        event_s=asked.event_s,
    )
    return GymSample(
        scene=scene,
        family=family,
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


def find_question(program: Program, asking: Asking, is_answerable: bool) -> ProgramQuestion | None:
    """A question; None where the program finds none in this state."""
    if is_answerable:
        return program.ask(asking)
    if program.falsify is not None:
        asked = program.falsify(asking)
        return None if asked is None else _untold(asked)
    asked = program.ask(asking)
    if asked is None or not any(asking.rendering.of(identity) for identity in asked.evidence):
        return None
    return _untold(asked)


def shown_pictures(
    program: Program, asking: Asking, asked: ProgramQuestion, is_answerable: bool, *, hides: bool
) -> Rendering:
    """The pictures that the question is asked of; ``hides`` says whether some questions are asked of covered ones."""
    if program.falsify is not None or not hides:
        return asking.rendering
    cover = ground_covered_up if is_answerable else covered_up
    return cover(asking.rendering, asked.evidence, asking.rng)


def _untold(asked: ProgramQuestion) -> ProgramQuestion:
    """The question with no answer. What would have answered it is a hard negative."""
    choices = (*asked.choices, UNANSWERABLE) if asked.choices else ()
    near = tuple(dict.fromkeys(text for text in (asked.answer, *asked.near) if text and text != UNANSWERABLE))
    kind = asked.kind if asked.kind in ("choice", "click") else "exact"  # a click's form is told below the question
    return replace(
        asked, answer=UNANSWERABLE, kind=kind, tolerance=0.0, accepted=(), choices=choices, near=near, code="",
        conclusion="not there",
    )  # fmt: skip


def _evidence(state: SceneState, rendering: Rendering, asked: ProgramQuestion) -> list[tuple[str, SeenRegion]]:
    return [(state.element(identity).name, region) for identity in asked.evidence for region in rendering.of(identity)]


def _experts(
    program: Program,
    renderer: Renderer,
    evidence: Sequence[tuple[str, SeenRegion]],
    rendering: Rendering,
    asked: ProgramQuestion,
    *,
    is_fine: bool,
) -> Mapping[ExpertKind, tuple[ExpertTurn, ...]]:
    """The calls of each expert that makes sense, the usual one first: of fine print, the one that looks closer."""
    possible = program.experts
    if is_fine:
        possible = ("crop", *(kind for kind in program.experts if kind not in ("crop", "glance")))
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
