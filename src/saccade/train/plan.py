"""Plan of a run, as a recipe returns it: a model to start from and its stages, checked before the first step."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from saccade.algorithms.algorithm import Algorithm
from saccade.chat.chat_model import ConnectedChat
from saccade.chat.resources import Resources
from saccade.config.settings import check_settings
from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import local_engine
from saccade.engines.process import ProcessEngine
from saccade.errors import UserError
from saccade.evaluation.samples import default_cluster
from saccade.evaluation.views import Views
from saccade.media.resize import ViewRule
from saccade.models.loading import LoadSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.protocol import ChatProtocol
from saccade.rewards.reward import AnyReward
from saccade.rollout.episodes import EpisodeSpec as EpisodeSpec
from saccade.rollout.episodes import RolloutSettings
from saccade.tasks.curriculum import TaskSampler
from saccade.tools.tool import EpisodeTool, Tool
from saccade.train.artefacts import Derive
from saccade.train.stage_settings import RLSettings, SFTSettings, chosen
from saccade.types import Attempt, Example, Json, Task

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measures the model; the run finds out whether it was trained on these tasks.

    With ``first_pass`` and ``views`` it looks twice (``saccade.evaluation.evaluate``): the first pass names boxes,
    ``episodes`` answer on the views that are cut out by them. The first pass is an evaluation of its own in the
    report, ``first_pass_name``, unless an evaluation before has played the very same one.
    """

    name: str
    tasks: Callable[[], Sequence[Task]]
    episodes: EpisodeSpec
    reward: AnyReward
    """Given no memory of training: what a group reward remembers of a task begins anew with each evaluation."""
    temperature: float = 0.0
    """0 is greedy."""
    first_pass: EpisodeSpec | None = None
    """How boxes are asked for: a grounded protocol."""
    views: Views | None = None
    """Views of the second pass beside the original; one without crops and union is a plain evaluation."""
    samples: int = 1
    """How often each task is played; more than once gives pass rates, at a temperature above 0."""
    cluster: Callable[[Task], str] = default_cluster
    """Questions of one cluster are not independent: on one picture, of one document, cycles of one question."""
    set_apart: Mapping[str, Json] = field(default_factory=dict)
    """What else tells it from other evaluations of these tasks: its benchmark, its probe."""
    set_name: str = ""
    """Name of the set of questions, where several are measured."""
    on_finished: Callable[[Iterable[Attempt]], None] | None = None
    """Told of what was played, also where a resumed run reads it from its files: a later stage may go by it."""

    @property
    def first_pass_name(self) -> str | None:
        """The name under which the first pass is recorded; None where there is none."""
        is_played = self.first_pass is not None and self.views is not None and self.views.is_any
        return f"{self.name}_first_pass" if is_played else None


@dataclass(frozen=True, kw_only=True)
class ServedPolicy:
    """A policy that answers in texts, at a server: it can be measured, and not be trained."""

    model: ConnectedChat
    """Entered with the run, as one of ``Plan.resources``."""
    identity: Mapping[str, Json]
    """What tells it from other policies: the server, its name there, and all that shapes a reply."""
    view: ViewRule
    """How large it sees pictures, and in which frame it writes coordinates."""
    at_once: int = 8


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """An expert's solution and the episodes in which it is played."""

    example: Example
    episodes: EpisodeSpec
    may_fail: bool = False
    """Whether a tool may fail on the expert, who then shows how to go on."""


DemonstrationSource = Callable[[int, float], Demonstration]
"""Demonstrations without an end: from a number, and the share of the stage's steps that is over when it is shown.

A function of these alone, so that a resumed run sees the same ones.
"""


@dataclass(frozen=True, kw_only=True)
class SFTStage:
    """Supervised fine-tuning: imitates demonstrations, with the loss on the model's own tokens only."""

    name: str
    source: DemonstrationSource
    settings: SFTSettings

    def demonstrations(self, step: int) -> list[Demonstration]:
        """The batch of the step with this index, from 0."""
        size, progress = self.settings.batch_size, step / max(1, self.settings.steps)
        return [self.source(index, progress) for index in range(step * size, (step + 1) * size)]


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One way in which questions are asked; rewards are compared inside a stream only."""

    name: str
    episodes: EpisodeSpec


@dataclass(frozen=True, kw_only=True)
class RLStage:
    """Learns from the rewards of its own trajectories."""

    name: str
    streams: tuple[Stream, ...]
    questions: Callable[[], TaskSampler]
    """Makes the source that says what is asked, in which streams; its state is saved with every checkpoint."""
    reward: AnyReward
    settings: RLSettings
    algorithm: Algorithm | None = None
    """An algorithm of one's own; None is the one that ``settings.algorithm`` names."""
    adapt_algorithm: Callable[[Algorithm], Algorithm] | None = None
    """Adds to either of them, as ``with_turn_credit`` does."""
    evaluation: Evaluate | None = None
    """For the curves, every ``settings.evaluate_every`` steps."""

    @property
    def max_action_tokens(self) -> int:
        """The most tokens that a model may write in one trajectory of any stream."""
        return max(stream.episodes.max_action_tokens for stream in self.streams)

    @property
    def applied_algorithm(self) -> Algorithm:
        """The algorithm that the stage learns by."""
        base = self.algorithm or chosen(self.settings.algorithm, action_tokens=self.max_action_tokens)
        return base if self.adapt_algorithm is None else self.adapt_algorithm(base)


Stage = SFTStage | RLStage | Evaluate | Derive

_FILE_NAME = re.compile(r"\w[\w-]*")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole run: ``settings`` are those that ``settings.json`` keeps and ``--set`` changes."""

    title: str
    settings: "DataclassInstance"
    build_model: Callable[[], VisionLanguageModel]
    stages: tuple[Stage, ...]
    load: LoadSettings = LoadSettings(device="cpu")
    """How a resumed run loads its checkpoints; as the model was first loaded."""
    engine: Callable[[EngineContext], Engine] = local_engine
    """Makes the engine that samples; it is given new weights after each step and closed with the run. See also
    ``applied_engine``."""
    served: ServedPolicy | None = None
    """Stands for model and engine, in a plan of evaluations alone."""
    remarks: tuple[str, ...] = ()
    """Sentences for output and report on how it asks, where the user has not said it."""
    resources: tuple[AbstractContextManager[object], ...] = ()
    """Contexts that a run enters before its first stage and leaves in any case: the sandbox of its tools."""
    meters: Callable[[], Mapping[str, float]] = dict
    """Numbers about the resources since it was last called: requests to a judge, say. They are asked for after each
    step of reinforcement and recorded below ``time/``, since no seed gives them again."""

    def with_tools(
        self, *tools: Tool | EpisodeTool, resources: Sequence[AbstractContextManager[object]] = ()
    ) -> "Plan":
        """The plan with further tools wherever tools are offered; one of the same name is replaced.

        ``resources`` are what they need, the sandbox of a Python tool, say.
        """
        added = self.with_episodes(lambda one: one.with_tools(*tools) if one.protocol.offers_tools else one)
        return replace(added, resources=(*self.resources, *resources))

    def with_reward(self, reward: AnyReward) -> "Plan":
        """The plan whose reinforcement goes by this reward; evaluations keep theirs."""
        stages = (replace(one, reward=reward) if isinstance(one, RLStage) else one for one in self.stages)
        return replace(self, stages=tuple(stages))

    def with_algorithm(self, algorithm: Callable[[RLStage], Algorithm]) -> "Plan":
        """The plan whose reinforcement learns by an algorithm of one's own.

        It is made for each stage, which says how long a trajectory may be and what the named one would be, and stands
        for the one that ``settings.algorithm`` names; what a recipe adds to it (``adapt_algorithm``) is still added.
        """
        stages = (replace(one, algorithm=algorithm(one)) if isinstance(one, RLStage) else one for one in self.stages)
        return replace(self, stages=tuple(stages))

    def with_models(self, models: Resources) -> "Plan":
        """The plan with models that are open while it runs, for a reward or a tool, and counted with its steps."""
        before = self.meters
        return replace(
            self,
            resources=(*self.resources, models),
            meters=lambda: {**before(), **models.meters()},
        )

    def with_protocol(self, protocol: ChatProtocol) -> "Plan":
        """The plan with a protocol that offers tools where tools are offered, or one without where none are."""
        offers = protocol.offers_tools
        return self.with_episodes(
            lambda one: one.with_protocol(protocol) if one.protocol.offers_tools == offers else one
        )

    def with_episodes(self, change: Callable[[EpisodeSpec], EpisodeSpec]) -> "Plan":
        """The plan with all its episodes changed, those of demonstrations and of learning curves too."""
        return replace(self, stages=tuple(_with_episodes(stage, change) for stage in self.stages))

    def check(self) -> None:
        """Raises UserError for a plan that cannot run."""
        if not self.stages:
            raise UserError("the recipe returned a plan without stages; add at least one")
        if self.served is not None and not all(isinstance(stage, Evaluate) for stage in self.stages):
            raise UserError("the plan's policy is at a server, and is to be trained; give it evaluations alone")
        names = [name for stage in self.stages for name in _names_of(stage)]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise UserError(f"two stages are named {', '.join(repeated)}; give each stage its own name")
        for stage in self.stages:
            _check_name(stage.name)
            for episodes in _episodes_of(stage):
                _check_temperature(stage, episodes)
            if isinstance(stage, Evaluate):
                _check_passes(stage)
                _check_samples(stage)
            elif isinstance(stage, Derive):
                _check_derived(stage, names)
            else:
                check_settings(stage.settings, f"stage {stage.name}: ")
            if isinstance(stage, RLStage):
                _check_streams(stage)
                _check_groups(stage)
                if stage.evaluation is not None:
                    _check_passes(stage.evaluation)

    @property
    def overlapping(self) -> tuple[str, ...]:
        """Names of the stages whose rollouts run beside learning."""
        return tuple(stage.name for stage in self.stages if isinstance(stage, RLStage) and stage.settings.overlap)

    @property
    def applied_engine(self) -> Callable[[EngineContext], Engine]:
        """What makes the engine: where rollouts overlap with learning, the default one in a process of its own."""
        return ProcessEngine if self.engine is local_engine and self.overlapping else self.engine

    def updates_before(self, stage: Stage) -> int:
        """Optimiser steps of all stages before this one."""
        earlier = self.stages[: self.stages.index(stage)]
        return sum(0 if isinstance(one, Evaluate | Derive) else one.settings.steps for one in earlier)


def _with_episodes(stage: Stage, change: Callable[[EpisodeSpec], EpisodeSpec]) -> Stage:
    if isinstance(stage, Derive):
        return stage
    if isinstance(stage, Evaluate):
        return _measured_with(stage, change)
    if isinstance(stage, RLStage):
        streams = tuple(replace(stream, episodes=change(stream.episodes)) for stream in stage.streams)
        curve = None if stage.evaluation is None else _measured_with(stage.evaluation, change)
        return replace(stage, streams=streams, evaluation=curve)
    source = stage.source

    def demonstration(index: int, progress: float) -> Demonstration:
        shown = source(index, progress)
        return replace(shown, episodes=change(shown.episodes))

    return replace(stage, source=demonstration)


def _measured_with(stage: Evaluate, change: Callable[[EpisodeSpec], EpisodeSpec]) -> Evaluate:
    first_pass = None if stage.first_pass is None else change(stage.first_pass)
    return replace(stage, episodes=change(stage.episodes), first_pass=first_pass)


def _check_groups(stage: RLStage) -> None:
    """Checks group sizes by the algorithm's value, which a recipe may pass whatever name its settings have."""
    size = stage.settings.group_size
    if size < 2 and stage.applied_algorithm.critic is None:
        raise UserError(
            f"stage {stage.name}: group_size={size} leaves nothing to compare inside a group; use 2 or more (8 is "
            "usual), or an algorithm with a critic (ppo)"
        )


def _check_streams(stage: RLStage) -> None:
    if not stage.streams:
        raise UserError(f"stage {stage.name!r} has no streams; give it at least one, which says what is asked and how")
    if len({stream.name for stream in stage.streams}) != len(stage.streams):
        raise UserError(f"two streams of stage {stage.name!r} have one name; give each its own")


def _check_derived(stage: Derive, names: Sequence[str]) -> None:
    if stage.into.stage != stage.name:
        raise UserError(f"stage {stage.name!r} fills an artefact of the stage {stage.into.stage!r}; give both one name")
    if stage.source not in names[: names.index(stage.name)]:
        raise UserError(
            f"stage {stage.name!r} reads the trajectories of {stage.source!r}, which is no stage before it; there are "
            f"{', '.join(names[: names.index(stage.name)]) or 'none'}"
        )


def _check_passes(stage: Evaluate) -> None:
    if (stage.first_pass is None) != (stage.views is None):
        given, missing = ("views", "first_pass") if stage.first_pass is None else ("first_pass", "views")
        raise UserError(
            f"evaluation {stage.name!r} has {given} but no {missing}; a second look needs both, the episodes that "
            "name boxes and the views that are cut out by them"
        )


def _check_samples(stage: Evaluate) -> None:
    if stage.samples < 1:
        raise UserError(f"evaluation {stage.name!r}: samples={stage.samples} plays nothing; use 1 or more")
    if stage.samples > 1 and (stage.temperature == 0 or stage.views is not None):
        raise UserError(
            f"evaluation {stage.name!r} plays each task {stage.samples} times: give it a temperature above 0 and no "
            "second look, or all of them are the same"
        )


def _names_of(stage: Stage) -> list[str]:
    """Names of the files that the stage writes."""
    first_pass = stage.first_pass_name if isinstance(stage, Evaluate) else None
    return [stage.name] if first_pass is None else [stage.name, first_pass]


def _check_name(name: str) -> None:
    """A stage's name is part of the names of its files."""
    if not _FILE_NAME.fullmatch(name):
        raise UserError(f"{name!r} cannot name a stage; use letters, digits, underscores and hyphens")


def _episodes_of(stage: Stage) -> list[EpisodeSpec]:
    """Episodes that are sampled."""
    if isinstance(stage, RLStage):
        return [stream.episodes for stream in stage.streams]
    if isinstance(stage, Evaluate):
        return [stage.episodes] if stage.first_pass is None else [stage.first_pass, stage.episodes]
    return []


def _check_temperature(stage: Stage, episodes: EpisodeSpec) -> None:
    asked = episodes.rollout.temperature
    if asked != RolloutSettings().temperature:
        raise UserError(
            f"rollout.temperature={asked} would have no effect: stage {stage.name!r} samples at a temperature of its "
            "own. Set that one: rl.temperature in training, --temperature in saccade eval"
        )
