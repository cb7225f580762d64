"""Argos: reasoning that points at what it speaks of, reinforced by a verifier that picks its scorers for each task.

A cold start by imitation of verified traces, then reinforcement by the gated sum of accuracy, grounding and reasoning
(equation 9), and evaluations that measure where the reasoning points.

Differs from the paper in: repeated, vague, missing and unreadable points are decided (``rewards/argos/scores.py``); the
task alone selects the scorers; what a machine fails takes the siblings' mean; weights, tau, group size, clip and KL are
ours, since it gives none.
"""

from collections.abc import Sequence
from dataclasses import replace

from saccade.recipes.argos_settings import PointingSettings
from saccade.rewards.argos import Verifier
from saccade.train import Evaluate, Material, RLStage, SFTStage, Stage, Stream


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
