"""Plans with another engine than the recipe's own, and what an engine asks of the plan."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from saccade.config import RecipeContext
from saccade.config.engine import EngineChoice, split_engine
from saccade.engines.engine import Engine, EngineContext, abilities_of
from saccade.errors import UserError
from saccade.models.vlm import VisionLanguageModel
from saccade.train.plan import EpisodeSpec, Evaluate, Plan, RLStage
from saccade.train.rollouts import PolicyRollouts

MARGIN = 8
"""Tokens that a server must take beyond a trajectory: to score one, vLLM samples a token after it."""


def plan_of(recipe: Callable[[RecipeContext], Plan], context: RecipeContext, *, logs: Path | None = None) -> Plan:
    """The recipe's plan with the engine that the context's overrides choose; raises UserError as ``with_engine``."""
    choice, overrides = split_engine(context.overrides)
    return with_engine(recipe(replace(context, overrides=overrides)), choice, logs=logs)


def with_engine(plan: Plan, choice: EngineChoice, *, logs: Path | None = None) -> Plan:
    """The plan with the engine of the choice; UserError where it cannot be had here, before anything is loaded.

    ``logs`` is where a server that is started writes what it says.
    """
    if choice.kind == "recipe":
        return plan
    from saccade.engines.vllm.environment import find_environment

    check_whole_distribution(plan, "engine.kind=vllm")
    if not choice.urls:
        find_environment(choice.python)
    longest = max((one.rollout.max_tokens for one in sampled_episodes(plan)), default=None)
    if choice.max_model_len is None and longest is not None:
        choice = replace(choice, max_model_len=longest + MARGIN)
    return replace(plan, engine=partial(vllm_engine, choice=choice, logs=logs))


def vllm_engine(context: EngineContext, *, choice: EngineChoice, logs: Path | None) -> Engine:
    from saccade.engines.vllm.engine import VllmEngine

    return VllmEngine(context, choice, logs=logs)


def check_engine(plan: Plan, engine: Engine, rollouts: PolicyRollouts, model: VisionLanguageModel) -> None:
    """UserError for an engine that cannot sample what the plan asks for, or when it asks for it."""
    if (names := plan.overlapping) and not rollouts.has_own_weights:
        raise UserError(
            f"stage {names[0]} has overlap=true, but its engine {type(engine).__name__} does not say that its weights "
            "are its own (has_own_weights = True): it would sample with weights that are being trained. Use "
            "ProcessEngine, or set overlap=false"
        )
    for stage in plan.stages:
        if isinstance(stage, RLStage) and stage.settings.in_flight:
            _check_in_flight(stage, rollouts)
        if isinstance(stage, RLStage) and stage.settings.router_replay != "disabled":
            _check_router_replay(stage, engine, model)
    _check_videos(plan, engine, model)
    _check_repeats(plan, engine)
    if abilities_of(engine).cuts_before_logprobs:
        check_whole_distribution(plan, f"the engine {type(engine).__name__}")


def _check_videos(plan: Plan, engine: Engine, model: VisionLanguageModel) -> None:
    """UserError for videos by tokens that the model has not, or whose positions along time the engine has not."""
    if not any(one.rollout.native_video for one in sampled_episodes(plan)):
        return
    from saccade.protocols.native_video import video_rules

    _, video = video_rules(model.view)
    if video.is_whole and abilities_of(engine).counts_positions:
        raise UserError(
            f"rollout.native_video=true: the engine {type(engine).__name__} has no positions along time for a video of "
            f"{model.family.model_type}; leave it out, and frames are shown as pictures, or take the engine in this "
            "process"
        )


def _check_repeats(plan: Plan, engine: Engine) -> None:
    """UserError for an engine that cannot promise the bits that the plan asks for."""
    asked = [name for name in ("deterministic", "batch_invariant") if getattr(plan.load, name)]
    if asked and abilities_of(engine).take_weights is not None:
        raise UserError(
            f"model.{asked[0]}=true, but the kernels of the engine {type(engine).__name__} are its own; use the engine "
            f"in this process, or set model.{asked[0]}=false"
        )


def _check_in_flight(stage: RLStage, rollouts: PolicyRollouts) -> None:
    """UserError where weights cannot change in the midst of the stage's batches."""
    asked = f"stage {stage.name} has in_flight={stage.settings.in_flight}"
    if (refusal := rollouts.refusal_in_flight()) is not None:
        raise UserError(f"{asked}, but {refusal}, or set in_flight=0")
    algorithm = stage.applied_algorithm
    if algorithm.max_refills:
        raise UserError(
            f"{asked}, and {algorithm.name} plays a batch in several rounds (max_refills={algorithm.max_refills}): "
            "which of them gets the new weights would depend on timing. Set algorithm.max_refills=0, or in_flight=0"
        )


def _check_router_replay(stage: RLStage, engine: Engine, model: VisionLanguageModel) -> None:
    """UserError where there is no routing, or the engine does not tell it."""
    asked = f"stage {stage.name} has router_replay={stage.settings.router_replay}"
    if model.experts is None:
        raise UserError(
            f"{asked}, which replays the experts of a mixture, and {model.family.model_type} has none; leave it out"
        )
    if not abilities_of(engine).records_experts:
        raise UserError(
            f"{asked}, and its engine {type(engine).__name__} does not tell which experts its tokens went to "
            "(records_experts = True). Use the engine in this process or ProcessEngine, or leave router_replay out"
        )


def check_whole_distribution(plan: Plan, engine: str) -> None:
    """UserError for training on samples of a part of the distribution, whose ratios would be wrong."""
    for stage in plan.stages:
        for stream in stage.streams if isinstance(stage, RLStage) else ():
            asked = stream.episodes.rollout
            if asked.top_p < 1 or asked.top_k > 0:
                raise UserError(
                    f"stage {stage.name!r} samples with top_p={asked.top_p} and top_k={asked.top_k}, and {engine} "
                    "renormalises log-probabilities over the tokens that remain: importance ratios would be wrong. Set "
                    "rollout.top_p=1 and rollout.top_k=0"
                )


def sampled_episodes(plan: Plan) -> list[EpisodeSpec]:
    """How the policy is asked in all stages."""
    found: list[EpisodeSpec] = []
    for stage in plan.stages:
        if isinstance(stage, RLStage):
            found += [stream.episodes for stream in stage.streams]
            found += _episodes_of(stage.evaluation)
        elif isinstance(stage, Evaluate):
            found += _episodes_of(stage)
    return found


def _episodes_of(stage: Evaluate | None) -> list[EpisodeSpec]:
    if stage is None:
        return []
    return [stage.episodes] if stage.first_pass is None else [stage.first_pass, stage.episodes]
