"""Stages of a run, as a recipe composes them: imitation, reinforcement, evaluations, and what is derived from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from saccade.algorithms.algorithm import Algorithm
from saccade.chat.chat_model import ConnectedChat
from saccade.errors import UserError
from saccade.evaluation.samples import default_cluster
from saccade.media.resize import ViewRule
from saccade.rewards.reward import AnyReward
from saccade.rollout.episodes import EpisodeSpec
from saccade.tasks.curriculum import TaskSampler
from saccade.train.algorithm_settings import chosen_algorithm
from saccade.train.artefacts import Derive
from saccade.train.stage_settings import PreferenceSettings, RLSettings, SFTSettings, TeacherSettings
from saccade.types import Attempt, Example, Json, SpokenConversation, Task, TrajectoryPair

if TYPE_CHECKING:
    from saccade.evaluation.views import Views
    from saccade.train.privileged import Hint


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """A stage that evaluates the model; the run checks whether it was trained on these tasks.

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
    views: "Views | None" = None
    """Views of the second pass beside the original; one without crops and union is a plain evaluation."""
    samples: int = 1
    """How often each task is played; more than once gives pass rates, at a temperature above 0."""
    cluster: Callable[[Task], str] = default_cluster
    """Questions of one cluster are not independent: on one picture, of one document, cycles of one question."""
    set_apart: Mapping[str, Json] = field(default_factory=dict)
    """What else distinguishes it from other evaluations of these tasks, such as its benchmark or probe."""
    set_name: str = ""
    """Name of the set of questions, where several are measured."""
    on_finished: Callable[[Iterable[Attempt]], None] | None = None
    """Called with what was played, also where a resumed run reads it from its files; a later stage may use it."""

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
"""An endless source of demonstrations: a function of a number and of the completed share of the stage's steps.

It depends on these alone, so that a resumed run sees the same ones.
"""


@dataclass(frozen=True, kw_only=True)
class SFTStage:
    """Supervised fine-tuning: imitates demonstrations, with the loss on the model's own tokens only."""

    name: str
    source: Callable[[int, float], Demonstration | SpokenConversation]
    """As a ``DemonstrationSource``; conversations of others are imitated as they are."""
    settings: SFTSettings

    def batch(self, step: int) -> list[Demonstration | SpokenConversation]:
        """What is imitated in the step with this index, from 0."""
        size, progress = self.settings.batch_size, step / max(1, self.settings.steps)
        return [self.source(index, progress) for index in range(step * size, (step + 1) * size)]

    def demonstrations(self, step: int) -> list[Demonstration]:
        """The demonstrations of that batch."""
        return [one for one in self.batch(step) if isinstance(one, Demonstration)]


@dataclass(frozen=True, kw_only=True)
class PreferenceStage:
    """Learns to prefer one trajectory of a pair to the other: DPO and its relatives on pairs that are there already."""

    name: str
    source: Callable[[int], TrajectoryPair]
    """An endless source of pairs: a function of a number alone, as a ``DemonstrationSource``."""
    settings: PreferenceSettings
    held_out: tuple[TrajectoryPair, ...] = ()
    """Pairs that are measured and not learned from."""
    content: str = ""
    """A hash of the pairs: a run is not resumed with others."""

    def batch(self, step: int) -> list[TrajectoryPair]:
        """What is compared in the step with this index, from 0."""
        size = self.settings.batch_size
        return [self.source(index) for index in range(step * size, (step + 1) * size)]


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One way in which questions are asked; rewards are compared inside a stream only."""

    name: str
    episodes: EpisodeSpec


@dataclass(frozen=True, kw_only=True)
class RLStage:
    """A stage of reinforcement learning on the policy's own trajectories."""

    name: str
    streams: tuple[Stream, ...]
    questions: Callable[[], TaskSampler]
    """Makes the source of questions and their streams; its state is saved with every checkpoint."""
    reward: AnyReward
    settings: RLSettings
    algorithm: Algorithm | None = None
    """An algorithm of your own; None is the one that ``settings.algorithm`` names."""
    adapt_algorithm: Callable[[Algorithm], Algorithm] | None = None
    """Adds to either of them, as ``with_turn_credit`` does."""
    teacher: TeacherSettings | None = None
    """Who teaches it, where its algorithm distils."""
    hint: "Hint | None" = None
    """A privileged view of your own in the place of the teacher's ``view``."""
    evaluation: Evaluate | None = None
    """For the curves, every ``settings.evaluate_every`` steps."""

    def __post_init__(self) -> None:
        foreign = [one.name for one in self.streams if one.episodes.protocol.reading == "foreign"]
        if foreign:
            raise UserError(
                f"the stream {foreign[0]} reads bare answers (reading=foreign), which is for measuring: a policy would "
                "be paid for leaving the form out; train with strict or lenient"
            )

    @property
    def compares_with_first(self) -> bool:
        """Whether the policy that the stage began with is needed: as the reference, or as the teacher."""
        is_taught_by_it = self.teacher is not None and self.teacher.model == "start"
        return self.applied_algorithm.needs_reference or is_taught_by_it

    @property
    def max_action_tokens(self) -> int:
        """The most tokens that a model may write in one trajectory of any stream."""
        return max(stream.episodes.max_action_tokens for stream in self.streams)

    @property
    def applied_algorithm(self) -> Algorithm:
        """The algorithm that the stage learns by."""
        base = self.algorithm or chosen_algorithm(self.settings.algorithm, action_tokens=self.max_action_tokens)
        adapted = base if self.adapt_algorithm is None else self.adapt_algorithm(base)
        return self.settings.evidence.added_to(adapted)


LearningStage = SFTStage | PreferenceStage | RLStage
"""A stage that takes optimiser steps."""

Stage = LearningStage | Evaluate | Derive


def goes_by_first_policy(stage: Stage) -> bool:
    """Whether the stage compares its policy with the one that it began with."""
    if isinstance(stage, PreferenceStage):
        return not stage.settings.loss.reference_free
    return isinstance(stage, RLStage) and stage.compares_with_first


def with_episodes(stage: Stage, change: Callable[[EpisodeSpec], EpisodeSpec]) -> Stage:
    """The stage with all its episodes changed, those of demonstrations and of its learning curve too."""
    if isinstance(stage, Derive | PreferenceStage):
        return stage
    if isinstance(stage, Evaluate):
        return _measured_with(stage, change)
    if isinstance(stage, RLStage):
        streams = tuple(replace(stream, episodes=change(stream.episodes)) for stream in stage.streams)
        curve = None if stage.evaluation is None else _measured_with(stage.evaluation, change)
        return replace(stage, streams=streams, evaluation=curve)
    source = stage.source

    def demonstration(index: int, progress: float) -> Demonstration | SpokenConversation:
        shown = source(index, progress)
        return replace(shown, episodes=change(shown.episodes)) if isinstance(shown, Demonstration) else shown

    return replace(stage, source=demonstration)


def _measured_with(stage: Evaluate, change: Callable[[EpisodeSpec], EpisodeSpec]) -> Evaluate:
    first_pass = None if stage.first_pass is None else change(stage.first_pass)
    return replace(stage, episodes=change(stage.episodes), first_pass=first_pass)
