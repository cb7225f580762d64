"""Evaluation of a checkpoint on the user's own tasks or procedural ones, as it was trained to be asked or otherwise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from saccade.config import RecipeContext, apply_overrides, read_own_tasks
from saccade.errors import UserError
from saccade.evaluation import CropSettings, Views
from saccade.models import LoadSettings, VisionLanguageModel, base_checkpoint, load_model
from saccade.models.loading import ASKING_RECORD
from saccade.protocols import LinguisticToolbox, ProtocolName, direct_protocol
from saccade.recipes.evaluation_ways import Ways, Wishes
from saccade.rewards import AnyReward, OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.runs import AskingRecord, Toolmaker, Way, read_asking
from saccade.sandbox import Isolation
from saccade.tasks import FAMILIES, generate
from saccade.train import EpisodeSpec, Evaluate, Plan
from saccade.types import Task

DEFAULT_COUNT = 256
"""Held-out tasks of a procedural family."""

ViewWord = Literal["crops", "union"]
"""A view that a second look can show beside the original."""


class MakeEpisodes(Protocol):
    """The episodes of a protocol: in this way, or in the recorded one with that protocol, or by default."""

    def __call__(self, protocol: ProtocolName, way: Way | None = None, /) -> EpisodeSpec: ...


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Settings of an evaluation; a checkpoint's record has others."""

    model: LoadSettings = LoadSettings()
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=512, max_tokens=8192)
    max_turns: int = 6
    """Turns of protocols with tools."""
    difficulty: float = 0.5
    """Difficulty of procedural tasks."""
    with_tools: bool = True
    """Without a protocol by record or command: the tagged one with all image tools."""
    without_tools: bool = True
    """Without a protocol by record or command: the direct one."""
    views: CropSettings = CropSettings()
    """How a second look cuts out its views."""
    isolation: Isolation | None = None
    """Isolation of the sandbox for code; none is as recorded, or ``full``."""


def evaluation(
    context: RecipeContext,
    *,
    family: str | None = None,
    count: int | None = None,
    temperature: float = 0.0,
    protocols: Sequence[ProtocolName] = (),
    tools: Sequence[str] = (),
    turns: int | None = None,
    toolbox: LinguisticToolbox | None = None,
    test_time: Sequence[Sequence[ViewWord]] = (),
    reward: AnyReward = OutcomeReward(),
) -> Plan:
    """One evaluation for each way of asking and each second look.

    Without ``protocols`` these are the ways of the checkpoint's record; of one without a record, the tagged protocol
    with the image tools and the direct one. ``tools`` are names, ``tools.toml`` files and addresses of services,
    ``toolbox`` linguistic tools for the protocol ``toolchain`` (the record has those of training). The default
    ``reward`` is right or wrong, and a little for the format.

    A second look (iVGR's test-time scaling) is named by what it shows: ``("crops", "union")`` is an evaluation
    ``test_time_crops_union``. UserError when there is nothing to measure on.
    """
    path = context.model or base_checkpoint()
    asking = read_asking(path)
    settings = _settings(context, asking, asking.ways[0] if asking and asking.ways else None)
    ways = Ways(
        checkpoint=path,
        asking=asking if asking and asking.ways else None,
        wishes=Wishes(protocols=tuple(protocols), tools=tuple(tools), turns=turns, toolbox=toolbox),
        maker=Toolmaker(isolation=settings.isolation),
    )
    tasks = _tasks(context, family, count, settings.difficulty)
    looks = {
        f"test_time_{'_'.join(words)}": Views(crops="crops" in words, union="union" in words, cut=settings.views)
        for words in map(_ordered, test_time)
    }

    def episodes(protocol: ProtocolName, way: Way | None = None, /) -> EpisodeSpec:
        recorded = way or ways.of_protocol(protocol)
        of_way = _settings(context, asking, recorded)
        # What is asked in a way is the way's; this only says how long and how often.
        limits = EpisodeSpec(protocol=direct_protocol(), tools=(), rollout=of_way.rollout, max_turns=of_way.max_turns)
        return ways.episodes(protocol, recorded, limits)

    once = [
        Evaluate(name=name, tasks=lambda: tasks, episodes=played, reward=reward, temperature=temperature)
        for name, played in _asked(settings, ways, episodes, has_looks=bool(looks)).items()
    ]
    ways.check([stage.episodes for stage in once])
    seen = {} if not looks else {"grounded": episodes("grounded"), "textual": episodes("textual")}
    twice = [
        Evaluate(
            name=name,
            tasks=lambda: tasks,
            episodes=seen["textual"],
            reward=reward,
            temperature=temperature,
            first_pass=seen["grounded"],
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
        remarks=(ways.in_words({stage.name: stage.episodes for stage in (*once, *twice)}), *ways.remarks),
        resources=tuple(ways.maker.resources),
    )


def view_words(text: str) -> tuple[ViewWord, ...]:
    """The views that ``--test-time`` names: ``crops``, ``union`` or ``crops,union``; UserError for anything else."""
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


def _settings(context: RecipeContext, asking: AskingRecord | None, way: Way | None) -> EvaluationSettings:
    """Those of a way, or the defaults, as the user has changed them."""
    base = EvaluationSettings()
    if asking is not None and way is not None:
        bounds = LoadSettings(min_pixels=asking.min_pixels, max_pixels=asking.max_pixels)
        base = EvaluationSettings(model=bounds, rollout=way.rollout, max_turns=way.max_turns)
    return apply_overrides(base, context.overrides)


def _asked(
    settings: EvaluationSettings, ways: Ways, episodes: MakeEpisodes, *, has_looks: bool
) -> Mapping[str, EpisodeSpec]:
    """The evaluations that look once, by name, and how they are played."""
    wanted = {"with_tools": settings.with_tools, "without_tools": settings.without_tools}
    is_default = not ways.wishes.protocols and not has_looks
    if is_default and ways.asking is None:
        variants: dict[str, ProtocolName] = {"with_tools": "tagged", "without_tools": "direct"}
        return {name: episodes(protocol) for name, protocol in variants.items() if wanted[name]}
    for name, is_wanted in wanted.items():
        if not is_wanted:
            raise UserError(
                f"{name}=false would have no effect: --protocol, --test-time or the checkpoint's {ASKING_RECORD} say "
                "what is measured; leave it out"
            )
    if is_default:
        return {name: episodes(protocol, way) for name, (protocol, way) in ways.by_default().items()}
    return {protocol: episodes(protocol) for protocol in ways.wishes.protocols}


def _tasks(context: RecipeContext, family: str | None, count: int | None, difficulty: float) -> Sequence[Task]:
    if context.data is not None:
        return read_own_tasks(context.data, context)[:count]
    if family is None:
        raise UserError(
            f"nothing to measure on: give --data PATH or --family NAME (one of {', '.join(FAMILIES)}, or FILE.py:NAME)"
        )
    return [
        generate(
            family, split="held_out", index=index, seed=context.seed, media=context.media, difficulty=difficulty
        ).task
        for index in range(count or DEFAULT_COUNT)
    ]
