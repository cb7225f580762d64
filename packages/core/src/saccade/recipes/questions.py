"""Your own questions: reinforcement learning on a file of them, measured on the part that was held out.

Imitation can come first (``--set sft.steps=100``) for a model that does not know the format: of rows with ``boxes`` it
shows how each box is cropped before the answer, else of the answers alone.
"""

from collections.abc import Sequence
from pathlib import Path

from saccade.config import RecipeContext, apply_overrides, read_own_tasks, split_held_out
from saccade.errors import UserError
from saccade.models import base_checkpoint, instruction_style, load_model
from saccade.models.checkpoint import is_tiny
from saccade.protocols import direct_protocol, tagged_protocol, with_reading
from saccade.recipes.questions_lessons import examples_to_imitate
from saccade.recipes.questions_settings import TINY, QuestionsSettings
from saccade.rewards.judges.settings import judges
from saccade.rewards.reward import AccuracyJudge, JudgedOutcome
from saccade.seeding import seed_for
from saccade.tasks import Band, ByPassRate, Epochs, Shuffled, TaskSampler
from saccade.tools import IMAGE_TOOLS
from saccade.train import EpisodeSpec, Evaluate, Material, Plan, RLStage, SFTStage, Stage, Stream
from saccade.types import StreamExample


def method(settings: QuestionsSettings, material: Material, judge: AccuracyJudge | None = None) -> Sequence[Stage]:
    """Evaluation, imitation if wanted, reinforcement, evaluation."""
    protocol = tagged_protocol if settings.with_tools else direct_protocol
    episodes = EpisodeSpec(
        protocol=with_reading(protocol(style=material.style, max_turns=settings.max_turns), settings.reading),
        tools=IMAGE_TOOLS if settings.with_tools else (),
        rollout=settings.rollout,
        max_turns=settings.max_turns,
    )

    reward = settings.reward if judge is None else JudgedOutcome(outcome=settings.reward, judge=judge)

    def evaluation(name: str) -> Evaluate:
        return Evaluate(name=name, tasks=material.held_out["all"], episodes=episodes, reward=reward)

    imitation: tuple[Stage, ...] = ()
    if settings.sft.steps:
        shown = material.demonstrations({"main": episodes})
        imitation = (SFTStage(name="sft", source=shown, settings=settings.sft), evaluation("after_sft"))
    reinforcement = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=material.questions,
        reward=reward,
        settings=settings.rl,
        evaluation=evaluation("curve"),
    )
    return (evaluation("before"), *imitation, reinforcement, evaluation("after_rl"))


def own_material(
    context: RecipeContext, path: Path, settings: QuestionsSettings
) -> tuple[Material, AccuracyJudge | None]:
    """The material of a recipe for the questions of ``--data``, and the judge of their answers where there is one."""
    if context.data is None:
        raise UserError("this recipe trains on your own questions; give them with --data PATH")
    judged = judges(
        settings.judge,
        judges_consistency=False,
        judges_answers=True,
        exact=None,
        media=context.media,
        seed=seed_for(context.seed, "judge"),
    )
    tasks = read_own_tasks(context.data, context)
    training, held_out = split_held_out(tasks, settings.held_out_share, context)
    if judged.accuracy is None and any(task.answer_kind == "judge" for task in (*training, *held_out)):
        raise UserError(f"{context.data} has answers of kind judge; say which one with judge.kind=server or checkpoint")
    looks = settings.max_turns - 1 if settings.with_tools else 0
    lessons = examples_to_imitate(training, looks=looks, warns=settings.sft.steps > 0)
    shown = Epochs([StreamExample(example=one) for one in lessons], seed=seed_for(context.seed, "sft"))

    def sampler() -> TaskSampler:
        shuffled = Shuffled(training, seed=seed_for(context.seed, "rl"))
        return shuffled if settings.pass_rates == Band() else ByPassRate(shuffled, settings.pass_rates)

    material = Material(
        title=f"{path.name} on {context.data.name}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        style=instruction_style(path),
        questions=sampler,
        held_out={"all": lambda: held_out},
        examples=lambda index, _: shown(index),
        resources=judged.resources,
        meters=judged.meters,
    )
    return material, judged.accuracy


def questions(context: RecipeContext) -> Plan:
    """GRPO on your own questions: needs ``--data``; ``--model`` for any but the base model.

    The defaults are those of ``QuestionsSettings``, or of ``TINY`` for a tiny model.
    """
    path = context.model or base_checkpoint()
    settings = apply_overrides(TINY if is_tiny(path) else QuestionsSettings(), context.overrides)
    material, judge = own_material(context, path, settings)
    plan = material.plan(settings, method(settings, material, judge))
    return plan.with_judged_evidence(settings.evidence_judge, context.media, seed_for(context.seed, "evidence judge"))
