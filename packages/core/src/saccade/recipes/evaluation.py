"""Evaluation of a checkpoint on the user's own tasks or procedural ones, as it was trained to be asked or otherwise."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

from saccade.config import RecipeContext, read_own_tasks
from saccade.config.settings import warn_of_unused
from saccade.errors import UserError
from saccade.evaluation import CropSettings, Views
from saccade.evaluation.pixel_rule import PixelRule
from saccade.evaluation.probes import ProbeName
from saccade.models import load_model
from saccade.models.checkpoint import ASKING_RECORD
from saccade.protocols import LinguisticToolbox, ProtocolName
from saccade.recipes.evaluation_pixels import limited_settings
from saccade.recipes.evaluation_settings import EvaluationSettings, ServedModel, model_at_server
from saccade.recipes.evaluation_stages import Measuring, TaskSet, with_probes
from saccade.recipes.evaluation_subject import MakeEpisodes, subject_of
from saccade.recipes.evaluation_unused import unused_settings
from saccade.recipes.evaluation_ways import Ways, Wishes
from saccade.rewards import AnyReward, OutcomeReward
from saccade.runs import AskingRecord, Permission
from saccade.tasks import FAMILIES, generate
from saccade.train import EpisodeSpec, Evaluate, Plan
from saccade.types import Task

logger = logging.getLogger(__name__)

DEFAULT_COUNT = 256
"""Held-out tasks of a procedural family."""

ViewWord = Literal["crops", "union"]
"""A view that a second look can show beside the original."""


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
    allowed: Sequence[str] = (),
    asking: AskingRecord | None = None,
) -> Plan:
    """One evaluation for each way of asking and each second look.

    Without ``protocols`` these are the ways of the checkpoint's record; of one without a record, the tagged protocol
    with the image tools and the direct one. ``tools`` are names, ``tools.toml`` files and addresses of services,
    ``toolbox`` linguistic tools for the protocol ``toolchain`` (the record has those of training). The default
    ``reward`` is right or wrong, and a little for the format.

    A second look (iVGR's test-time scaling) is named by what it shows: ``("crops", "union")`` is an evaluation
    ``test_time_crops_union``. Each of the ``probes`` is a further evaluation, ``direct_blank``. ``sets`` are measured
    instead of the tasks of ``context`` or ``family``, each under its name. With a ``server`` its model is asked instead
    of a checkpoint. ``pixels`` are limits within which the model sees all pictures. ``allowed`` are the addresses,
    variables (``env:NAME``) and paths that recorded tools may reach. ``asking`` stands for the checkpoint's record.
    UserError when there is nothing to measure on.
    """
    subject = subject_of(context, server, asking)
    settings = subject.settings
    load = limited_settings(settings.model, pixels, context.overrides, None if server is not None else subject.path)
    wishes = Wishes(protocols=tuple(protocols), tools=tuple(tools), turns=turns, toolbox=toolbox)
    ways = subject.ways(wishes, Permission(allowed=frozenset(allowed)))
    sets = sets or [TaskSet(tasks=_tasks(context, family, count, settings.difficulty))]
    looks = _looks(test_time, settings.views)
    episodes = subject.episodes_of(ways)
    played = _single_looks(settings, ways, episodes, has_looks=bool(looks))
    ways.check(list(played.values()))
    if ways.notice:
        logger.warning("%s", ways.notice)
    _check_probes(probes, played)
    plain = Measuring(reward=reward, temperature=temperature)
    once = [
        stage
        for of in sets
        for name, how in played.items()
        for stage in with_probes(replace(plain.stage(of, name, how), samples=samples), probes, context)
    ]
    twice = _second_looks(plain, sets, looks, episodes) if looks else []
    all_played = [
        *played.values(),
        *(how for one in twice for how in (one.episodes, one.first_pass) if how is not None),
    ]
    unused = unused_settings(
        settings, all_played, subject.is_served, is_drawn=family is not None, has_looks=bool(looks)
    )
    warn_of_unused(subject.defaults, settings, unused)
    served = None if server is None else model_at_server(server, settings, context.media, pixels)
    return Plan(
        title=f"Evaluation of {subject.path.name}",
        settings=replace(settings, model=load),
        build_model=partial(load_model, subject.path, context.media, load),
        load=load,
        stages=(*once, *twice),
        remarks=(
            ways.in_words({**played, **{stage.name: stage.episodes for stage in twice}}),
            *filter(None, (ways.notice, *ways.remarks)),
        ),
        resources=(*ways.maker.resources, *([] if served is None else [served.model])),
        served=served,
    )


def _looks(test_time: Sequence[Sequence[ViewWord]], cut: CropSettings) -> Mapping[str, Views]:
    """What each second look shows, by the name of its evaluation."""
    return {
        f"test_time_{'_'.join(words)}": Views(crops="crops" in words, union="union" in words, cut=cut)
        for words in map(_ordered, test_time)
    }


def _check_probes(probes: Sequence[ProbeName], played: Mapping[str, EpisodeSpec]) -> None:
    if "withheld-results" in probes and not any(one.protocol.offers_tools for one in played.values()):
        raise UserError(
            f"--probe withheld-results: {', '.join(played)} offers no tools whose results could be withheld"
        )


def _second_looks(
    plain: Measuring, sets: Sequence[TaskSet], looks: Mapping[str, Views], episodes: MakeEpisodes
) -> list[Evaluate]:
    """Evaluations in two passes: boxes are named in the first, and their views shown in the second."""
    first, second = episodes("grounded"), episodes("textual")
    return [
        replace(plain.stage(of, name, second), first_pass=first, views=views)
        for of in sets
        for name, views in looks.items()
    ]


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


def _single_looks(
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
    return {ways.name_of(one, ways.of_protocol(one)): episodes(one) for one in ways.wishes.protocols}


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
