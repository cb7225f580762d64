"""CodeDance: a model answers questions about images by writing Python, over several turns, in a sandbox.

Imitation of curated examples, then reinforcement by the outcome, a bonus for code where questions are hard, and
penalties for the turns whose code fails. ``tiny`` is the same on drawn questions, for a model made from nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.turn_credit import with_turn_credit
from saccade.config.context import RecipeContext
from saccade.config.held_out import split, without_held_out
from saccade.config.own_tasks import own_tasks
from saccade.config.settings import apply_overrides
from saccade.curation.examples import read_examples
from saccade.errors import UserError
from saccade.models.base import instruction_style
from saccade.models.loading import LoadSettings, load_model
from saccade.models.tiny import tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.code import code_protocol
from saccade.protocols.instructions import Style
from saccade.recipes._codedance_settings import CodeDanceSettings, TinyCodeDanceSettings
from saccade.rewards.codedance import CodeDanceReward
from saccade.rewards.deepeyes import DeepEyesReward
from saccade.rewards.outcome import OutcomeReward
from saccade.rewards.reward import AnyReward
from saccade.rewards.tool_use import execution_returns
from saccade.sandbox.sandbox import Sandbox
from saccade.seeding import seed_for
from saccade.tasks.code_lessons import EASY, HARD, PHRASES, CodeQuestions, lesson_texts, lessons_on
from saccade.tasks.curriculum import Epochs, InOrder, Shuffled, TaskSampler
from saccade.tools.code import Sessions, python_tool
from saccade.tools.remembered import RememberedSessions
from saccade.train.plan import (
    Demonstration,
    DemonstrationSource,
    EpisodeSpec,
    Evaluate,
    Plan,
    RLStage,
    SFTStage,
    Stage,
    Stream,
)
from saccade.types import Example, Task


def codedance(context: RecipeContext) -> Plan:
    """Imitation and reinforcement of a checkpoint: ``--model``, ``--data`` with questions, ``--set sft_data=FILE``."""
    settings = apply_overrides(CodeDanceSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on your own questions; give --model PATH and --data PATH, or see it in "
            "miniature: saccade train codedance:tiny"
        )
    path = context.model
    training, held_out = split(own_tasks(context.data, context), settings.held_out_share, seed=context.seed)
    sandbox = Sandbox(isolation=settings.isolation)
    played = _played(settings, sandbox, instruction_style(path))
    stages: list[Stage] = [played.evaluate("before", lambda: held_out)]
    if settings.sft.steps and settings.sft_data is not None:
        examples = without_held_out(
            read_examples(settings.sft_data, context.media),
            held_out,
            lambda one: one.task,
            what=f"examples of {settings.sft_data}",
        )
        stages += [
            SFTStage(
                name="sft",
                source=_shuffled(examples, played.shown, context),
                settings=settings.sft,
            ),
            played.evaluate("after_sft", lambda: held_out),
        ]
    stages += [
        _reinforcement(
            settings,
            played.training,
            questions=lambda: Shuffled(training, seed=seed_for(context.seed, "rl")),
            curve=played.evaluate("curve", lambda: held_out),
        ),
        played.evaluate("after_rl", lambda: held_out),
    ]
    return Plan(
        title=f"{path.name} writes code on {context.data.name}",
        settings=settings,
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        stages=tuple(stages),
        resources=(sandbox,),
    )


def tiny(context: RecipeContext) -> Plan:
    """The recipe on drawn questions; with ``--model`` of an earlier imitation there is no imitation."""
    settings = apply_overrides(TinyCodeDanceSettings(), context.overrides)
    sandbox = Sandbox(isolation=settings.isolation)
    # Imitation shows its questions several times, and samples of one question often write the same code.
    played = _played(settings, RememberedSessions(sandbox, max_runs=2048), "brief")
    asked = CodeQuestions(seed=seed_for(context.seed, "codedance"), media=context.media, difficulty=settings.difficulty)

    lesson = lessons_on(asked, settings.lessons, questions=settings.sft_questions, seed=context.seed)

    def demonstration(index: int, progress: float) -> Demonstration:
        return Demonstration(example=lesson(index, progress), episodes=played.shown, may_fail=True)

    # After the pictures of the imitation, so that no question comes twice.
    imitated = settings.sft_questions + 1

    def held_out(families: Sequence[str]) -> Callable[[], Sequence[Task]]:
        def tasks() -> Sequence[Task]:
            numbers = range(settings.evaluation_tasks)
            return [asked.of(families[i % len(families)], "held_out", i // len(families)).task for i in numbers]

        return tasks

    def mixture() -> Sequence[Task]:
        return [asked.example("held_out", index, settings.easy_share).task for index in range(settings.curve_tasks)]

    def evaluations(when: str) -> tuple[Evaluate, Evaluate]:
        return (
            played.evaluate(f"{when}_easy", held_out(EASY)),
            played.evaluate(f"{when}_hard", held_out(HARD)),
        )

    reinforcement = _reinforcement(
        settings,
        played.training,
        questions=lambda: InOrder(lambda number: asked.example("train", imitated + number, settings.easy_share).task),
        curve=played.evaluate("curve", mixture),
    )
    imitation = SFTStage(name="sft", source=demonstration, settings=settings.sft)
    start = context.model
    measured = (reinforcement, *evaluations("after_rl"))
    return Plan(
        title="A tiny model writes code where it pays",
        settings=settings,
        build_model=lambda: (
            load_model(start, context.media, LoadSettings(device="cpu")) if start else _random_model(settings, context)
        ),
        stages=measured if start or not settings.sft.steps else (imitation, *evaluations("after_sft"), *measured),
        resources=(sandbox,),
    )


def outcome(settings: CodeDanceSettings) -> OutcomeReward:
    """What every answer is worth; evaluations have it too."""
    return OutcomeReward(accuracy_weight=settings.accuracy_weight, format_weight=settings.format_weight)


def reward(settings: CodeDanceSettings) -> AnyReward:
    """The reward of the settings' name."""
    match settings.reward:
        case "adaptive":
            return CodeDanceReward(
                outcome=outcome(settings),
                gamma=settings.gamma,
                shift=settings.shift,
                base_weight=settings.base_weight,
                form=settings.form,
                pays_unanswered=settings.pays_unanswered,
            )
        case "deepeyes":
            # Code that prints a number helps as much as code that shows a picture.
            return DeepEyesReward(needs_image=False)
        case "outcome":
            return outcome(settings)


def turn_credit(settings: CodeDanceSettings) -> Callable[[Algorithm], Algorithm] | None:
    """The turns' own credit, where it is wanted."""
    if not settings.turn_credit:
        return None
    return lambda base: with_turn_credit(
        base,
        lambda trajectory: execution_returns(trajectory, penalty=settings.penalty, discount=settings.discount),
        weight=settings.turn_weight,
        includes_final_turn=settings.final_turn,
        keeps_equal=settings.equal_turns,
        limit=settings.signal_limit,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _CodeEpisodes:
    """How questions are shown to be solved, played in reinforcement and, with more turns, in evaluations."""

    shown: EpisodeSpec
    training: EpisodeSpec
    evaluation: EpisodeSpec
    outcome: OutcomeReward

    def evaluate(self, name: str, tasks: Callable[[], Sequence[Task]]) -> Evaluate:
        return Evaluate(name=name, tasks=tasks, episodes=self.evaluation, reward=self.outcome)


def _played(settings: CodeDanceSettings, sessions: Sessions, style: Style) -> _CodeEpisodes:
    def episodes(turns: int, *, checks_work: bool = False) -> EpisodeSpec:
        return EpisodeSpec(
            protocol=code_protocol(style=style, max_turns=turns),
            tools=(python_tool(sessions, checks_work=checks_work),),
            rollout=settings.rollout,
            max_turns=turns,
        )

    # Checking makes runs anew: only where a reward reads what comes of it.
    checks_work = settings.paid_calls == "working" and settings.reward != "outcome"
    return _CodeEpisodes(
        shown=episodes(settings.training_turns),
        training=episodes(settings.training_turns, checks_work=checks_work),
        evaluation=episodes(settings.evaluation_turns),
        outcome=outcome(settings),
    )


def _reinforcement(
    settings: CodeDanceSettings, episodes: EpisodeSpec, *, questions: Callable[[], TaskSampler], curve: Evaluate
) -> RLStage:
    return RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=questions,
        reward=reward(settings),
        adapt_algorithm=turn_credit(settings),
        settings=settings.rl,
        evaluation=curve,
    )


def _shuffled(examples: Sequence[Example], episodes: EpisodeSpec, context: RecipeContext) -> DemonstrationSource:
    """All examples in random order, then again in another."""
    # An expert's run may fail and be corrected; so was the example when it was curated.
    shown = [Demonstration(example=example, episodes=episodes, may_fail=True) for example in examples]
    epochs = Epochs(shown, seed=seed_for(context.seed, "sft"))
    return lambda index, _: epochs(index)


def _random_model(settings: TinyCodeDanceSettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_model(
        lesson_texts(),
        context.media,
        size=settings.size,
        phrases=PHRASES,
        seed=seed_for(context.seed, "weights"),
    )
