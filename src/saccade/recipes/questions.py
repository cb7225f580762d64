"""Your own questions: reinforcement learning on a file of them, measured on the part that was held out.

Imitation of the bare answers can come first (``--set sft.steps=100``) for a model that does not know the format.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.config.context import RecipeContext
from saccade.config.own_tasks import own_tasks
from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.learner.learner import OptimizerSettings
from saccade.models.base import base_checkpoint, instruction_style, is_tiny
from saccade.models.loading import LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.rewards.outcome import OutcomeReward
from saccade.rollout.settings import RolloutSettings
from saccade.seeding import generator_for, seed_for
from saccade.tasks.curriculum import Band, ByPassRate, Shuffled, TaskSampler, shuffled_epochs
from saccade.tools.images import IMAGE_TOOLS
from saccade.train.algorithm_choice import AlgorithmSettings, chosen
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, RLStage, SFTStage, Stage, Stream
from saccade.train.stage_settings import ImitationSettings, RLSettings
from saccade.types import Answer, Example, ExpertTurn, Task


@dataclass(frozen=True, kw_only=True)
class QuestionsSettings:
    """Settings for your own questions, for a published model of a few billion parameters (see ``TINY``)."""

    model: LoadSettings = LoadSettings()
    sft: ImitationSettings = ImitationSettings()
    rl: RLSettings = RLSettings(
        steps=100,
        tasks_per_step=16,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=1e-6),
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=20,
    )
    rollout: RolloutSettings = RolloutSettings(max_turn_tokens=512, max_tokens=8192)
    max_turns: int = 4
    with_tools: bool = True
    """Whether the model may use the image tools; without, it learns to look silently."""
    held_out_share: float = 0.25
    """Share of the questions that is never trained on, chosen by a hash of their images."""
    accuracy_weight: float = 1.0
    format_weight: float = 0.1
    pass_rate_low: float = 0.0
    """Questions whose last pass rate was below this are left out of later epochs for a while."""
    pass_rate_high: float = 1.0
    """Likewise above this; 0.999 leaves out what is always answered right."""

    def check(self) -> None:
        if not 0 < self.held_out_share < 1:
            raise UserError(f"held_out_share={self.held_out_share} must lie between 0 and 1")


TINY = QuestionsSettings(
    sft=ImitationSettings(steps=80, optimizer=OptimizerSettings(learning_rate=1e-3)),
    rl=RLSettings(
        steps=15,
        tasks_per_step=8,
        group_size=8,
        optimizer=OptimizerSettings(learning_rate=2e-4),
        algorithm=AlgorithmSettings(clip_low=0.2, clip_high=0.28),
        checkpoint_every=10,
    ),
    rollout=RolloutSettings(max_turn_tokens=64, max_tokens=1024),
)
"""The defaults for models below ``TINY_BELOW_WEIGHTS``, the shipped base among them: it answers nothing before it has
seen answers, and at the rate of a published model nothing changes it."""


def questions(context: RecipeContext) -> Plan:
    """Evaluation, imitation if wanted, GRPO, evaluation; needs ``--data``; ``--model`` for any but the base model.

    The defaults are those of ``QuestionsSettings``, or of ``TINY`` for a tiny model.
    """
    path = context.model or base_checkpoint()
    settings = apply_overrides(TINY if is_tiny(path) else QuestionsSettings(), context.overrides)
    if context.data is None:
        raise UserError("this recipe trains on your own questions; give them with --data PATH")
    training, held_out = split(own_tasks(context.data, context), settings.held_out_share, seed=context.seed)
    style = instruction_style(path)
    protocol = tagged_protocol if settings.with_tools else direct_protocol
    episodes = EpisodeSpec(
        protocol=protocol(style=style, max_turns=settings.max_turns),
        tools=IMAGE_TOOLS if settings.with_tools else (),
        rollout=settings.rollout,
        max_turns=settings.max_turns,
    )
    reward = OutcomeReward(accuracy_weight=settings.accuracy_weight, format_weight=settings.format_weight)

    def demonstrations(step: int) -> Sequence[Demonstration]:
        size = settings.sft.batch_size
        tasks = shuffled_epochs(training, step * size, size, seed=seed_for(context.seed, "sft"))
        return [Demonstration(example=bare_answer(task), episodes=episodes) for task in tasks]

    def asked() -> TaskSampler:
        shuffled = Shuffled(training, seed=seed_for(context.seed, "rl"))
        band = Band(low=settings.pass_rate_low, high=settings.pass_rate_high)
        return shuffled if band == Band() else ByPassRate(shuffled, band)

    def build_model() -> VisionLanguageModel:
        return load_model(path, context.media, settings.model)

    def evaluation(name: str) -> Evaluate:
        return Evaluate(name=name, tasks=lambda: held_out, episodes=episodes, reward=reward)

    imitation: tuple[Stage, ...] = ()
    if settings.sft.steps:
        stage = SFTStage(name="sft", demonstrations=demonstrations, settings=settings.sft)
        imitation = (stage, evaluation("after_sft"))
    return Plan(
        title=f"{path.name} on {context.data.name}",
        settings=settings,
        build_model=build_model,
        load=settings.model,
        stages=(
            evaluation("before"),
            *imitation,
            RLStage(
                name="rl",
                streams=(Stream(name="main", episodes=episodes),),
                questions=asked,
                reward=reward,
                algorithm=chosen(settings.rl.algorithm, action_tokens=episodes.max_action_tokens),
                settings=settings.rl,
                evaluation=evaluation("curve"),
            ),
            evaluation("after_rl"),
        ),
    )


def split(tasks: Sequence[Task], held_out_share: float, *, seed: int) -> tuple[list[Task], list[Task]]:
    """Training and held-out tasks, neither empty; all questions on one picture fall on the same side.

    A picture's side depends on its pixels, the share and the seed, so that new questions leave the old ones where they
    are. Raises UserError when there is only one picture.
    """
    draws = {key: generator_for(seed, "held out", key).random() for key in map(_picture_of, tasks)}
    if len(draws) < 2:
        raise UserError(
            f"{len(tasks)} questions on {len(draws)} picture cannot be split into training and held-out ones, since "
            "questions on one picture stay together; give questions on at least 2 pictures"
        )
    # With few pictures chance may put all on one side: then the nearest one changes sides.
    ordered = sorted(draws.values())
    bound = min(max(held_out_share, ordered[0]), ordered[-2])
    held_out = [task for task in tasks if draws[_picture_of(task)] <= bound]
    training = [task for task in tasks if draws[_picture_of(task)] > bound]
    return training, held_out


def _picture_of(task: Task) -> str:
    return "+".join(sorted(image.hash for image in task.images)) or task.id


def bare_answer(task: Task) -> Example:
    """The task with an expert that answers at once."""
    return Example(task=task, turns=(ExpertTurn(thought="", action=Answer(text=task.answer)),))
