"""A checkpoint as it is served: asked in one way, by its record, by the command, or by default."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.engines.engine import Engine, EngineContext
from saccade.errors import UserError
from saccade.media import MediaStore
from saccade.models import VisionLanguageModel, instruction_style, load_model
from saccade.protocols import PROTOCOLS, PYTHON_TOOL, ProtocolName, protocol_named
from saccade.recipes.evaluation_settings import ServedModel, model_at_server, settings_of_way
from saccade.recipes.evaluation_ways import Ways, Wishes
from saccade.runs import Permission, Toolmaker, read_asking
from saccade.serving.agent import Agent, EngineAgent, spelled_tokens
from saccade.serving.chat_agent import USUAL_TOKENS, ChatAgent
from saccade.tools import IMAGE_TOOLS
from saccade.train import EpisodeSpec


@dataclass(frozen=True, kw_only=True)
class PolicyToServe:
    """A policy that is ready to be served."""

    agent: Agent
    model: VisionLanguageModel | None
    """None for one behind a server."""
    media: MediaStore
    episodes: EpisodeSpec
    resources: Sequence[AbstractContextManager[object]]
    """To be entered before the first request."""
    in_words: str
    """How it is asked, and by whose word."""

    protocols: Mapping[str, EpisodeSpec]
    """Ways in which it can be asked, by protocol, its own first: recorded ones in their words, others in usual ones."""

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool.spec.name for tool in self.episodes.tools)


def served_policy(
    checkpoint: Path | ServedModel,
    make_engine: Callable[[EngineContext], Engine],
    *,
    protocol: ProtocolName | None = None,
    tools: Sequence[str] = (),
    turns: int | None = None,
    temperature: float = 0.0,
    overrides: Sequence[str] = (),
    offers_all: bool = False,
    allowed: Sequence[str] = (),
) -> PolicyToServe:
    """The policy in one way of asking: the protocol's, the record's first, or the tagged one with all image tools.

    With ``offers_all`` it can be asked in others too. ``allowed`` is as in ``evaluation``. A model behind another
    server has no record.
    UserError where that cannot be made.
    """
    server, path = (checkpoint, Path(checkpoint.name)) if isinstance(checkpoint, ServedModel) else (None, checkpoint)
    asking = None if server is not None else read_asking(path)
    known = asking if asking and asking.ways else None
    settings = settings_of_way(overrides, None, None, is_served=server is not None)
    ways = Ways(
        checkpoint=path,
        asking=known,
        wishes=Wishes(protocols=() if protocol is None else (protocol,), tools=tuple(tools), turns=turns),
        maker=Toolmaker(
            isolation=settings.isolation,
            sandbox_server=settings.sandbox_server,
            permission=Permission(allowed=frozenset(allowed)),
        ),
        style=settings.style,
        reading=settings.reading,
    )
    if protocol is not None:
        chosen, way = protocol, ways.of_protocol(protocol)
    elif known is not None:
        chosen, way = next(iter(ways.by_default().values()))
    else:
        chosen, way = "tagged", None
    settings = settings_of_way(overrides, known, way, is_served=server is not None)
    limits = EpisodeSpec(rollout=replace(settings.rollout, temperature=temperature), max_turns=settings.max_turns)
    spec = ways.episodes(chosen, way, limits)
    ways.check([spec])
    said = " ".join([ways.in_words({spec.protocol.name: spec}), *ways.remarks])
    in_words = "\n".join(filter(None, (said, ways.notice)))
    protocols = _offered_ways(spec, ways, limits) if offers_all else {spec.protocol.name: spec}
    media = MediaStore()
    entered = list(ways.maker.resources)
    agent: Agent
    model = None
    if server is not None:
        answering = model_at_server(server, settings, media)
        entered.append(answering.model)
        agent = ChatAgent(answering.model, spec, answering.view, USUAL_TOKENS)
    else:
        model = load_model(path, media, settings.model)
        engine = make_engine(EngineContext(model=model, load=settings.model))
        agent = EngineAgent(engine, spec, chat=model.chat, view=model.view, special_tokens=spelled_tokens(model))
    return PolicyToServe(
        agent=agent,
        model=model,
        media=media,
        episodes=spec,
        resources=tuple(entered),
        protocols=protocols,
        in_words=in_words,
    )


def _offered_ways(own: EpisodeSpec, ways: Ways, limits: EpisodeSpec) -> dict[str, EpisodeSpec]:
    """Those that need no sandbox and no toolbox of their own, unless the record has them."""
    offered = {own.protocol.name: own}
    # A record none of whose ways can be made again has none to offer.
    with suppress(UserError):
        for name, way in ways.by_default().values() if ways.asking else ():
            offered.setdefault(name, ways.episodes(name, way, limits))
    style = ways.style or instruction_style(ways.checkpoint)
    plain = tuple(tool for tool in own.tools if tool.spec.name != PYTHON_TOOL) or IMAGE_TOOLS
    for name in PROTOCOLS:
        if name not in offered and name not in ("code", "toolchain"):
            # A protocol without tags has one reading.
            reading = "strict" if name == "bare" else ways.reading or "strict"
            protocol = protocol_named(name, style=style, max_turns=own.max_turns, reading=reading)
            tools, turns = (plain, own.max_turns) if protocol.offers_tools else ((), 1)
            offered[name] = replace(own, protocol=protocol, tools=tools, max_turns=turns)
    return offered
