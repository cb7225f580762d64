"""iVGR: each question in two streams, boxes written out and plain words; words are paid for agreeing with boxes.

A cold start by imitation of both, then reinforcement of both with the archive and a judge (equations 1 to 3), and
evaluations in words, with boxes, and with crops at test time.

Differs from the paper in: copies of a box never pay (``box_rule``); the judge does not read coordinates, is guarded
against texts that address it, and what its machine fails is never scored; the clip range is the public code's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from saccade.config import RecipeContext, apply_overrides
from saccade.errors import UserError
from saccade.models import instruction_style, load_model
from saccade.protocols import GROUNDED, TEXTUAL
from saccade.recipes.ivgr_data import read_questions, read_trajectories
from saccade.recipes.ivgr_settings import BOXED, PLAIN, IvgrSettings, TwoStreamSettings
from saccade.rewards import GroundingReward, OutcomeReward, Reward
from saccade.rewards.judges import Judges
from saccade.tasks import mixed
from saccade.train import Evaluate, Material, Plan, RLStage, SFTStage, Stage, Stream

REWARDS: Mapping[str, Reward] = {
    GROUNDED: GroundingReward(),
    TEXTUAL: OutcomeReward(accuracy_weight=1.0, format_weight=1.0),
}
"""Rewards of evaluations: answers are judged by the rules alone."""


def method(settings: TwoStreamSettings, material: Material, judged: Judges) -> Sequence[Stage]:
    """A cold start where there are examples, then reinforcement in both streams or in one of them."""
    episodes = settings.episodes(material.style)

    def evaluation(name: str, stream: str, tasks: str = "") -> Evaluate:
        held_out = material.held_out[tasks]
        return Evaluate(name=name, tasks=held_out, episodes=episodes[stream], reward=REWARDS[stream])

    def measured(when: str) -> list[Stage]:
        plain = evaluation(f"{when}_textual", TEXTUAL)
        looks = [
            replace(plain, name=f"{when}_{name}", first_pass=episodes[GROUNDED], views=views)
            for name, views in settings.looks.items()
        ]
        return [plain, evaluation(f"{when}_grounded", GROUNDED), *looks]

    stages: list[Stage] = measured("before") if material.first == "" else []
    if material.first:
        stages = [evaluation("before_textual", TEXTUAL, material.first)]
    if material.examples is not None:
        cold_start = SFTStage(name="sft", source=material.demonstrations(episodes), settings=settings.sft)
        stages += [cold_start, *measured("after_sft")]
    asked, counts = material.sources, settings.counts(has_plain=PLAIN in material.sources)
    streams = {BOXED: settings.asked_in, PLAIN: (TEXTUAL,)}
    reinforcement = RLStage(
        name="rl",
        streams=tuple(Stream(name=name, episodes=episodes[name]) for name in settings.asked_in),
        questions=lambda: mixed({name: (asked[name], streams[name], count) for name, count in counts.items()}),
        reward=replace(settings.reward, consistency=judged.consistency, accuracy=judged.accuracy),
        settings=replace(settings.rl, tasks_per_step=sum(counts.values())),
        evaluation=evaluation("curve", TEXTUAL, "curve") if settings.rl.evaluate_every else None,
    )
    return [*stages, reinforcement, *measured("after_rl")]


def ivgr(context: RecipeContext) -> Plan:
    """Both stages on a checkpoint: ``--model``, ``--data`` with boxes, ``--set sft_data=FILE``, and a judge."""
    settings = apply_overrides(IvgrSettings(), context.overrides)
    if context.data is None or context.model is None:
        raise UserError(
            "this recipe trains a checkpoint on your own questions with boxes; give --model PATH and --data PATH, or "
            "see it in miniature: saccade train ivgr:tiny"
        )
    judged, path = settings.judges(context), context.model
    own = read_questions(context.data, settings, context)
    material = Material(
        title=f"{path.name} makes its looking its own on {context.data.name}",
        build_model=lambda: load_model(path, context.media, settings.model),
        load=settings.model,
        style=instruction_style(path),
        sources=own.sources(settings, context.seed),
        held_out={"": lambda: own.held_out, "curve": lambda: own.held_out},
        examples=read_trajectories(settings, own.held_out, context),
        resources=judged.resources,
        meters=judged.meters,
    )
    return material.plan(settings, method(settings, material, judged))
