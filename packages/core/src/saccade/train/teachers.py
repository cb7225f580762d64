"""The teacher of a stage: who it is, what it is shown, and what it says of a batch."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Protocol

from saccade.errors import UserError
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import TopTokens, TrainingSequence
from saccade.learner.teaching import Teaching, as_seen, check_head
from saccade.models.loading import LoadSettings, load_chat, load_model
from saccade.models.same_tokens import check_same_tokens
from saccade.models.vlm import VisionLanguageModel
from saccade.train.privileged import PrivilegedView, hint_of, lack_of
from saccade.train.stages import RLStage
from saccade.types import Group, Task

logger = logging.getLogger(__name__)


def teaching_of(stage: RLStage) -> Teaching | None:
    """What the stage's learner has to know of its teacher; None where it has none."""
    distill, teacher = stage.applied_algorithm.distill, stage.teacher
    if distill is None or teacher is None:
        return None
    if not teacher.has_own_weights:
        return Teaching(weights="start" if teacher.model == "start" else "policy", options=distill)
    return Teaching(weights="own" if teacher.url is None else "server", options=distill)


class TokenJudge(Protocol):
    """A server that scores tokens: of each sequence the log-probabilities of its action tokens, and the most likely."""

    def __call__(self, sequences: Sequence[TrainingSequence]) -> Sequence[tuple[tuple[float, ...], TopTokens]]: ...


GAPS_HEARD = 3
"""Steps with a ``teacher_gap`` after which a teacher that prefers nothing right is told of."""


class TeacherWatch:
    """Says once, after the first steps that tell, where a teacher does not prefer what is right."""

    def __init__(self, stage: str, *, is_alone: bool) -> None:
        """``is_alone`` says that there is no reward beside it."""
        self._stage = stage
        self._is_alone = is_alone
        self._gaps: list[float] = []

    def __call__(self, gap: float) -> None:
        self._gaps.append(gap)
        if len(self._gaps) == GAPS_HEARD and fmean(self._gaps) <= 0:
            logger.warning(
                "in stage %s the teacher prefers better paid trajectories no more than the policy does (teacher_gap "
                "%.2f nats, mean of %d steps), so it teaches nothing that is right: show it what helps (teacher.view), "
                "take another (teacher.model), or %s",
                self._stage,
                fmean(self._gaps),
                GAPS_HEARD,
                "add the reward (rl.algorithm.distill.reward_weight=1)"
                if self._is_alone
                else "learn from the reward alone (rl.algorithm.distill.weight=0)",
            )


@dataclass(frozen=True, kw_only=True)
class StageTeacher:
    """A ``BatchTeacher``: the sequences with the teacher's view of them, and its log-probabilities of their tokens."""

    views: dict[str, PrivilegedView]
    """By stream; empty where the teacher sees what the policy does."""
    logprobs: Callable[[Sequence[TrainingSequence]], Sequence[tuple[float, ...]]] | None
    """Of action tokens; None where whole distributions are compared, in the learner."""
    judge: TokenJudge | None = None
    watch: Callable[[float], None]
    """Hears the ``teacher_gap`` of each step that has one."""

    def taught(self, groups: Sequence[tuple[Group, Sequence[TrainingSequence]]]) -> Sequence[TrainingSequence]:
        found: list[TrainingSequence] = []
        for group, sequences in groups:
            view = self.views.get(group.stream)
            found += sequences if view is None else view(group.task, sequences)
        if self.judge is not None:
            judged = self.judge(as_seen(found))
            found = [replace(one, teacher_logprobs=own, teacher_top=top) for one, (own, top) in zip(found, judged)]
        elif self.logprobs is not None:
            found = [
                replace(one, teacher_logprobs=own)
                for one, own in zip(found, self.logprobs(as_seen(found)), strict=True)
            ]
        # What was scored is not sent to learners, who compare nothing themselves.
        return (
            found
            if self.logprobs is None and self.judge is None
            else [replace(one, teacher_view=None) for one in found]
        )


def stage_teacher(
    stage: RLStage, model: VisionLanguageModel, learner: PolicyLearner, load: LoadSettings
) -> StageTeacher | None:
    """The teacher of a stage that begins, loaded where it is a checkpoint; None where the stage has none."""
    teaching = teaching_of(stage)
    if teaching is None:
        return None
    assert stage.teacher is not None
    check_head(teaching, model)
    judge = None
    if teaching.weights == "own":
        learner.take_teacher(lambda: load_teacher(Path(stage.teacher.model), model, load))  # type: ignore[union-attr]
    elif teaching.weights == "server":
        from saccade.train.teacher_server import ServerJudge

        judge = ServerJudge(model, str(stage.teacher.url), top_k=teaching.options.top_k)
    of_weights = {"policy": learner.logprobs, "start": learner.reference_logprobs, "own": learner.teacher_logprobs}
    score = of_weights.get(teaching.weights)
    temperature = stage.settings.temperature

    def logprobs(sequences: Sequence[TrainingSequence]) -> Sequence[tuple[float, ...]]:
        assert score is not None
        return score(sequences, temperature=temperature)

    is_scored = score is not None and not teaching.options.compares_whole
    return StageTeacher(
        views=views_of(stage, model),
        logprobs=logprobs if is_scored else None,
        judge=judge,
        watch=TeacherWatch(stage.name, is_alone=teaching.options.is_alone),
    )


def views_of(stage: RLStage, model: VisionLanguageModel) -> dict[str, PrivilegedView]:
    """The privileged view of each stream; none where the teacher sees the same."""
    assert stage.teacher is not None
    shown = stage.teacher.shown
    if stage.hint is None and shown == "same":
        return {}
    return {
        one.name: PrivilegedView(model, one.episodes, stage.hint or hint_of(shown, one.episodes.protocol.style))
        for one in stage.streams
    }


def load_teacher(path: Path, model: VisionLanguageModel, load: LoadSettings) -> VisionLanguageModel:
    """A checkpoint that shares its pictures with the policy; UserError for one with other tokens."""
    teacher = load_model(path, model.media, load)
    check_same_tokens(model.chat, teacher.chat, str(path))
    # Both see the same pictures: each is decoded and resized once.
    teacher.patches = model.patches
    return teacher


def check_teacher(stage: RLStage, model: VisionLanguageModel, load: LoadSettings) -> None:
    """UserError, before any work, for a checkpoint that is none or has other tokens."""
    teacher = stage.teacher
    if teacher is None or not teacher.has_own_weights or teacher.url is not None:
        return
    path = Path(teacher.model)
    if not path.is_dir():
        raise UserError(
            f"stage {stage.name}: teacher.model={teacher.model} is no directory; name a checkpoint, policy, start, or "
            "the http address of a server"
        )
    check_same_tokens(model.chat, load_chat(path, load), str(path))


def check_hint(stage: RLStage, tasks: Sequence[Task], model: VisionLanguageModel) -> None:
    """UserError for tasks that have nothing of what the teacher is to be shown, which says how many there are."""
    if stage.teacher is None or stage.hint is not None or stage.teacher.shown == "same":
        return
    view = stage.teacher.shown
    lacks = [lack for task in tasks if (lack := lack_of(view, task, model.view))]
    if lacks:
        raise UserError(f"stage {stage.name}: {len(lacks)} of {len(tasks)} questions: {lacks[0]}")
