"""CodeDance: a model answers questions about images by writing Python, over several turns, in a sandbox.

Imitation of curated examples, then reinforcement by the outcome, a bonus for code where questions are hard, and
penalties for the turns whose code fails. ``tiny`` is the same on drawn questions, for a model made from nothing.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from saccade.algorithms.contract import Algorithm
from saccade.algorithms.turn_credit import with_turn_credit
from saccade.curation.examples import read_examples
from saccade.errors import UserError
from saccade.learner.learner import OptimizerSettings
from saccade.media.store import png_bytes
from saccade.models.base import instruction_style
from saccade.models.loading import LoadSettings, load_model
from saccade.models.tiny import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.code import EVALUATION_TURNS, TRAINING_TURNS, code_protocol
from saccade.protocols.instructions import Style
from saccade.recipes.questions import split
from saccade.rewards.codedance import CodeDanceReward
from saccade.rewards.contract import GroupScorer, Scorer
from saccade.rewards.deepeyes import DeepEyesReward
from saccade.rewards.outcome import OutcomeReward
from saccade.rewards.tool_use import execution_returns
from saccade.rollout.settings import RolloutSettings
from saccade.sandbox.contract import Isolation
from saccade.sandbox.sandbox import Sandbox
from saccade.seeding import generator_for, seed_for
from saccade.tasks.code_lessons import EASY, HARD, CodeQuestions, Lessons, lesson
from saccade.tasks.code_methods import code_phrases
from saccade.tasks.curriculum import InOrder, Questions, Shuffled, shuffled_epochs
from saccade.tasks.procedural import vocabulary_texts
from saccade.tools.code import Sessions, python_tool
from saccade.tools.remembered import RememberedSessions
from saccade.train.algorithm_choice import AlgorithmSettings, chosen
from saccade.train.context import RecipeContext
from saccade.train.own_tasks import own_tasks
from saccade.train.plan import Demonstration, Episodes, Evaluate, Plan, Reinforce, Stage, Stream, Supervise
from saccade.train.settings import apply_overrides
from saccade.train.stage_settings import ImitationSettings, ReinforceSettings
from saccade.types import Example, Task

logger = logging.getLogger(__name__)

OUTCOME = OutcomeReward(accuracy_weight=1.0, format_weight=0.2)

FENCES = ("<code>\n```python\n", "\n```\n</code>")
"""What surrounds code; with the code's own fixed pieces, one token each for the tiny model."""

SCAFFOLD_TEXTS = (
    "system\n",
    "user\n",
    "assistant\n",
    "tool\n",
    "tools: execute_python_code",
    "error NameError",
    "error AttributeError",
    "error IndexError",
    "compute",
    "correct",
)
"""What the chat template, the brief instructions, failed runs and second thoughts write, to take few tokens."""


@dataclass(frozen=True, kw_only=True)
class CodeDanceSettings:
    """The paper's settings, for a model of a few billion parameters."""

    model: LoadSettings = LoadSettings()
    sft: ImitationSettings = ImitationSettings(
        steps=266,
        batch_size=128,
        optimizer=OptimizerSettings(learning_rate=5e-5),
        warmup_steps=13,
        decay="cosine",
    )
    """266 batches are the paper's 34,000 examples once; 0.05 of them warm up. Without ``sft_data`` there are none."""
    sft_data: Path | None = None
    """Curated examples, as ``saccade curate codedance`` writes them."""
    rl: ReinforceSettings = ReinforceSettings(
        steps=240,
        tasks_per_step=256,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=1e-6),
        algorithm=AlgorithmSettings(),
    )
    """About 63,000 questions once; no KL."""
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=10_240, max_tokens=20_480)
    """10,240 tokens of prompt and as many of everything after it."""
    training_turns: int = TRAINING_TURNS
    evaluation_turns: int = EVALUATION_TURNS
    reward: Literal["adaptive", "deepeyes", "outcome"] = "adaptive"
    """``adaptive`` is the paper's; the others are those of its Table 3."""
    gamma: float = 4.0
    """How steeply the adaptive bonus falls with a group's accuracy."""
    shift: float = 0.2
    """What is taken from the bonus, so that calls cost something where nearly all are right."""
    turn_credit: bool = True
    """Whether turns whose code fails are penalised by themselves (the paper's equation 2)."""
    turn_weight: float = 0.2
    penalty: float = -0.5
    discount: float = 0.2
    isolation: Isolation = "full"
    held_out_share: float = 0.05
    """Share of your own questions that is never trained on, chosen by a hash of their images."""

    def check(self) -> None:
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class TinySettings(CodeDanceSettings):
    """The same in miniature: minutes on one core."""

    sft: ImitationSettings = ImitationSettings(
        steps=600,
        batch_size=16,
        optimizer=OptimizerSettings(learning_rate=1.5e-3, micro_batch_tokens=16_384),
        warmup_steps=20,
        decay="cosine",
        final_rate=0.1,
        checkpoint_every=300,
    )
    rl: ReinforceSettings = ReinforceSettings(
        steps=40,
        tasks_per_step=16,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=3e-4, micro_batch_tokens=16_384),
        warmup_steps=3,
        decay="linear",
        final_rate=0.1,
        checkpoint_every=20,
        evaluate_every=10,
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=40, max_tokens=384)
    size: TinySize = field(default_factory=TinySize)
    lessons: Lessons = Lessons()
    sft_questions: int = 1200
    """Different questions of the imitation; they are shown again and again."""
    easy_share: float = 0.4
    """Easy questions among those of the reinforcement."""
    difficulty: float = 0.5
    """Of the hard questions."""
    evaluation_tasks: int = 160
    """Held-out questions of each evaluation, easy or hard."""
    curve_tasks: int = 60
    """Held-out questions of the mixture for each point of the learning curve."""


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
        examples = _without(held_out, read_examples(settings.sft_data, context.media), settings.sft_data)
        stages += [
            Supervise(
                name="sft",
                demonstrations=_shuffled(examples, settings, played.training, context),
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


def _without(held_out: Sequence[Task], examples: Sequence[Example], path: Path) -> Sequence[Example]:
    """The examples that show no held-out picture; UserError when none is left."""
    measured = {image.hash for task in held_out for image in task.images}
    shown = [one for one in examples if measured.isdisjoint(image.hash for image in one.task.images)]
    if len(shown) < len(examples):
        logger.info("%d examples of %s show held-out pictures and are left out", len(examples) - len(shown), path)
    if not shown:
        raise UserError(f"all {len(examples)} examples of {path} show held-out pictures; give it other examples")
    return shown


def tiny(context: RecipeContext) -> Plan:
    """The recipe on drawn questions; with ``--model`` of an earlier imitation there is no imitation."""
    settings = apply_overrides(TinySettings(), context.overrides)
    sandbox = Sandbox(isolation=settings.isolation)
    # Imitation shows its questions several times, and samples of one question often write the same code.
    played = _played(settings, RememberedSessions(sandbox, max_runs=2048), "brief")
    asked = CodeQuestions(seed=seed_for(context.seed, "codedance"), media=context.media, difficulty=settings.difficulty)

    @cache
    def drawn(number: int) -> tuple[Example, bytes]:
        example = asked.example("train", number, settings.lessons.easy_share)
        return example, png_bytes(context.media.get(example.task.images[0]))

    def shown(number: int) -> Example:
        # A step's pictures are forgotten after it, but drawing one again costs more than reading it again.
        example, picture = drawn(number)
        context.media.add_encoded(picture, example.task.id)
        return example

    def demonstration(step: int, index: int) -> Demonstration:
        number = index % settings.sft_questions
        example = lesson(
            shown(number),
            lambda: shown(number + 1),
            settings.lessons,
            generator_for(context.seed, "demonstration", number),
            is_careless=step >= settings.lessons.careless_from * settings.sft.steps,
        )
        return Demonstration(example=example, episodes=played.training, may_fail=True)

    def demonstrations(step: int) -> Sequence[Demonstration]:
        first = step * settings.sft.batch_size
        return [demonstration(step, index) for index in range(first, first + settings.sft.batch_size)]

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
    imitation = Supervise(name="sft", demonstrations=demonstrations, settings=settings.sft)
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


def reward(settings: CodeDanceSettings) -> Scorer | GroupScorer:
    """The reward of the settings' name."""
    match settings.reward:
        case "adaptive":
            return CodeDanceReward(outcome=OUTCOME, gamma=settings.gamma, shift=settings.shift)
        case "deepeyes":
            # Code that prints a number helps as much as code that shows a picture.
            return DeepEyesReward(needs_image=False)
        case "outcome":
            return OUTCOME


def algorithm(settings: CodeDanceSettings, episodes: Episodes) -> Algorithm:
    """The chosen algorithm, with the turns' own credit where it is wanted."""
    base = chosen(settings.rl.algorithm, action_tokens=episodes.max_action_tokens)
    if not settings.turn_credit:
        return base
    return with_turn_credit(
        base,
        lambda trajectory: execution_returns(trajectory, penalty=settings.penalty, discount=settings.discount),
        weight=settings.turn_weight,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Played:
    """How questions are played in training and, with more turns, in evaluations."""

    training: Episodes
    evaluation: Episodes

    def evaluate(self, name: str, tasks: Callable[[], Sequence[Task]]) -> Evaluate:
        return Evaluate(name=name, tasks=tasks, episodes=self.evaluation, reward=OUTCOME)


def _played(settings: CodeDanceSettings, sessions: Sessions, style: Style) -> _Played:
    def episodes(turns: int) -> Episodes:
        return Episodes(
            protocol=code_protocol(style=style, max_turns=turns),
            tools=(python_tool(sessions),),
            rollout=settings.rollout,
            max_turns=turns,
        )

    return _Played(training=episodes(settings.training_turns), evaluation=episodes(settings.evaluation_turns))


def _reinforcement(
    settings: CodeDanceSettings, episodes: Episodes, *, questions: Callable[[], Questions], curve: Evaluate
) -> Reinforce:
    return Reinforce(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=questions,
        reward=reward(settings),
        algorithm=algorithm(settings, episodes),
        settings=settings.rl,
        evaluation=curve,
    )


def _shuffled(
    examples: Sequence[Example], settings: CodeDanceSettings, episodes: Episodes, context: RecipeContext
) -> Callable[[int], Sequence[Demonstration]]:
    """The demonstrations of each step: all examples in random order, then again in another."""
    size = settings.sft.batch_size
    # An expert's run may fail and be corrected; so was the example when it was curated.
    shown = {example.task.id: Demonstration(example=example, episodes=episodes, may_fail=True) for example in examples}
    tasks = [example.task for example in examples]

    def demonstrations(step: int) -> Sequence[Demonstration]:
        drawn = shuffled_epochs(tasks, step * size, size, seed=seed_for(context.seed, "sft"))
        return [shown[task.id] for task in drawn]

    return demonstrations


def _random_model(settings: TinySettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_model(
        [*vocabulary_texts(families=(*EASY, *HARD)), *SCAFFOLD_TEXTS * 60],
        context.media,
        size=settings.size,
        phrases=(*FENCES, *code_phrases()),
        seed=seed_for(context.seed, "weights"),
    )
