"""The ways in which ``saccade eval`` asks: as the checkpoint's record says, as the user says, or by default."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saccade.characters import shell_words
from saccade.errors import UserError
from saccade.models import instruction_style
from saccade.models.checkpoint import ASKING_RECORD
from saccade.protocols import (
    PROTOCOLS,
    PYTHON_TOOL,
    ChatProtocol,
    ProtocolName,
    Reading,
    Style,
    known_name,
    protocol_named,
    with_instructions,
)
from saccade.protocols.protocol import ToolboxOfWords
from saccade.runs import AskingRecord, Toolmaker, ToolRecord, UnknownOriginError, Way, words_for
from saccade.tools import IMAGE_TOOLS, EpisodeTool, Tool, crop, tool_from
from saccade.tools.making import wished_tools
from saccade.train import EpisodeSpec

Tools = tuple[Tool | EpisodeTool, ...]

FEWER_TOOLS = "_fewer_tools"
"""Ends the name of an evaluation that is played without recorded tools, so that no figure is taken for the trained
way's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """The user's options of how to ask; what is None or empty is as recorded, or else by default."""

    protocols: tuple[ProtocolName, ...] = ()
    tools: tuple[str, ...] = ()
    """Names of the catalogue, ``tools.toml`` files and addresses of tool services."""
    turns: int | None = None
    toolbox: ToolboxOfWords | None = None
    """Linguistic tools, for chains of them."""


@dataclass(kw_only=True)
class Ways:
    """Makes the episodes of an evaluation; ``maker.resources`` are what its run enters."""

    checkpoint: Path
    """The checkpoint's directory; of a server's model its name alone, below which no file is."""
    asking: AskingRecord | None
    wishes: Wishes
    maker: Toolmaker
    style: Style | None = None
    """Of the instructions; None is as fits the checkpoint."""
    reading: Reading | None = None
    """None is as recorded, else strict."""
    remarks: list[str] = field(default_factory=list)
    """Remarks that the user should read."""
    held_back: list[ToolRecord] = field(default_factory=list)
    """Recorded tools that are left out, since they reach what the user has not allowed."""

    def of_protocol(self, name: ProtocolName) -> Way | None:
        """The recorded way with this protocol that can be made again."""
        ways = (*self.asking.evaluated, *self.asking.trained.values()) if self.asking else ()
        fit = [way for way in ways if way.is_known and way.protocol == name]
        return next((way for way in fit if self.wishes.tools or all(tool.origin for tool in way.tools)), None)

    def by_default(self) -> Mapping[str, tuple[ProtocolName, Way]]:
        """The recorded ways by the names of their evaluations. UserError where none can be made again."""
        assert self.asking is not None
        has_none = False
        made: dict[str, tuple[ProtocolName, Way]] = {}
        for way in self.asking.ways:
            name = known_name(way.protocol) if way.is_known else None
            foreign = [tool.spec.name for tool in way.tools if not tool.origin and not self.wishes.tools]
            lacks_toolbox = name == "toolchain" and way.toolbox is None and self.wishes.toolbox is None
            if name is not None and not foreign and not lacks_toolbox:
                if self._has_no_tool_left(way):
                    has_none = True
                    continue
                count = sum(other == name for other, _ in made.values())
                made[f"{self.name_of(name, way)}_{count + 1}" if count else self.name_of(name, way)] = name, way
            else:
                part = f"the tool {foreign[0]}" if foreign and name else f"the environment or protocol {way.protocol!r}"
                of = f"of the package {way.package}, which is not installed," if way.package else "its recipe's own"
                self.remarks.append(
                    f"{self.checkpoint} was trained to be asked by {way.describe()}; {part} is {of} and cannot be made "
                    "again here."
                )
        if not made and has_none:
            raise self._no_tool_left()
        if not made:
            raise UserError(
                f"{' '.join(self.remarks)} Name a protocol ({', '.join(PROTOCOLS)}) with --protocol, tools with "
                f"--tools, or measure it by its own recipe: "
                f"saccade train RECIPE --model {shell_words(self.checkpoint)} --set rl.steps=0"
            )
        return made

    def name_of(self, protocol: ProtocolName, way: Way | None) -> str:
        """The name of an evaluation: another one where it has fewer tools than the checkpoint was trained with."""
        named = protocol.rpartition(":")[2]
        return f"{named}{FEWER_TOOLS}" if way is not None and self._held_back(way) else named

    @property
    def notice(self) -> str:
        """Which recorded tools are left out, and the options that allow them; empty where there are none."""
        if not self.held_back:
            return ""
        lines = self.maker.permission.notice(self.checkpoint, self.held_back)
        return f"{lines}\nNames of evaluations without them end in {FEWER_TOOLS}; a way without any tool is left out."

    def _held_back(self, way: Way) -> tuple[ToolRecord, ...]:
        """Tools of the way that reach what the user has not allowed; none where he names others."""
        if self.wishes.tools:
            return ()
        held = tuple(one for one in way.tools if self.maker.permission.lacking(one.spec.name, one.origin))
        self.held_back += [one for one in held if one not in self.held_back]
        return held

    def _has_no_tool_left(self, way: Way) -> bool:
        return bool(way.tools) and len(self._held_back(way)) == len(way.tools)

    def _no_tool_left(self) -> UserError:
        return UserError(
            f"{self.maker.permission.notice(self.checkpoint, self.held_back)}\nWithout them there is no tool to ask "
            "with; allow them, or give others with --tools"
        )

    def check(self, asked: Sequence[EpisodeSpec]) -> None:
        """UserError where what the user wants of tools and turns has no effect."""
        if self.wishes.toolbox is not None and not any(one.protocol.toolbox is not None for one in asked):
            names = ", ".join(one.protocol.name for one in asked)
            raise UserError(
                f"--toolbox would have no effect: {names} asks with no linguistic tools; add --protocol toolchain"
            )
        if asked and not any(one.protocol.offers_tools for one in asked):
            names = ", ".join(one.protocol.name for one in asked)
            if self.wishes.tools:
                raise UserError(f"--tools {','.join(self.wishes.tools)} would have no effect: {names} offers no tools")
            if self.wishes.turns is not None:
                raise UserError(f"--turns {self.wishes.turns} would have no effect: {names} has a single turn")

    def in_words(self, asked: Mapping[str, EpisodeSpec]) -> str:
        """How the checkpoint is asked, and by whose word."""
        how = "; ".join(
            _episode_words(one) if name == one.protocol.name else f"{name}: {_episode_words(one)}"
            for name, one in asked.items()
        )
        wishes = self.wishes
        is_wished = bool(wishes.protocols or wishes.tools or wishes.toolbox or wishes.turns is not None)
        if self.asking is None:
            by = "as the command says" if is_wished else "by default"
            return (
                f"{self.checkpoint} has no record of the prompts and tools of its training ({ASKING_RECORD}), so it is "
                f"asked {by} ({how}); --protocol, --tools and --turns change that."
            )
        if not is_wished:
            but = ", but without tools that need your yes" if self.held_back else ""
            return f"{self.checkpoint} is asked as its record says{but} ({how})."
        recorded = "; ".join(way.describe() for way in self.asking.ways)
        return f"{self.checkpoint} is asked as the command says ({how}); its record says: {recorded}."

    def episodes(self, protocol: ProtocolName, way: Way | None, defaults: EpisodeSpec) -> EpisodeSpec:
        """``defaults`` say limits and turns; tools and words are the way's where the user wants no others."""
        turns = self._turns(way, defaults, protocol)
        style = way.style if way else self.style or instruction_style(self.checkpoint)
        asked = protocol_named(
            protocol,
            style=style,
            max_turns=turns if way is None or way.states_turns else None,
            box_form=way.box_form if way else "lenient",
            toolbox=self.wishes.toolbox or (way.toolbox if way else None),
            reading=self.reading or (way.reading if way else "strict"),
        )
        tools = self._tools(protocol, way) if asked.offers_tools else ()
        is_whole = way is not None and not self._held_back(way)
        if (
            way is not None
            and is_whole
            and not self.wishes.tools
            and self.wishes.toolbox is None
            and turns == way.max_turns
        ):
            asked = self._in_recorded_words(asked, way, tools)
        return EpisodeSpec(protocol=asked, tools=tools, rollout=defaults.rollout, max_turns=turns)

    def _turns(self, way: Way | None, defaults: EpisodeSpec, protocol: ProtocolName) -> int:
        looks_again = protocol in ("tagged", "code", "grounded_with_crop") or protocol not in PROTOCOLS
        if self.wishes.turns is not None and looks_again:
            return self.wishes.turns
        return defaults.max_turns if way is not None or looks_again else 1

    def _tools(self, protocol: ProtocolName, way: Way | None) -> Tools:
        if self.wishes.tools:
            given = self._wished_tools()
            has_python = any(tool.spec.name == PYTHON_TOOL for tool in given)
            return given if protocol != "code" or has_python else (*wished_tools(PYTHON_TOOL, self.maker), *given)
        if way is not None:
            if self._has_no_tool_left(way):
                raise self._no_tool_left()
            held = self._held_back(way)
            try:
                return self.maker.made([one for one in way.tools if one not in held])
            except UnknownOriginError as error:
                raise UserError(
                    f"{self.checkpoint} is asked with the tool {error}, which is its recipe's own; give tools with "
                    "--tools"
                ) from error
        if protocol == "code":
            return tuple(wished_tools(PYTHON_TOOL, self.maker))
        return IMAGE_TOOLS if protocol == "tagged" else (tool_from(crop),)

    def _wished_tools(self) -> Tools:
        return tuple(tool for wish in self.wishes.tools for tool in wished_tools(wish, self.maker))

    def _in_recorded_words(self, protocol: ChatProtocol, way: Way, tools: Tools) -> ChatProtocol:
        """With the instructions that the policy was trained with, should those of today be others."""
        if way.system is None:
            return protocol
        if [tool.spec for tool in tools] != list(way.specs):
            self.remarks.append(
                f"The tools of {way.protocol} have changed since {self.checkpoint} was trained; it is told of them in "
                "the words of then."
            )
        return with_instructions(protocol, way.system)


def _episode_words(episodes: EpisodeSpec) -> str:
    protocol = episodes.protocol
    return words_for(protocol.name, [tool.spec.name for tool in episodes.tools], episodes.max_turns, protocol.reading)
