"""Plan of a run, as a recipe returns it: a model to start from and its stages, checked before the first step."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from saccade.algorithms.algorithm import Algorithm
from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import local_engine
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.loading import LoadSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.protocol import ChatProtocol
from saccade.rewards.reward import AnyReward
from saccade.rollout.episodes import EpisodeSpec as EpisodeSpec
from saccade.rollout.episodes import RolloutSettings
from saccade.tools.tool import EpisodeTool, Tool
from saccade.train.artefacts import Derive
from saccade.train.stage_checks import check_stages
from saccade.train.stages import Demonstration as Demonstration
from saccade.train.stages import DemonstrationSource as DemonstrationSource
from saccade.train.stages import Evaluate as Evaluate
from saccade.train.stages import LearningStage as LearningStage
from saccade.train.stages import PreferenceStage as PreferenceStage
from saccade.train.stages import RLStage as RLStage
from saccade.train.stages import ServedPolicy as ServedPolicy
from saccade.train.stages import SFTStage as SFTStage
from saccade.train.stages import Stage as Stage
from saccade.train.stages import Stream as Stream
from saccade.train.stages import with_episodes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from saccade.chat.resources import Resources
    from saccade.rewards.judges.evidence_judge import EvidenceJudge
    from saccade.rewards.judges.settings import JudgeSettings


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole run as a value. ``settings`` are those that ``settings.json`` keeps and ``--set`` changes."""

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
    """Sentences for output and report on how questions are asked, where the user has not chosen it."""
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
        """The plan with this reward in its RL stages; evaluations keep theirs."""
        stages = (replace(one, reward=reward) if isinstance(one, RLStage) else one for one in self.stages)
        return replace(self, stages=tuple(stages))

    def with_evidence_judge(self, judge: "EvidenceJudge", *models: AbstractContextManager[object]) -> "Plan":
        """The plan with verdicts on what calls returned, in RL stages that pay for them (``rl.evidence.form=judged``).

        ``models`` are open while it runs.
        """
        from saccade.rewards.judges.evidence_judge import WithEvidenceJudge

        def judged(stage: Stage) -> Stage:
            if not isinstance(stage, RLStage) or stage.settings.evidence.form != "judged":
                return stage
            return replace(stage, reward=WithEvidenceJudge(reward=stage.reward, judge=judge))

        return replace(self, stages=tuple(map(judged, self.stages)), resources=(*self.resources, *models))

    def with_judged_evidence(self, settings: "JudgeSettings", media: MediaStore, seed: int) -> "Plan":
        """``with_evidence_judge`` by settings. UserError for a judge that no stage pays by."""
        from saccade.rewards.judges.settings import evidence_judge

        found = evidence_judge(settings, media, seed)
        if found is None:
            return self
        if not any(isinstance(one, RLStage) and one.settings.evidence.form == "judged" for one in self.stages):
            raise UserError(f"evidence_judge.kind={settings.kind} has no effect without rl.evidence.form=judged")
        return self.with_evidence_judge(*found)

    def with_algorithm(self, algorithm: Callable[[RLStage], Algorithm]) -> "Plan":
        """The plan with an algorithm of your own in its RL stages.

        It is made for each stage, which says how long a trajectory may be and what the named one would be, and stands
        for the one that ``settings.algorithm`` names; what a recipe adds to it (``adapt_algorithm``) is still added.
        """
        stages = (replace(one, algorithm=algorithm(one)) if isinstance(one, RLStage) else one for one in self.stages)
        return replace(self, stages=tuple(stages))

    def with_models(self, models: "Resources") -> "Plan":
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
        return replace(self, stages=tuple(with_episodes(stage, change) for stage in self.stages))

    def rollouts(self) -> list[RolloutSettings]:
        """How all that is played is played; demonstrations are not."""
        found: list[RolloutSettings] = []

        def noted(episodes: EpisodeSpec) -> EpisodeSpec:
            found.append(episodes.rollout)
            return episodes

        self.with_episodes(noted)
        return found

    def check(self) -> None:
        """Raises UserError for a plan that cannot run."""
        if self.served is not None and not all(isinstance(stage, Evaluate) for stage in self.stages):
            raise UserError("the plan trains a policy at a server, which can only be measured; give evaluations alone")
        check_stages(self.stages)

    def new_model(self) -> VisionLanguageModel:
        """What ``build_model`` gives, computed with as ``load`` wants it."""
        model = self.build_model()
        if self.load.batch_invariant:
            from saccade.models.batch_invariant import make_batch_invariant

            make_batch_invariant(model)
        return model

    @property
    def overlapping(self) -> tuple[str, ...]:
        """Names of the stages whose rollouts run beside learning."""
        return tuple(stage.name for stage in self.stages if isinstance(stage, RLStage) and stage.settings.overlap)

    @property
    def applied_engine(self) -> Callable[[EngineContext], Engine]:
        """What makes the engine: where rollouts overlap with learning, the default one in a process of its own."""
        if self.engine is not local_engine or not self.overlapping:
            return self.engine
        from saccade.engines.process import ProcessEngine

        return ProcessEngine

    def updates_before(self, stage: Stage) -> int:
        """Optimiser steps of all stages before this one."""
        earlier = self.stages[: self.stages.index(stage)]
        return sum(0 if isinstance(one, Evaluate | Derive) else one.settings.steps for one in earlier)
