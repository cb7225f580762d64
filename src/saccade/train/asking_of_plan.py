"""The ways in which a plan asks, for the record that its checkpoints carry."""

from collections.abc import Iterable, Sequence

from saccade.media.resize import ResizeRule, ViewRule
from saccade.protocols.named import name_of
from saccade.runs.asking import AskingRecord, ToolRecord, Way
from saccade.runs.recorded_tools import origin_of
from saccade.train.plan import EpisodeSpec, Evaluate, Plan, RLStage, SFTStage
from saccade.types import ImageRef, Task

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
    streams = [stream for stage in plan.stages if isinstance(stage, RLStage) for stream in stage.streams]
    trained: dict[str, Way] = {}
    for stream in streams:
        trained.setdefault(stream.name, way_of(stream.episodes, view))
    measured = [stage for stage in plan.stages if isinstance(stage, Evaluate)]
    # What measures training questions for a later stage is no way of its own.
    played = [stage for stage in measured if stage.on_finished is None]
    if not trained and not played:
        trained = dict(zip(("expert",), _imitated(plan, view)))
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
    return Way(
        protocol=own or protocol.name,
        is_known=name is not None,
        style=protocol.style,
        box_form=protocol.box_form,
        tools=tuple(ToolRecord(spec=tool.spec, origin=origin_of(tool)) for tool in episodes.tools),
        max_turns=episodes.max_turns,
        states_turns=protocol.max_turns is not None,
        rollout=episodes.rollout,
        system=None if name is None else system_text(episodes, view),
    )


def system_text(episodes: EpisodeSpec, view: ViewRule) -> str:
    """The instructions of one of Saccade's own protocols; they are the same for every question."""
    messages = episodes.protocol.prompt(_ANY, [tool.spec for tool in episodes.tools], view)
    return "\n".join(
        part for message in messages if message.role == "system" for part in message.parts if isinstance(part, str)
    )


def _imitated(plan: Plan, view: ViewRule) -> Sequence[Way]:
    shown = (stage.demonstrations(0) for stage in plan.stages if isinstance(stage, SFTStage))
    return _distinct(way_of(one.episodes, view) for demonstrations in shown for one in demonstrations)


def _distinct(ways: Iterable[Way]) -> list[Way]:
    found: list[Way] = []
    for way in ways:
        if way not in found:
            found.append(way)
    return found
