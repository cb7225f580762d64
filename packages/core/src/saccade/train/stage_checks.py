"""Checks of a plan's stages before the first step: names, streams, groups, temperatures, second looks."""

import re
from collections.abc import Sequence

from saccade.config.settings import check_settings
from saccade.errors import UserError
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.train.artefacts import Derive
from saccade.train.stages import Evaluate, RLStage, Stage

_FILE_NAME = re.compile(r"\w[\w-]*")


def check_stages(stages: Sequence[Stage]) -> None:
    """Raises UserError for stages that cannot run one after the other."""
    if not stages:
        raise UserError("the recipe returned a plan without stages; add at least one")
    names = [name for stage in stages for name in _names_of(stage)]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(f"two stages are named {', '.join(repeated)}; give each stage its own name")
    for stage in stages:
        _check_name(stage.name)
        for episodes in _episodes_of(stage):
            _check_temperature(stage, episodes)
        if isinstance(stage, Evaluate):
            _check_passes(stage)
            _check_samples(stage)
        elif isinstance(stage, Derive):
            _check_derived(stage, names)
        else:
            check_settings(stage.settings, f"stage {stage.name}: ")
        if isinstance(stage, RLStage):
            _check_streams(stage)
            _check_groups(stage)
            _check_evidence(stage)
            if stage.evaluation is not None:
                _check_passes(stage.evaluation)


def _check_groups(stage: RLStage) -> None:
    """Checks group sizes by the algorithm's value, which a recipe may pass whatever name its settings have."""
    size = stage.settings.group_size
    if size < 2 and stage.applied_algorithm.critic is None:
        raise UserError(
            f"stage {stage.name}: group_size={size} leaves nothing to compare inside a group; use 2 or more (8 is "
            "usual), or an algorithm with a critic (ppo)"
        )


def _check_evidence(stage: RLStage) -> None:
    credit = stage.settings.evidence
    silent = [one.name for one in stage.streams if one.episodes.tools and not one.episodes.rollout.probes_calls]
    if credit.weight and credit.form == "difference" and silent:
        raise UserError(
            f"stage {stage.name}: rl.evidence.form=difference reads how much each call raised the probability of the "
            f"right answer, and the stream {silent[0]} does not ask for it; set rollout.probes_calls=true"
        )
    if credit.weight and credit.form == "judged" and not _has_evidence_judge(stage):
        raise UserError(
            f"stage {stage.name}: rl.evidence.form=judged has no judge; set evidence_judge.kind=server with its "
            "base_url and model where the recipe has that, or give the plan one by plan.with_evidence_judge"
        )


def _has_evidence_judge(stage: RLStage) -> bool:
    # Few stages have one, and judges are many modules.
    from saccade.rewards.judges.evidence_judge import JudgedEvidence

    return isinstance(stage.reward, JudgedEvidence)


def _check_streams(stage: RLStage) -> None:
    if not stage.streams:
        raise UserError(f"stage {stage.name!r} has no streams; give it at least one, which says what is asked and how")
    if len({stream.name for stream in stage.streams}) != len(stage.streams):
        raise UserError(f"two streams of stage {stage.name!r} have the same name; give each its own")


def _check_derived(stage: Derive, names: Sequence[str]) -> None:
    if stage.into.stage != stage.name:
        raise UserError(
            f"stage {stage.name!r} fills an artefact of the stage {stage.into.stage!r}; give both the same name"
        )
    if stage.source not in names[: names.index(stage.name)]:
        raise UserError(
            f"stage {stage.name!r} reads the trajectories of {stage.source!r}, which is no earlier stage; there are "
            f"{', '.join(names[: names.index(stage.name)]) or 'none'}"
        )


def _check_passes(stage: Evaluate) -> None:
    if (stage.first_pass is None) != (stage.views is None):
        given, missing = ("views", "first_pass") if stage.first_pass is None else ("first_pass", "views")
        raise UserError(
            f"evaluation {stage.name!r} has {given} but no {missing}; a second look needs both, the episodes that "
            "name boxes and the views that are cut out by them"
        )


def _check_samples(stage: Evaluate) -> None:
    if stage.samples < 1:
        raise UserError(f"evaluation {stage.name!r}: samples={stage.samples} plays nothing; use 1 or more")
    if stage.samples > 1 and (stage.temperature == 0 or stage.views is not None):
        raise UserError(
            f"evaluation {stage.name!r} plays each task {stage.samples} times: give it a temperature above 0 and no "
            "second look, or all of them are the same"
        )


def _names_of(stage: Stage) -> list[str]:
    """Names of the files that the stage writes."""
    first_pass = stage.first_pass_name if isinstance(stage, Evaluate) else None
    return [stage.name] if first_pass is None else [stage.name, first_pass]


def _check_name(name: str) -> None:
    """A stage's name is part of the names of its files."""
    if not _FILE_NAME.fullmatch(name):
        raise UserError(f"{name!r} cannot name a stage; use letters, digits, underscores and hyphens")


def _episodes_of(stage: Stage) -> list[EpisodeSpec]:
    """Episodes that are sampled."""
    if isinstance(stage, RLStage):
        return [stream.episodes for stream in stage.streams]
    if isinstance(stage, Evaluate):
        return [stage.episodes] if stage.first_pass is None else [stage.first_pass, stage.episodes]
    return []


def _check_temperature(stage: Stage, episodes: EpisodeSpec) -> None:
    asked = episodes.rollout.temperature
    if asked != RolloutSettings().temperature:
        raise UserError(
            f"rollout.temperature={asked} would have no effect: stage {stage.name!r} samples at a temperature of its "
            "own. Set that one: rl.temperature in training, --temperature in saccade eval"
        )
