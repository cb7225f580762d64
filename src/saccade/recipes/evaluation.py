"""Measures a checkpoint on the user's own tasks or on held-out procedural ones, in one or several ways of asking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from saccade.errors import UserError
from saccade.evaluation.views import CropSettings, Views
from saccade.models.base import base_checkpoint, instruction_style
from saccade.models.loading import LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.instructions import Style
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.protocols.two_streams import grounded_protocol, grounded_with_crop_protocol, textual_protocol
from saccade.rewards.outcome import OutcomeReward
from saccade.rollout.settings import RolloutSettings
from saccade.tasks.procedural import FAMILIES, generate
from saccade.tools.contract import tool_from
from saccade.tools.images import IMAGE_TOOLS, crop
from saccade.train.context import RecipeContext
from saccade.train.own_tasks import own_tasks
from saccade.train.plan import Episodes, Evaluate, Plan
from saccade.train.settings import apply_overrides
from saccade.types import Task

DEFAULT_COUNT = 256
"""Held-out tasks of a procedural family."""

ProtocolName = Literal["tagged", "direct", "grounded", "textual", "grounded_with_crop"]
"""How a question can be asked; an evaluation has the protocol's name."""

ViewWord = Literal["crops", "union"]
"""What a second look can show beside the original."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Settings of an evaluation."""

    model: LoadSettings = LoadSettings()
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=512, max_tokens=8192)
    max_turns: int = 6
    """Of protocols with tools."""
    difficulty: float = 0.5
    """Of procedural tasks."""
    with_tools: bool = True
    """Where no protocol is named: the tagged one with all image tools."""
    without_tools: bool = True
    """Where no protocol is named: the direct one."""
    views: CropSettings = CropSettings()
    """How a second look cuts out its views."""


def evaluation(
    context: RecipeContext,
    *,
    family: str | None = None,
    count: int | None = None,
    temperature: float = 0.0,
    protocols: Sequence[ProtocolName] = (),
    test_time: Sequence[Sequence[ViewWord]] = (),
) -> Plan:
    """One evaluation for each protocol and each second look; by default one with the image tools and one without.

    A second look (iVGR's test-time scaling) is named by what it shows: ``("crops", "union")`` is an evaluation
    ``test_time_crops_union``. UserError when there is nothing to measure on.
    """
    settings = apply_overrides(EvaluationSettings(), context.overrides)
    path = context.model or base_checkpoint()
    tasks = _tasks(context, family, count, settings.difficulty)
    episodes = _episodes(settings, instruction_style(path))
    reward = OutcomeReward()
    looks = {
        f"test_time_{'_'.join(words)}": Views(crops="crops" in words, union="union" in words, cut=settings.views)
        for words in map(_ordered, test_time)
    }
    once = [
        Evaluate(name=name, tasks=lambda: tasks, episodes=episodes[protocol], reward=reward, temperature=temperature)
        for name, protocol in _asked(settings, protocols, has_looks=bool(looks)).items()
    ]
    twice = [
        Evaluate(
            name=name,
            tasks=lambda: tasks,
            episodes=episodes["textual"],
            reward=reward,
            temperature=temperature,
            first_pass=episodes["grounded"],
            views=views,
        )
        for name, views in looks.items()
    ]

    def build_model() -> VisionLanguageModel:
        return load_model(path, context.media, settings.model)

    return Plan(
        title=f"Evaluation of {path.name}",
        settings=settings,
        build_model=build_model,
        load=settings.model,
        stages=(*once, *twice),
    )


def view_words(text: str) -> tuple[ViewWord, ...]:
    """What ``--test-time`` says: ``crops``, ``union`` or ``crops,union``; UserError for anything else."""
    words = [word.strip() for word in text.split(",")]
    known = tuple(word for word in get_args(ViewWord) if word in words)
    if len(known) != len(words):
        raise UserError(
            f"--test-time {text!r} must be crops, union or crops,union. A second look without views is the plain "
            "textual protocol: --protocol textual"
        )
    return known


def _ordered(words: Sequence[ViewWord]) -> tuple[ViewWord, ...]:
    """As in ``ViewWord``, whatever the order in which they were given."""
    return view_words(",".join(words))


def _asked(
    settings: EvaluationSettings, protocols: Sequence[ProtocolName], *, has_looks: bool
) -> Mapping[str, ProtocolName]:
    """The evaluations that look once, by name, and their protocols."""
    wanted = {"with_tools": settings.with_tools, "without_tools": settings.without_tools}
    if not protocols and not has_looks:
        variants: dict[str, ProtocolName] = {"with_tools": "tagged", "without_tools": "direct"}
        return {name: protocol for name, protocol in variants.items() if wanted[name]}
    for name, is_wanted in wanted.items():
        if not is_wanted:
            raise UserError(
                f"{name}=false would have no effect: --protocol and --test-time say what is measured; leave it out"
            )
    return {protocol: protocol for protocol in protocols}


def _episodes(settings: EvaluationSettings, style: Style) -> Mapping[ProtocolName, Episodes]:
    rollout, turns = settings.rollout, settings.max_turns
    return {
        "tagged": Episodes(
            protocol=tagged_protocol(style=style, max_turns=turns),
            tools=IMAGE_TOOLS,
            rollout=rollout,
            max_turns=turns,
        ),
        "direct": Episodes(protocol=direct_protocol(style=style, max_turns=1), tools=(), rollout=rollout, max_turns=1),
        "grounded": Episodes(
            protocol=grounded_protocol(style=style, max_turns=1), tools=(), rollout=rollout, max_turns=1
        ),
        "textual": Episodes(
            protocol=textual_protocol(style=style, max_turns=1), tools=(), rollout=rollout, max_turns=1
        ),
        "grounded_with_crop": Episodes(
            protocol=grounded_with_crop_protocol(style=style, max_turns=turns),
            tools=(tool_from(crop),),
            rollout=rollout,
            max_turns=turns,
        ),
    }


def _tasks(context: RecipeContext, family: str | None, count: int | None, difficulty: float) -> Sequence[Task]:
    if context.data is not None:
        return own_tasks(context.data, context)[:count]
    if family is None:
        raise UserError(f"nothing to measure on: give --data PATH or --family NAME (one of {', '.join(FAMILIES)})")
    return [
        generate(
            family, split="held_out", index=index, seed=context.seed, media=context.media, difficulty=difficulty
        ).task
        for index in range(count or DEFAULT_COUNT)
    ]
