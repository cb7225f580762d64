"""The demo: a tiny model of a real architecture learns to look closer, first from an expert, then from rewards.

The question (which texture is on the red plate?) cannot be answered from the view that the model gets: every texture
averages to the same bytes there. The expert's demonstrations teach the crop tool, but the last of them mostly answer
at once and guess, so the imitator guesses too. Reinforcement learning has to find out that looking pays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.learner.learner import OptimizerSettings
from saccade.models.loading import LoadSettings, load_model
from saccade.models.tiny import TinyFamily, TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.rewards.outcome import OutcomeReward
from saccade.rollout.settings import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks.curriculum import InOrder, Mixture, Share, TaskSampler
from saccade.tasks.guessing import guessed
from saccade.tasks.procedural import generate, vocabulary_texts
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.algorithm_choice import AlgorithmSettings, chosen
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, RLStage, SFTStage, Stream
from saccade.train.stage_settings import RLSettings, SFTSettings
from saccade.types import Example, Task

FAMILY = "visual_search"

CROP_PHRASES = ('{"name": "crop", "arguments": {"bbox_2d": [', "]}}")
"""Whole-call tokens: the tiny model writes only the four numbers between them."""

COORDINATES = range(0, 1001, 125)
"""The grid on which the experts crop, in thousandths; each is one token."""


SCAFFOLD_TEXTS = ("system\n", "user\n", "assistant\n", "tool\n", "tools: crop")
"""What the chat template and the brief instructions write, so that it takes few tokens."""

_LIMITS = RolloutSettings(max_turn_tokens=48, max_tokens=512)

LOOKING = EpisodeSpec(protocol=tagged_protocol(style="brief"), tools=(tool_from(crop),), rollout=_LIMITS, max_turns=3)

SILENT = EpisodeSpec(protocol=direct_protocol(style="brief"), tools=(), rollout=_LIMITS, max_turns=1)
"""Without tools in the prompt."""

REWARD = OutcomeReward(accuracy_weight=1.0, format_weight=0.1)


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """Settings of the demo; ``--set sft.steps=300`` changes one."""

    sft: SFTSettings = SFTSettings(
        steps=800,
        batch_size=16,
        optimizer=OptimizerSettings(learning_rate=1.5e-3, micro_batch_tokens=16_384),
        warmup_steps=20,
        decay="cosine",
        final_rate=0.1,
    )
    rl: RLSettings = RLSettings(
        steps=30,
        tasks_per_step=16,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=3e-4, micro_batch_tokens=16_384),
        warmup_steps=3,
        decay="linear",
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=10,
        evaluate_every=5,
    )
    architecture: TinyFamily = "qwen3_vl"
    """``qwen2_5_vl`` works too but finds plates slowly: it has no absolute positions in its vision tower."""
    model: TinySize = field(default_factory=TinySize)
    difficulty: float = 0.5
    guess_from: float = 0.85
    """Share of the imitation steps after which most demonstrations guess."""
    guess_share: float = 0.75
    """Share of guessing demonstrations from then on."""
    no_tool_share: float = 0.1
    """Share of demonstrations without tools in the prompt; they always guess, since nothing can be seen."""
    no_tool_tasks: int = 2
    """Tasks of each reinforcement step without tools in the prompt, so that the model keeps answering there too."""
    evaluation_tasks: int = 256
    curve_tasks: int = 64
    """Held-out tasks of each point of the learning curve."""

    def check(self) -> None:
        if not 0 <= self.no_tool_tasks < self.rl.tasks_per_step:
            raise UserError(
                f"no_tool_tasks={self.no_tool_tasks} must lie between 0 and rl.tasks_per_step - 1 "
                f"({self.rl.tasks_per_step - 1}): the other questions of a step are asked with the tool"
            )


def demo(context: RecipeContext) -> Plan:
    """Imitation, then reinforcement, each followed by an evaluation on held-out pictures; the last without the tool.

    With a model to start from (``--model`` of a demo's own imitation) there is no imitation.
    """
    settings = apply_overrides(DemoSettings(), context.overrides)

    def example(split: str, index: int) -> Example:
        return generate(
            FAMILY,
            split=split,
            index=index,
            seed=context.seed,
            media=context.media,
            difficulty=settings.difficulty,
        )

    def demonstrations(step: int) -> Sequence[Demonstration]:
        first = step * settings.sft.batch_size
        return [demonstration(step, index) for index in range(first, first + settings.sft.batch_size)]

    def demonstration(step: int, index: int) -> Demonstration:
        chance = generator_for(context.seed, "demonstration", index)
        shown = example("train", index)
        guess = guessed(shown, other=example("train", index + 1))
        if chance.random() < settings.no_tool_share:
            return Demonstration(example=guess, episodes=SILENT)
        may_guess = step >= settings.guess_from * settings.sft.steps
        is_guess = may_guess and chance.random() < settings.guess_share
        return Demonstration(example=guess if is_guess else shown, episodes=LOOKING)

    def rl_task(number: int) -> Task:
        # After the pictures of the imitation, so that no question comes twice.
        return example("train", settings.sft.steps * settings.sft.batch_size + 1 + number).task

    def questions() -> TaskSampler:
        looking = InOrder(lambda index: rl_task(2 * index), streams=("looking",))
        silent = InOrder(lambda index: rl_task(2 * index + 1), streams=("silent",))
        without = settings.no_tool_tasks
        shares = {
            "looking": Share(questions=looking, share=settings.rl.tasks_per_step - without),
            "silent": Share(questions=silent, share=without),
        }
        return Mixture({name: part for name, part in shares.items() if part.share})

    def held_out(count: int) -> Sequence[Task]:
        return [example("held_out", index).task for index in range(count)]

    def evaluation(name: str, *, episodes: EpisodeSpec = LOOKING, count: int = settings.evaluation_tasks) -> Evaluate:
        return Evaluate(name=name, tasks=lambda: held_out(count), episodes=episodes, reward=REWARD)

    reinforcement = RLStage(
        name="rl",
        streams=(Stream(name="looking", episodes=LOOKING), Stream(name="silent", episodes=SILENT)),
        questions=questions,
        reward=REWARD,
        algorithm=chosen(settings.rl.algorithm, action_tokens=LOOKING.max_action_tokens),
        settings=settings.rl,
        evaluation=evaluation("curve", count=settings.curve_tasks),
    )
    imitation = SFTStage(name="sft", demonstrations=demonstrations, settings=settings.sft)
    measured = (reinforcement, evaluation("after_rl"), evaluation("after_rl_without_tool", episodes=SILENT))
    start = context.model
    return Plan(
        title="A tiny model learns to look closer",
        settings=settings,
        build_model=lambda: (
            load_model(start, context.media, LoadSettings(device="cpu")) if start else _random_model(settings, context)
        ),
        stages=measured if start else (imitation, evaluation("after_sft"), *measured),
    )


def _random_model(settings: DemoSettings, context: RecipeContext) -> VisionLanguageModel:
    return tiny_model(
        [*vocabulary_texts(families=(FAMILY,)), *SCAFFOLD_TEXTS * 60],
        context.media,
        family=settings.architecture,
        size=settings.model,
        numbers=COORDINATES,
        phrases=CROP_PHRASES,
        seed=seed_for(context.seed, "weights"),
    )
