"""What the VISTA-R1 recipe and its miniature are put together from: how questions are played, rewarded, chosen."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from saccade.protocols.instructions import Style
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.recipes.vista_settings import GymSettings
from saccade.rewards.reward import AnyReward
from saccade.rewards.vista import DifficultyAdaptiveReward, VistaReward
from saccade.seeding import seed_for
from saccade.services.client.configured import Tools
from saccade.tasks.curriculum import TaskSampler
from saccade.tasks.tail_patch import EasyToHard, hard_questions, pass_rates
from saccade.train.plan import EpisodeSpec, Evaluate, RLStage, Stage, Stream
from saccade.types import Attempt, Example, Task

MEASURED = VistaReward()
"""What evaluations report; its part ``accuracy`` is the metric of the question's data set."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEpisodes:
    """How questions are played in reinforcement, and in imitation and evaluations."""

    training: EpisodeSpec
    everywhere: EpisodeSpec

    def evaluate(self, name: str, tasks: Callable[[], Sequence[Task]]) -> Evaluate:
        return Evaluate(name=name, tasks=tasks, episodes=self.everywhere, reward=MEASURED)


def played(settings: GymSettings, style: Style, tools: Tools, offered: Tools) -> ToolEpisodes:
    """Up to three turns with ``tools``, of which reinforcement has those ``offered``; one turn without any.

    A turn ends with its call: decoding stops at ``</tool_call>``, and what the tool says is never a target.
    """

    def episodes(given: Tools) -> EpisodeSpec:
        if not settings.with_tools:
            protocol = direct_protocol(style=style, max_turns=1)
            return EpisodeSpec(protocol=protocol, tools=(), rollout=settings.rollout, max_turns=1)
        return EpisodeSpec(
            protocol=tagged_protocol(style=style, max_turns=settings.max_turns),
            tools=given,
            rollout=settings.rollout,
            max_turns=settings.max_turns,
        )

    return ToolEpisodes(training=episodes(offered), everywhere=episodes(tools))


def reward(settings: GymSettings) -> AnyReward:
    """The reward of the settings' name."""
    match settings.reward:
        case "difficulty":
            return DifficultyAdaptiveReward()
        case "sum" | "dense" | "sparse":
            return VistaReward(form=settings.reward)


def reinforcement(
    name: str, settings: GymSettings, how: ToolEpisodes, *, questions: Callable[[], TaskSampler], curve: Evaluate
) -> RLStage:
    """The stage ``rl``, or after it ``tail``."""
    return RLStage(
        name=name,
        streams=(Stream(name="main", episodes=how.training),),
        questions=questions,
        reward=reward(settings),
        settings=settings.rl if name == "rl" else replace(settings.rl, steps=settings.tail.steps),
        evaluation=curve if settings.rl.evaluate_every else None,
    )


@dataclass(kw_only=True)
class TailPatch:
    """Measures the training questions with the model as it is, then asks those that it answers now and then."""

    settings: GymSettings
    how: ToolEpisodes
    keys: Callable[[], Sequence[str]]
    """Ids of all training questions."""
    task_of: Callable[[str], Task]
    again: Callable[[], TaskSampler]
    """All training questions once more, where ``tail.easy_to_hard`` is off."""
    seed: int
    _rates: dict[str, float] = field(default_factory=dict, init=False)

    def stages(self, curve: Evaluate) -> tuple[Stage, ...]:
        """The measurement, whose trajectories are kept, and the reinforcement."""
        tail = self.settings.tail
        stage = reinforcement("tail", self.settings, self.how, questions=self.questions, curve=curve)
        if not tail.easy_to_hard:
            return (stage,)
        measured = Evaluate(
            name="pass_rates",
            tasks=lambda: [self.task_of(key) for key in self.keys()],
            episodes=self.how.training,
            reward=MEASURED,
            temperature=self.settings.rl.temperature,
            samples=tail.samples,
            on_finished=self.learn,
        )
        return (measured, stage)

    def learn(self, attempts: Iterable[Attempt]) -> None:
        """Takes the pass rates from what was played."""
        self._rates = pass_rates(attempts)

    def questions(self) -> TaskSampler:
        tail = self.settings.tail
        if not tail.easy_to_hard:
            return self.again()
        keys = hard_questions(self._rates, tail.band, least=self.settings.rl.tasks_per_step)
        return EasyToHard(keys, self._rates, self.task_of, seed=seed_for(self.seed, "tail"))


def without_thoughts(example: Example) -> Example:
    """The same calls and answer, and nothing thought."""
    return replace(example, turns=tuple(replace(turn, thought="") for turn in example.turns))
