"""What ``saccade eval`` measures: a checkpoint or a server's model, with its record and what the user sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from saccade.config import RecipeContext
from saccade.models import base_checkpoint
from saccade.protocols import ProtocolName, direct_protocol
from saccade.recipes.evaluation_settings import EvaluationSettings, ServedModel, settings_of_way
from saccade.recipes.evaluation_ways import Ways, Wishes
from saccade.runs import AskingRecord, Permission, Toolmaker, Way, read_asking
from saccade.train import EpisodeSpec


class MakeEpisodes(Protocol):
    """The episodes of a protocol: in this way, or in the recorded one with that protocol, or by default."""

    def __call__(self, protocol: ProtocolName, way: Way | None = None, /) -> EpisodeSpec: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationSubject:
    """What is measured: a checkpoint, or a server's model, with its record and what the user sets."""

    path: Path
    """Of the checkpoint; of a server's model its name."""
    asking: AskingRecord | None
    overrides: Sequence[str]
    is_served: bool

    @property
    def settings(self) -> EvaluationSettings:
        """By the record's first way and the overrides."""
        return self._settings(self._first_way, self.overrides)

    @property
    def defaults(self) -> EvaluationSettings:
        """``settings`` without the overrides."""
        return self._settings(self._first_way, ())

    @property
    def _first_way(self) -> Way | None:
        return self.asking.ways[0] if self.asking and self.asking.ways else None

    def _settings(self, way: Way | None, overrides: Sequence[str]) -> EvaluationSettings:
        return settings_of_way(overrides, self.asking, way, is_served=self.is_served)

    def ways(self, wishes: Wishes, permission: Permission) -> Ways:
        """The ways in which it can be asked."""
        settings = self.settings
        return Ways(
            checkpoint=self.path,
            asking=self.asking if self._first_way else None,
            wishes=wishes,
            maker=Toolmaker(
                isolation=settings.isolation,
                sandbox_server=settings.sandbox_server,
                evidence_runs=settings.evidence_runs,
                permission=permission,
            ),
            style=settings.style,
            reading=settings.reading,
        )

    def episodes_of(self, ways: Ways) -> MakeEpisodes:
        """Makes the episodes of a protocol as these ways ask it."""

        def episodes(protocol: ProtocolName, way: Way | None = None, /) -> EpisodeSpec:
            recorded = way or ways.of_protocol(protocol)
            of_way = self._settings(recorded, self.overrides)
            # What is asked in a way is the way's; this only says how long and how often.
            limits = EpisodeSpec(
                protocol=direct_protocol(), tools=(), rollout=of_way.rollout, max_turns=of_way.max_turns
            )
            return ways.episodes(protocol, recorded, limits)

        return episodes


def subject_of(context: RecipeContext, server: ServedModel | None, asking: AskingRecord | None) -> EvaluationSubject:
    """The checkpoint of the context with its record, or the server's model, which has none but ``asking``."""
    path = Path(server.name) if server is not None else context.model or base_checkpoint()
    record = asking or (None if server is not None else read_asking(path))
    return EvaluationSubject(path=path, asking=record, overrides=context.overrides, is_served=server is not None)
