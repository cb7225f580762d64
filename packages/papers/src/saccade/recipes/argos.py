"""Argos: reasoning that points at what it speaks of, reinforced by a verifier that picks its scorers for each task.

A cold start by imitation of verified traces, then reinforcement by the gated sum of accuracy, grounding and reasoning
(equation 9), and evaluations that measure where the reasoning points.

Differs from the paper in: repeated, vague, missing and unreadable points are decided (``rewards/argos/scores.py``); the
task alone selects the scorers; a response that a machine fails on has no score; weights, tau, group size, clip and KL
are ours, since it gives none.
"""

from collections.abc import Sequence
from dataclasses import replace

from saccade.config import RecipeContext, apply_overrides, read_own_tasks, split_held_out
from saccade.errors import UserError
from saccade.models import instruction_style, load_model
from saccade.recipes.argos_back_end_settings import check_scorers
from saccade.recipes.argos_back_ends import back_ends
from saccade.recipes.argos_data import apart_from, in_random_order, traces_to_imitate
from saccade.recipes.argos_settings import ArgosSettings, PointingSettings
from saccade.rewards.argos import Verifier
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.seeding import seed_for
from saccade.tasks import Shuffled
from saccade.train import Evaluate, Material, Plan, RLStage, SFTStage, Stage, Stream


def method(
    settings: PointingSettings, material: Material, verifier: Verifier, *, measured_by: Verifier | None = None
) -> Sequence[Stage]:
    """A cold start where there are examples, then reinforcement.

    Evaluations measure the points of every response by ``measured_by``, which may be better than what pays.
    """
    episodes = settings.episodes(material.style)
    measures = measured_by or verifier
    measure = replace(
        settings.reward,
        verifier=measures,
        grounding_weight=0.0 if measures.regions is None else 1.0,
        reasoning_weight=0.0,
        measured_share=1.0,
    )

    def evaluation(name: str, tasks: str) -> Evaluate:
        return Evaluate(name=name, tasks=material.held_out[tasks], episodes=episodes, reward=measure)

    stages: list[Stage] = [] if material.first is None else [evaluation("before", material.first)]
    if material.examples is not None:
        shown = material.demonstrations({"main": episodes})
        stages.append(SFTStage(name="sft", source=shown, settings=settings.sft))
        stages += material.measured("after_sft", evaluation)
    reinforcement = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=material.questions,
        reward=replace(settings.reward, verifier=verifier),
        settings=settings.rl,
        evaluation=evaluation("curve", "curve") if settings.rl.evaluate_every else None,
    )
    return [*stages, reinforcement, *material.measured("after_rl", evaluation)]


def argos(context: RecipeContext) -> Plan:
    """Both stages on a checkpoint: ``--model``, ``--data``, and the verifier's back ends by ``--set back_ends.…``."""
    settings = apply_overrides(ArgosSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on your own questions; give --model PATH and --data PATH, or see it in "
            "miniature: saccade train argos:tiny"
        )
    path, given = context.model, read_own_tasks(context.data, context)
    check_scorers(settings.reward, settings.back_ends, given)
    training, held_out = split_held_out(given, settings.held_out_share, context)
    check_scorers(settings.reward, settings.back_ends, held_out)
    imitates = settings.sft_data if settings.sft.steps else None
    traces = None if imitates is None else traces_to_imitate(imitates, held_out, context)
    training = training if settings.shares_data else apart_from(traces or (), training)
    opened = back_ends(
        settings.back_ends,
        settings.judge,
        settings.forms,
        media=context.media,
        view=ORIGINAL_VIEW,
        seed=seed_for(context.seed, "verifier"),
    )
    material = Material(
        title=f"{path.name} points at what it speaks of on {context.data.name}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        style=instruction_style(path),
        questions=lambda: Shuffled(training, seed=seed_for(context.seed, "rl")),
        held_out={"": lambda: held_out, "curve": lambda: held_out},
        examples=None if traces is None else in_random_order(traces, context),
        resources=opened.resources,
        meters=opened.meters,
    )
    reward = replace(settings.reward, selector=opened.selector, accuracy=opened.judged.accuracy)
    return material.plan(settings, method(replace(settings, reward=reward), material, opened.verifier))
