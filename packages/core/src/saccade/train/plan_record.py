"""Records of a plan: what its stages run, for the settings of a run, and how they ask, for its checkpoints."""

import dataclasses
import functools
import logging
import re
from collections.abc import Iterable, Mapping, Sequence

from saccade.media.resize import ResizeRule, ViewRule
from saccade.protocols.named import name_of, package_of
from saccade.protocols.protocol import ChatProtocol
from saccade.runs.asking import AskingRecord, ToolRecord, Way
from saccade.tools.making import origin_of
from saccade.train.artefacts import Derive, NotDerivedError
from saccade.train.plan import EpisodeSpec, Evaluate, Plan, PreferenceStage, RLStage, SFTStage, Stage
from saccade.types import ImageRef, Json, Task

logger = logging.getLogger(__name__)

_MAX_TEXT = 200
_MAX_DEPTH = 3
_SECRET = re.compile(r"(?:^|_)(?:key|token|secret|password)$", re.IGNORECASE)


def stages_as_json(plan: Plan) -> dict[str, Json]:
    """Each stage by name: its kind, and by which values it is played, rewarded and learned from."""
    return {stage.name: _stage(stage) for stage in plan.stages}


def tell_of_own_algorithms(plan: Plan) -> None:
    """Log each stage whose algorithm is not the one that its settings name, which have no effect then, and each whose
    algorithm takes stale batches for its own."""
    for stage in plan.stages:
        if not isinstance(stage, RLStage):
            continue
        if stage.settings.staleness and not stage.applied_algorithm.corrects_stale:
            logger.warning(
                "stage %s learns from batches that are up to %d steps old, and its algorithm %r does not correct for "
                "that; options.importance=auto does, an algorithm of your own needs a stale_loss",
                stage.name,
                stage.settings.staleness,
                stage.applied_algorithm.name,
            )
        if stage.algorithm is None:
            continue
        if not stage.algorithm.name.startswith(stage.settings.algorithm.name):
            logger.warning(
                "stage %s learns by %r, as the recipe passed it; algorithm.name=%s in its settings has no effect",
                stage.name,
                stage.algorithm.name,
                stage.settings.algorithm.name,
            )


def value_record(value: object, depth: int = _MAX_DEPTH) -> Json:
    """A value that a recipe passed, as far as plain words can say it.

    Numbers and short texts are themselves, a function is its qualified name, a dataclass its class and such fields;
    of anything else the class. Fields whose names speak of secrets are left out.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= _MAX_TEXT else f"{value[:_MAX_TEXT]}..."
    if isinstance(value, functools.partial):
        options: dict[str, Json] = {name: value_record(one, depth - 1) for name, one in value.keywords.items()}
        return {"function": value_record(value.func), **options} if options else value_record(value.func)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value, depth)
    if isinstance(value, tuple | list) and depth > 0:
        return [value_record(one, depth - 1) for one in value]
    name = getattr(value, "__qualname__", None)
    return f"{getattr(value, '__module__', '?')}.{name}" if isinstance(name, str) else _class_name(value)


def _stage(stage: Stage) -> dict[str, Json]:
    match stage:
        case SFTStage():
            return {"kind": "sft"}
        case PreferenceStage():
            return {"kind": "preference", "loss": value_record(stage.settings.loss), "content": stage.content}
        case Derive():
            return {"kind": "derive", "derive": value_record(stage.derive), "source": stage.source}
        case Evaluate():
            return {"kind": "evaluation", "reward": value_record(stage.reward), "samples": stage.samples}
        case RLStage():
            return {
                "kind": "rl",
                "algorithm": value_record(stage.applied_algorithm),
                "reward": value_record(stage.reward),
                "streams": {
                    stream.name: {
                        "protocol": stream.episodes.protocol.name,
                        "tools": [tool.spec.name for tool in stream.episodes.tools],
                        "max_turns": stream.episodes.max_turns,
                    }
                    for stream in stage.streams
                },
            }


def _fields(value: object, depth: int) -> Json:
    assert dataclasses.is_dataclass(value)
    if depth <= 0:
        return _class_name(value)
    said: Mapping[str, Json] = {
        field.name: value_record(getattr(value, field.name), depth - 1)
        for field in dataclasses.fields(value)
        if not _SECRET.search(field.name)
    }
    return {"class": _class_name(value), **said}


def _class_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


_ANY = Task(
    id="any",
    family="any",
    question="?",
    answer="",
    answer_kind="text",
    images=(ImageRef(hash="0" * 64, width=64, height=64),),
)


def asking_of(plan: Plan, view: ViewRule) -> AskingRecord:
    """How a plan asks a model with this view."""
    trained: dict[str, Way] = {}
    for stage in plan.stages:
        for stream in stage.streams if isinstance(stage, RLStage) else ():
            way = way_of(stream.episodes, view)
            # A later stage may ask otherwise in a stream of the same name.
            if trained.setdefault(stream.name, way) != way:
                trained[f"{stage.name}/{stream.name}"] = way
    measured = [stage for stage in plan.stages if isinstance(stage, Evaluate)]
    # What measures training questions for a later stage is no way of its own.
    played = [stage for stage in measured if stage.on_finished is None]
    if not trained and not played:
        trained = dict(zip(("expert",), _imitated_ways(plan, view)))
    resized = view if isinstance(view, ResizeRule) else None
    return AskingRecord(
        evaluated=tuple(_distinct(way_of(stage.episodes, view) for stage in played)),
        trained=trained,
        min_pixels=resized.min_pixels if resized else None,
        max_pixels=resized.max_pixels if resized else None,
    )


def way_of(episodes: EpisodeSpec, view: ViewRule) -> Way:
    """The way in which these episodes ask."""
    protocol, name = episodes.protocol, name_of(episodes.protocol)
    if (own := episodes.environment_name) is not None:
        name = None
    package = name and package_of(name)
    return Way(
        protocol=own or protocol.name,
        is_known=name is not None,
        style=protocol.style,
        box_form=protocol.box_form,
        tools=tuple(ToolRecord(spec=tool.spec, origin=origin_of(tool)) for tool in episodes.tools),
        max_turns=episodes.max_turns,
        states_turns=protocol.max_turns is not None,
        rollout=episodes.rollout,
        system=None if name is None or package else system_text(episodes, view),
        toolbox=_toolbox_of(protocol),
        package=package,
        reading=protocol.reading,
    )


def _toolbox_of(protocol: ChatProtocol) -> Mapping[str, Json] | None:
    """The linguistic tools of a protocol; None where a stage of the run has yet to make them."""
    source = protocol.toolbox
    try:
        return None if source is None else (source() if callable(source) else source).to_json()
    except NotDerivedError:
        return None


def system_text(episodes: EpisodeSpec, view: ViewRule) -> str | None:
    """The instructions of one of Saccade's own protocols; they are the same for every question.

    None where they speak of what a stage of the run has yet to make.
    """
    try:
        messages = episodes.protocol.prompt(_ANY, [tool.spec for tool in episodes.tools], view)
    except NotDerivedError:
        return None
    return "\n".join(
        part for message in messages if message.role == "system" for part in message.parts if isinstance(part, str)
    )


def _imitated_ways(plan: Plan, view: ViewRule) -> Sequence[Way]:
    shown = (stage.demonstrations(0) for stage in plan.stages if isinstance(stage, SFTStage))
    return _distinct(way_of(one.episodes, view) for demonstrations in shown for one in demonstrations)


def _distinct(ways: Iterable[Way]) -> list[Way]:
    found: list[Way] = []
    for way in ways:
        if way not in found:
            found.append(way)
    return found
