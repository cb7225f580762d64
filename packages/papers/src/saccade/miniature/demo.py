"""The demo: a tiny model of a real architecture learns to look closer, first from an expert, then from rewards.

What it asks cannot be seen from afar. The expert's demonstrations teach the crop tool, but the last of them mostly
answer at once and guess, so the imitator guesses too. Reinforcement learning has to find out that looking pays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.config import RecipeContext, apply_overrides
from saccade.learner import OptimizerSettings
from saccade.miniature.plates import Plates, PlateSettings
from saccade.miniature.schedules import imitates
from saccade.protocols import direct_protocol, tagged_protocol
from saccade.rewards import OutcomeReward
from saccade.rollout import EpisodeSpec, RolloutSettings
from saccade.tools import crop, tool_from
from saccade.train import (
    AlgorithmSettings,
    Evaluate,
    Material,
    Plan,
    RLSettings,
    RLStage,
    SFTSettings,
    SFTStage,
    Stage,
    Stream,
)

_LIMITS = RolloutSettings(max_turn_tokens=48, max_tokens=512)

LOOKING = EpisodeSpec(protocol=tagged_protocol(style="brief"), tools=(tool_from(crop),), rollout=_LIMITS, max_turns=3)

SILENT = EpisodeSpec(protocol=direct_protocol(style="brief"), tools=(), rollout=_LIMITS, max_turns=1)
"""Without tools in the prompt."""


@dataclass(frozen=True, kw_only=True)
class DemoSettings(PlateSettings):
    """Settings of the demo; ``--set sft.steps=300`` changes one."""

    sft: SFTSettings = SFTSettings(
        steps=800,
        batch_size=16,
        optimizer=OptimizerSettings(learning_rate=1.5e-3, micro_batch_tokens=16_384),
        warmup_steps=20,
        decay="cosine",
        final_rate=0.1,
    )
    reward: OutcomeReward = OutcomeReward(accuracy_weight=1.0, format_weight=0.1)
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


def method(settings: DemoSettings, material: Material) -> Sequence[Stage]:
    """Imitation, then reinforcement, each followed by an evaluation on held-out pictures; the last without the tool."""

    def evaluation(name: str, episodes: EpisodeSpec = LOOKING, tasks: str = "all") -> Evaluate:
        return Evaluate(name=name, tasks=material.held_out[tasks], episodes=episodes, reward=settings.reward)

    episodes = {"looking": LOOKING, "silent": SILENT}
    reinforcement = RLStage(
        name="rl",
        streams=tuple(Stream(name=name, episodes=played) for name, played in episodes.items()),
        questions=material.questions,
        reward=settings.reward,
        settings=settings.rl,
        evaluation=evaluation("curve", tasks="curve"),
    )
    measured = (reinforcement, evaluation("after_rl"), evaluation("after_rl_without_tool", SILENT))
    if material.examples is None:
        return measured
    imitation = SFTStage(name="sft", source=material.demonstrations(episodes), settings=settings.sft)
    return (imitation, evaluation("after_sft"), *measured)


def demo(context: RecipeContext) -> Plan:
    """The demo on drawn plates; ``--model`` of a demo's own imitation skips imitation."""
    settings = apply_overrides(DemoSettings(), context.overrides)
    imitated = settings.sft.steps * settings.sft.batch_size
    plates = Plates(settings=settings, context=context, imitated=imitated, per_step=settings.rl.tasks_per_step)
    material = Material(
        title="A tiny model learns to look closer",
        build_model=plates.build_model,
        questions=plates.questions,
        held_out={"all": plates.held_out(settings.evaluation_tasks), "curve": plates.held_out(settings.curve_tasks)},
        examples=plates.demonstration if imitates(context, settings.sft.steps) else None,
    )
    return material.plan(settings, method(settings, material))
