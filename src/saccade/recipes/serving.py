"""A checkpoint as it is served: asked in one way, by its record, by the command, or by default."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.config import apply_overrides
from saccade.engines.engine import Engine, EngineContext
from saccade.media import MediaStore
from saccade.models import load_model
from saccade.protocols import ProtocolName
from saccade.recipes.evaluation import EvaluationSettings, settings_of_way
from saccade.recipes.evaluation_ways import Ways, Wishes
from saccade.runs import Toolmaker, read_asking
from saccade.serving.agent import EngineAgent, spelled_tokens
from saccade.train import EpisodeSpec


@dataclass(frozen=True, kw_only=True)
class ServedPolicy:
    """A policy that is ready to be served."""

    agent: EngineAgent
    media: MediaStore
    episodes: EpisodeSpec
    resources: Sequence[AbstractContextManager[object]]
    """To be entered before the first request."""
    in_words: str
    """How it is asked, and by whose word."""

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool.spec.name for tool in self.episodes.tools)


def served_policy(
    checkpoint: Path,
    make_engine: Callable[[EngineContext], Engine],
    *,
    protocol: ProtocolName | None = None,
    tools: Sequence[str] = (),
    turns: int | None = None,
    temperature: float = 0.0,
    overrides: Sequence[str] = (),
) -> ServedPolicy:
    """The policy in one way of asking: the protocol's, the record's first, or the tagged one with all image tools.

    UserError where that cannot be made.
    """
    asking = read_asking(checkpoint)
    known = asking if asking and asking.ways else None
    settings = apply_overrides(EvaluationSettings(), overrides)
    ways = Ways(
        checkpoint=checkpoint,
        asking=known,
        wishes=Wishes(protocols=() if protocol is None else (protocol,), tools=tuple(tools), turns=turns),
        maker=Toolmaker(isolation=settings.isolation),
    )
    if protocol is not None:
        chosen, way = protocol, ways.of_protocol(protocol)
    elif known is not None:
        chosen, way = next(iter(ways.by_default().values()))
    else:
        chosen, way = "tagged", None
    settings = settings_of_way(overrides, known, way)
    limits = EpisodeSpec(rollout=replace(settings.rollout, temperature=temperature), max_turns=settings.max_turns)
    spec = ways.episodes(chosen, way, limits)
    ways.check([spec])
    media = MediaStore()
    model = load_model(checkpoint, media, settings.model)
    engine = make_engine(EngineContext(model=model, load=settings.model))
    return ServedPolicy(
        agent=EngineAgent(engine, spec, chat=model.chat, view=model.view, special_tokens=spelled_tokens(model)),
        media=media,
        episodes=spec,
        resources=tuple(ways.maker.resources),
        in_words=" ".join([ways.in_words({spec.protocol.name: spec}), *ways.remarks]),
    )
