"""Checks of a plan's stages before the first step: names, streams, groups, temperatures, second looks."""

import re
from collections.abc import Sequence

from saccade.algorithms.options import DistillOptions
from saccade.config.settings import check_settings
from saccade.errors import UserError
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.train.artefacts import Derive
from saccade.train.stage_settings import TeacherSettings
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
            _check_teacher(stage)
            if stage.evaluation is not None:
                _check_passes(stage.evaluation)


def _check_groups(stage: RLStage) -> None:
    """Checks group sizes by the algorithm's value, which a recipe may pass whatever name its settings have."""
    size, algorithm = stage.settings.group_size, stage.applied_algorithm
    is_compared = algorithm.distill is None or not algorithm.distill.is_alone
    if size < 2 and algorithm.critic is None and is_compared:
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
    from saccade.rewards.judges.evidence_judge import WithEvidenceJudge

    return isinstance(stage.reward, WithEvidenceJudge)


def _check_teacher(stage: RLStage) -> None:
    """A stage has a teacher, and an algorithm that learns from one, or neither."""
    distill, teacher = stage.applied_algorithm.distill, stage.teacher
    if distill is None and teacher is None and stage.hint is None:
        return
    where = f"stage {stage.name}: "
    if distill is None:
        raise UserError(
            f"{where}there is a teacher, and algorithm.distill.weight=0 learns nothing from it; set it to 1"
        )
    if teacher is None:
        raise UserError(
            f"{where}algorithm.distill.weight={distill.weight} wants a teacher, and the stage has none; "
            "use `saccade train distill`, or give the stage a teacher=TeacherSettings(...)"
        )
    if stage.hint is None:
        check_settings(teacher, f"{where}teacher: ")
    if any(stream.episodes.rollout.drops_old_thoughts for stream in stage.streams) and (
        stage.hint is not None or teacher.shown != "same"
    ):
        raise UserError(
            f"{where}rollout.drops_old_thoughts=true begins new contexts in the midst of a trajectory, which are not "
            "written again for a teacher that is shown more; set it to false, or teacher.view=same"
        )
    _check_server(stage, distill, teacher, where)


def _check_server(stage: RLStage, distill: DistillOptions, teacher: TeacherSettings, where: str) -> None:
    if distill.compares_whole and (distill.top_k > 0) != (teacher.url is not None):
        raise UserError(
            f"{where}algorithm.distill.loss={distill.loss} needs distill.top_k=20 or so with a server, which tells its "
            "most likely tokens alone"
            if teacher.url
            else f"{where}algorithm.distill.top_k={distill.top_k} is for a server; {teacher.model} tells all"
        )
    if teacher.url is not None and stage.settings.temperature != 1:
        raise UserError(
            f"{where}temperature={stage.settings.temperature}: a server gives log-probabilities at temperature 1 alone"
        )


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
