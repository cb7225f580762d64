"""Evaluation of a checkpoint on the user's own tasks or procedural ones, as it was trained to be asked or otherwise."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, get_args

from saccade.chat import ChatServerSettings, connect
from saccade.config import RecipeContext, apply_overrides, read_own_tasks
from saccade.errors import UserError
from saccade.evaluation import CropSettings, Views
from saccade.evaluation.benchmarks.benchmark import PixelRule
from saccade.evaluation.probes import ProbeName, probe
from saccade.evaluation.samples import default_cluster
from saccade.media import MediaStore
from saccade.models import LoadSettings, VisionLanguageModel, base_checkpoint, load_model
from saccade.models.loading import ASKING_RECORD
from saccade.protocols import LinguisticToolbox, ProtocolName, Style, direct_protocol
from saccade.recipes.evaluation_pixels import limited, view_at_server
from saccade.recipes.evaluation_ways import Ways, Wishes
from saccade.rewards import AnyReward, OutcomeReward
from saccade.rollout import RolloutSettings
from saccade.runs import AskingRecord, Toolmaker, Way, read_asking
from saccade.sandbox import Isolation
from saccade.tasks import FAMILIES, generate
from saccade.train import EpisodeSpec, Evaluate, Plan
from saccade.train.plan import ServedPolicy
from saccade.types import Json, Task

DEFAULT_COUNT = 256
"""Held-out tasks of a procedural family."""

SERVED_ROLLOUT = RolloutSettings(max_turn_tokens=2048, max_tokens=1 << 20)
"""A server has a limit of its own on whole conversations."""

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
    style: Style | None = None
    """Style of instructions that no record gives: ``brief`` for tiny models, which is the default for those."""
    server: ChatServerSettings = ChatServerSettings()
    """Requests to the server of ``--server``; how long a reply may be is ``rollout.max_turn_tokens``."""
    coordinates: Literal["absolute", "relative_1000"] = "absolute"
    """Frame in which a server's model writes boxes and points: pixels of the picture as it was sent, or thousandths."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """A model at a server that speaks OpenAI's chat completions."""

    url: str
    """Ends before ``/chat/completions``."""
    name: str
    """As the server lists it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskSet:
    """Questions that are measured together: a benchmark, the user's own, or those of a family."""

    tasks: Sequence[Task]
    name: str = ""
    """Before the names of its evaluations; empty where it is the only one."""
    reward: AnyReward | None = None
    """Its own rule of what is right; None is the evaluation's."""
    cluster: Callable[[Task], str] = default_cluster
    set_apart: Mapping[str, Json] = field(default_factory=dict)
    """What its figures depend on beside the questions: a benchmark's file, rule and options."""


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
    server: ServedModel | None = None,
    samples: int = 1,
    probes: Sequence[ProbeName] = (),
    sets: Sequence[TaskSet] = (),
    pixels: PixelRule = PixelRule(),
) -> Plan:
    """One evaluation for each way of asking and each second look.

    Without ``protocols`` these are the ways of the checkpoint's record; of one without a record, the tagged protocol
    with the image tools and the direct one. ``tools`` are names, ``tools.toml`` files and addresses of services,
    ``toolbox`` linguistic tools for the protocol ``toolchain`` (the record has those of training). The default
    ``reward`` is right or wrong, and a little for the format.

    A second look (iVGR's test-time scaling) is named by what it shows: ``("crops", "union")`` is an evaluation
    ``test_time_crops_union``. Each of the ``probes`` is a further evaluation, ``direct_blank``. ``sets`` are measured
    instead of the tasks of ``context`` or ``family``, each under its name. With a ``server`` its model is asked instead
    of a checkpoint. ``pixels`` are limits within which the model sees all pictures. UserError when there is nothing to
    measure on.
    """
    path = Path(server.name) if server is not None else context.model or base_checkpoint()
    asking = None if server is not None else read_asking(path)
    settings = settings_of_way(
        context.overrides, asking, asking.ways[0] if asking and asking.ways else None, is_served=server is not None
    )
    load = limited(settings.model, pixels, context.overrides, None if server is not None else path)
    settings = replace(settings, model=load)
    ways = Ways(
        checkpoint=path,
        asking=asking if asking and asking.ways else None,
        wishes=Wishes(protocols=tuple(protocols), tools=tuple(tools), turns=turns, toolbox=toolbox),
        maker=Toolmaker(isolation=settings.isolation),
        style=settings.style,
    )
    sets = sets or [TaskSet(tasks=_tasks(context, family, count, settings.difficulty))]
    looks = {
        f"test_time_{'_'.join(words)}": Views(crops="crops" in words, union="union" in words, cut=settings.views)
        for words in map(_ordered, test_time)
    }

    def episodes(protocol: ProtocolName, way: Way | None = None, /) -> EpisodeSpec:
        recorded = way or ways.of_protocol(protocol)
        of_way = settings_of_way(context.overrides, asking, recorded, is_served=server is not None)
        # What is asked in a way is the way's; this only says how long and how often.
        limits = EpisodeSpec(protocol=direct_protocol(), tools=(), rollout=of_way.rollout, max_turns=of_way.max_turns)
        return ways.episodes(protocol, recorded, limits)

    played = _asked(settings, ways, episodes, has_looks=bool(looks))
    ways.check(list(played.values()))
    if "withheld-results" in probes and not any(one.protocol.offers_tools for one in played.values()):
        raise UserError(
            f"--probe withheld-results: {', '.join(played)} offers no tools whose results could be withheld"
        )
    once = [
        stage
        for of in sets
        for name, how in played.items()
        for stage in _with_probes(
            Evaluate(
                name=_stage_name(of, name),
                tasks=partial(_given, tuple(of.tasks)),
                episodes=how,
                reward=of.reward or reward,
                temperature=temperature,
                samples=samples,
                cluster=of.cluster,
                set_apart=of.set_apart,
                set_name=of.name,
            ),
            probes,
            context,
        )
    ]
    seen = {} if not looks else {"grounded": episodes("grounded"), "textual": episodes("textual")}
    twice = [
        Evaluate(
            name=_stage_name(of, name),
            tasks=partial(_given, tuple(of.tasks)),
            episodes=seen["textual"],
            reward=of.reward or reward,
            temperature=temperature,
            first_pass=seen["grounded"],
            views=views,
            cluster=of.cluster,
            set_apart=of.set_apart,
            set_name=of.name,
        )
        for of in sets
        for name, views in looks.items()
    ]

    def build_model() -> VisionLanguageModel:
        return load_model(path, context.media, settings.model)

    served = None if server is None else model_at_server(server, settings, context.media, pixels)
    return Plan(
        title=f"Evaluation of {path.name}",
        settings=settings,
        build_model=build_model,
        load=settings.model,
        stages=(*once, *twice),
        remarks=(ways.in_words({**played, **{stage.name: stage.episodes for stage in twice}}), *ways.remarks),
        resources=(*ways.maker.resources, *([] if served is None else [served.model])),
        served=served,
    )


def _given(tasks: Sequence[Task]) -> Sequence[Task]:
    return tasks


def _stage_name(of: TaskSet, name: str) -> str:
    # Names of stages are names of files.
    return "_".join(re.sub(r"[^\w-]", "_", part) for part in (of.name, name) if part)


def _with_probes(stage: Evaluate, probes: Sequence[ProbeName], context: RecipeContext) -> list[Evaluate]:
    """The evaluation, and after it the same with each probe."""
    found = [stage]
    for name in dict.fromkeys(probes):
        if name == "withheld-results" and not stage.episodes.protocol.offers_tools:
            continue
        changed = probe(
            name, stage.tasks(), stage.episodes, media=context.media, seed=context.seed, cluster=stage.cluster
        )
        found.append(
            replace(
                stage,
                name=f"{stage.name}_{name.replace('-', '_')}",
                tasks=partial(_given, changed.tasks),
                episodes=changed.episodes,
                cluster=changed.cluster,
                set_apart={**stage.set_apart, "probe": name, "probe_left_out": changed.left_out},
            )
        )
    return found


def model_at_server(
    server: ServedModel, settings: EvaluationSettings, media: MediaStore, pixels: PixelRule = PixelRule()
) -> ServedPolicy:
    """The server's model, asked with pictures as they are or within limits of pixels."""
    view = view_at_server(pixels, settings.coordinates)
    rollout = settings.rollout
    body = settings.server.extra_fields()
    if rollout.top_p < 1:
        body = {"top_p": rollout.top_p, **body}
    if rollout.top_k:
        body = {"top_k": rollout.top_k, **body}
    asked = replace(settings.server, max_tokens=rollout.max_turn_tokens, extra_body=json.dumps(body))
    return ServedPolicy(
        model=connect(server.url, asked, model=server.name, media=media, view=view),
        identity={"server": server.url.rstrip("/"), "model": server.name, "extra_body": body},
        view=view,
        at_once=settings.server.requests_at_once,
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


def settings_of_way(
    overrides: Sequence[str], asking: AskingRecord | None, way: Way | None, *, is_served: bool = False
) -> EvaluationSettings:
    """Those of a way, or the defaults, as the user has changed them."""
    base = EvaluationSettings(rollout=SERVED_ROLLOUT) if is_served else EvaluationSettings()
    if asking is not None and way is not None:
        bounds = LoadSettings(min_pixels=asking.min_pixels, max_pixels=asking.max_pixels)
        base = EvaluationSettings(model=bounds, rollout=way.rollout, max_turns=way.max_turns)
    return apply_overrides(base, overrides)


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
