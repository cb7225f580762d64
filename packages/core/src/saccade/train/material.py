"""Material of a method: a model, questions, examples to imitate, and tasks to measure on."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from saccade.errors import UserError
from saccade.models.loading import LoadSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.instructions import Style
from saccade.rewards.reward import AnyReward
from saccade.tasks.curriculum import StreamedSource, TaskSampler
from saccade.train.plan import Demonstration, DemonstrationSource, EpisodeSpec, Evaluate, Plan, RLStage, Stage, Stream
from saccade.train.stage_settings import RLSettings
from saccade.types import StreamExample, Task

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ExampleSource = Callable[[int, float], StreamExample]
"""An endless source of examples: a function of a number and of the completed share of the imitation."""


CURVE = "curve"


def _no_questions() -> TaskSampler:
    raise UserError("this material has no questions of its own for reinforcement; give it questions=")


@dataclass(frozen=True, kw_only=True)
class Material:
    """The inputs of a method: everything that it works on and does not choose itself.

    A recipe makes it from the user's files or from drawn tasks (``saccade.miniature``), and the same method turns
    either into stages.
    """

    title: str
    build_model: Callable[[], VisionLanguageModel]
    load: LoadSettings = LoadSettings(device="cpu")
    """How a resumed run loads its checkpoints; as the model was first loaded."""
    style: Style = "full"
    """Style of the instructions: ``brief`` for tiny models, which cannot read them."""
    questions: Callable[[], TaskSampler] = _no_questions
    """Makes the source of the questions of reinforcement."""
    sources: Mapping[str, StreamedSource] = field(default_factory=dict)
    """Or several sources, by name, for a method that mixes them and chooses the streams that ask them."""
    held_out: Mapping[str, Callable[[], Sequence[Task]]]
    """Tasks that are measured on, by name; "curve" are those of learning curves, a single set has no name: ""."""
    examples: ExampleSource | None = None
    """Examples to imitate; None where there is nothing to imitate, as for a model that has imitated already."""
    first: str | None = ""
    """Tasks of the evaluation before training; None leaves it out."""
    resources: tuple[AbstractContextManager[object], ...] = ()
    meters: Callable[[], Mapping[str, float]] = field(default=dict)

    def demonstrations(self, episodes: Mapping[str, EpisodeSpec], *, may_fail: bool = False) -> DemonstrationSource:
        """The examples, each played as its stream is."""
        assert self.examples is not None
        source = self.examples

        def demonstration(index: int, progress: float) -> Demonstration:
            shown = source(index, progress)
            return Demonstration(example=shown.example, episodes=episodes[shown.stream], may_fail=may_fail)

        return demonstration

    def measured(self, when: str, evaluation: Callable[[str, str], Evaluate]) -> list[Evaluate]:
        """An evaluation on each set of held-out tasks but the curve's, named ``when`` and the set."""
        names = [name for name in self.held_out if name != CURVE]
        return [evaluation(f"{when}_{name}" if name else when, name) for name in names]

    def plan(self, settings: "DataclassInstance", stages: Sequence[Stage]) -> Plan:
        """The plan of these stages on this model."""
        return Plan(
            title=self.title,
            settings=settings,
            build_model=self.build_model,
            load=self.load,
            stages=tuple(stages),
            resources=self.resources,
            meters=self.meters,
        )


@dataclass(frozen=True)
class Asked:
    """A way of asking the questions of a material: how they are played and how they are rewarded."""

    material: Material
    episodes: EpisodeSpec
    reward: AnyReward

    def evaluation(self, name: str, tasks: str | Callable[[], Sequence[Task]], *, temperature: float = 0.0) -> Evaluate:
        """An evaluation on held-out tasks by their name, or on others."""
        chosen = self.material.held_out[tasks] if isinstance(tasks, str) else tasks
        return Evaluate(name=name, tasks=chosen, episodes=self.episodes, reward=self.reward, temperature=temperature)

    def measured(self, when: str) -> list[Evaluate]:
        """An evaluation on each set of held-out tasks, as ``Material.measured`` has it."""
        return self.material.measured(when, self.evaluation)

    def reinforcement(
        self, name: str, settings: RLSettings, questions: Callable[[], TaskSampler] | None = None
    ) -> RLStage:
        """A stage of one stream, with a curve where the settings want one."""
        return RLStage(
            name=name,
            streams=(Stream(name="main", episodes=self.episodes),),
            questions=questions or self.material.questions,
            reward=self.reward,
            settings=settings,
            evaluation=self.evaluation(f"{name}_curve", CURVE) if settings.evaluate_every else None,
        )
