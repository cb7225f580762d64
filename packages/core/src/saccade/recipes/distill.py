"""On-policy distillation: the policy answers, and a teacher says of each token that it wrote how likely it is.

The teacher is a larger checkpoint, one at a server, or the policy itself that is shown what the question does not show:
the region, the larger picture, the answer, the page (``teacher.view``). Questions are your own or drawn ones.

Sources: GKD (arXiv 2306.13649), MiniLLM (arXiv 2306.08543), "On-Policy Distillation" (Thinking Machines, 2025).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from saccade.config import RecipeContext, apply_overrides
from saccade.errors import UserError
from saccade.models import base_checkpoint, instruction_style, load_model
from saccade.models.checkpoint import is_tiny
from saccade.recipes import questions
from saccade.recipes.distill_settings import TINY, DistillSettings
from saccade.rewards.reward import AccuracyJudge
from saccade.seeding import seed_for
from saccade.tasks import CurriculumSettings, drawn_questions, generate
from saccade.train import Material, Plan, RLStage, Stage
from saccade.types import Example, StreamExample, Task


def method(settings: DistillSettings, material: Material, judge: AccuracyJudge | None = None) -> Sequence[Stage]:
    """The stages for your own questions, with a teacher in the one that reinforces, where it has a weight."""
    teacher = settings.teacher if settings.rl.algorithm.distill.weight else None
    stages = questions.method(settings, material, judge)
    return [replace(one, name="distill", teacher=teacher) if isinstance(one, RLStage) else one for one in stages]


def distill(context: RecipeContext) -> Plan:
    """On-policy distillation on your own questions (``--data``) or drawn ones (``--set families=visual_search``).

    ``--set teacher.model=DIRECTORY`` names a teacher; without, it is the policy itself, which is shown the region that
    is asked about (``--set teacher.view=...``).
    """
    path = context.model or base_checkpoint()
    settings = settings_of(TINY if is_tiny(path) else DistillSettings(), context.overrides)
    if (context.data is None) == (not settings.families):
        raise UserError("this recipe asks questions; give --data PATH, or --set families=visual_search for drawn ones")
    if context.data is not None:
        material, judge = questions.own_material(context, path, settings)
    else:
        material, judge = drawn_material(context, path, settings), None
    plan = material.plan(settings, method(settings, material, judge))
    return plan.with_judged_evidence(settings.evidence_judge, context.media, seed_for(context.seed, "evidence judge"))


def settings_of(defaults: DistillSettings, overrides: Sequence[str]) -> DistillSettings:
    """The settings; a policy that teaches itself has the reward beside it, where its weights are not set.

    Alone such a teacher led from 44 % right to guesses and below (``studies/distillation``).
    """
    teacher = apply_overrides(defaults, [one for one in overrides if one.strip().startswith("teacher.")]).teacher
    if teacher.has_own_weights:
        return apply_overrides(defaults, overrides)
    beside = replace(defaults.rl.algorithm.distill, weight=0.1, reward_weight=1.0)
    algorithm = replace(defaults.rl.algorithm, distill=beside)
    return apply_overrides(replace(defaults, rl=replace(defaults.rl, algorithm=algorithm)), overrides)


def drawn_material(context: RecipeContext, path: Path, settings: DistillSettings) -> Material:
    """Questions of drawn families without an end, their experts to imitate, and others to measure on."""
    names, seed = settings.families, seed_for(context.seed, "distill")
    imitated = settings.sft.steps * settings.sft.batch_size

    def example(split: str, index: int) -> Example:
        family, number = names[index % len(names)], index // len(names)
        return generate(
            family, split=split, index=number, seed=seed, media=context.media, difficulty=settings.difficulty
        )

    def held_out() -> Sequence[Task]:
        return [example("held_out", index).task for index in range(settings.held_out_tasks)]

    return Material(
        title=f"{path.name} on {', '.join(names)}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        style=instruction_style(path),
        # After the pictures of the imitation, so that no question comes twice.
        questions=lambda: drawn_questions(
            names, CurriculumSettings(), seed=seed, media=context.media, difficulty=settings.difficulty, first=imitated
        ),
        held_out={"all": held_out},
        examples=lambda index, _: StreamExample(example=example("train", index)),
    )
