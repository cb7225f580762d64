"""Whether questions fit the limits of a run, found out from the sizes of their pictures before any work."""

import heapq
import logging
from collections.abc import Sequence
from contextlib import closing

from saccade.errors import UserError
from saccade.models.vlm import VisionLanguageModel
from saccade.rollout.contexts import Contexts
from saccade.runs.position import Position
from saccade.tasks.curriculum import TaskSampler, known_tasks
from saccade.train.artefacts import NotDerivedError
from saccade.train.plan import EpisodeSpec, RLStage
from saccade.train.state import RunState, is_done
from saccade.types import Task

RENDERED = 3
"""Questions whose prompts are counted exactly: those with the most image tokens, and those with the longest texts."""

logger = logging.getLogger(__name__)


def check_training_fits(run: RunState) -> None:
    """UserError where a question of a reinforcement yet to come cannot be played, or its pictures not be trained on.

    Stages whose questions or prompts an earlier stage has yet to find out are checked when they begin. Sources that do
    not name their tasks beforehand are not checked; the rollout and the learner say it then.
    """
    for stage in run.plan.stages:
        if isinstance(stage, RLStage) and stage.teacher is not None:
            # Few stages have one.
            from saccade.train.teachers import check_teacher

            check_teacher(stage, run.model, run.plan.load)
        if isinstance(stage, RLStage) and not is_done(run, Position(stage=stage.name, step=stage.settings.steps)):
            try:
                source = stage.questions()
            except UserError:
                continue
            try:
                _check_source(stage, source, run.model)
            except NotDerivedError:
                continue


def check_stage_fits(run: RunState, stage: RLStage) -> None:
    """``check_training_fits`` of one stage that begins now."""
    _check_source(stage, stage.questions(), run.model)


def _check_source(stage: RLStage, source: TaskSampler, model: VisionLanguageModel) -> None:
    tasks, where = known_tasks(source), f"stage {stage.name!r}"
    for stream in stage.streams:
        check_prompts_fit(where, stream.episodes, tasks, model)
    _check_pictures_fit(where, tasks, model, stage.settings.optimizer.micro_batch_tokens)
    if stage.settings.evidence.weight:
        from saccade.train.evidence_credit import check_evidence

        check_evidence(stage.settings.evidence, tasks)
    if stage.teacher is not None:
        from saccade.train.teachers import check_hint

        check_hint(stage, tasks, model)


def check_prompts_fit(where: str, episodes: EpisodeSpec, tasks: Sequence[Task], model: VisionLanguageModel) -> None:
    """UserError for prompts that leave no room to answer; a warning where they leave less than one whole turn."""
    limit = episodes.rollout.max_tokens
    largest = heapq.nlargest(RENDERED, tasks, key=lambda task: _image_tokens(task, model))
    longest = heapq.nlargest(RENDERED, tasks, key=lambda task: len(task.question))
    sizes = {task.id: (_prompt_tokens(task, episodes, model), task) for task in (*largest, *longest)}
    if not sizes:
        return
    tokens, task = max(sizes.values(), key=lambda size: size[0])
    of_text = tokens - _image_tokens(task, model)
    too_large = sum(of_text + _image_tokens(one, model) >= limit for one in tasks)
    if tokens >= limit:
        raise UserError(
            f"{where}: about {max(1, too_large)} of {len(tasks)} questions do not fit rollout.max_tokens={limit}. The "
            f"prompt of {task.id} takes {tokens} tokens{_advice(task, tokens - of_text)}raise rollout.max_tokens above "
            f"{tokens + episodes.rollout.max_turn_tokens}"
            + (f", or lower rollout.few_shot={episodes.rollout.few_shot}" if episodes.rollout.few_shot else "")
        )
    if tokens + episodes.rollout.max_turn_tokens > limit:
        logger.warning(
            "%s: the prompt of %s takes %d of rollout.max_tokens=%d and leaves less than rollout.max_turn_tokens=%d to "
            "answer; answers may be cut off",
            where,
            task.id,
            tokens,
            limit,
            episodes.rollout.max_turn_tokens,
        )


def _check_pictures_fit(where: str, tasks: Sequence[Task], model: VisionLanguageModel, micro_batch_tokens: int) -> None:
    """A picture is never cut, so a micro-batch has to hold the largest whole."""
    sizes = [(model.view.token_count(image), place, task) for task in tasks for place, image in enumerate(task.images)]
    too_large = [size for size in sizes if size[0] > micro_batch_tokens]
    if not too_large:
        return
    tokens, place, task = max(too_large, key=lambda size: size[0])
    image = task.images[place]
    raise UserError(
        f"{where}: {len(too_large)} of {len(sizes)} pictures have more tokens than optimizer.micro_batch_tokens="
        f"{micro_batch_tokens}. The largest ({image.width} x {image.height} px, of {task.id}) has {tokens}: "
        f"lower model.max_pixels, or raise optimizer.micro_batch_tokens to {tokens} or more"
    )


def _image_tokens(task: Task, model: VisionLanguageModel) -> int:
    return sum(model.view.token_count(image) for image in task.images)


def _prompt_tokens(task: Task, episodes: EpisodeSpec, model: VisionLanguageModel) -> int:
    with closing(episodes.environment(model.media, model.view, is_timed=False)) as env:
        env.reset(options={"task": task})
        drops = episodes.rollout.drops_old_thoughts
        return len(Contexts(model.chat, env, drops_old_thoughts=drops).prompt().ids)


def _advice(task: Task, image_tokens: int) -> str:
    """How much of a prompt is pictures, and what may be done about them."""
    return f", {image_tokens} of them for {_pictures(task)}: lower model.max_pixels, or " if task.images else ": "


def _pictures(task: Task) -> str:
    largest = max(task.images, key=lambda image: image.width * image.height)
    size = f"{largest.width} x {largest.height} px"
    return f"a picture of {size}" if len(task.images) == 1 else f"{len(task.images)} pictures of up to {size}"
