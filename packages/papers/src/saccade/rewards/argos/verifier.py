"""Verifier: what points, moments and reasoning of a response are worth, by back ends asked in few large batches."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal, Protocol

from saccade.chat.answer_scoring import MAX_SCORED_CHARS, AnswerRequest, AnswerScorer
from saccade.errors import MachineError, UserError
from saccade.protocols.points import MAX_POINTS, count_points, without_points
from saccade.rewards.argos.blame import (
    IMPOSSIBLE,
    NOWHERE,
    answers_with_blame,
    control_of_answer,
    control_of_region,
    telling_failures,
)
from saccade.rewards.argos.conclusion import spellings_of, with_one_conclusion, without_conclusion
from saccade.rewards.argos.hits import Hit, KnownPicture, Silence, hits_of, known_picture, picture_of, share_of_targets
from saccade.rewards.argos.region_cache import CachedRegions
from saccade.rewards.argos.regions import Masks, RegionRequest, Regions
from saccade.rewards.argos.scorer_clock import ScorerClock
from saccade.rewards.argos.scores import ProbabilityForm, VideoForm, answer_probability, video_score
from saccade.rewards.argos.selection import Selection
from saccade.rewards.argos.spatial import plain_label
from saccade.rewards.argos.statements import MomentReader, Statement, by_words, says_where, statements_of
from saccade.rewards.gathered import Gathered
from saccade.types import PointMention, Task, Trajectory

Conclusion = Literal["once", "shown", "hidden", "gain"]
"""What the teacher sees of a reasoning: of mentions of the answer the last alone; all of it (the paper), which pays for
saying the answer forty times; none of the sentences that say the answer; or what ``once`` shows, and the score is how
much more probable it makes the answer."""

SelectedBy = Literal["task", "response"]
"""What decides whether points are scored: the task; or the response, as one reading of Figure 2 has it."""

Moments = tuple[list[float | None], list[float | None]]
"""Scores of what is said of frames, and of segments."""


class VideoJudge(Protocol):
    """Judges what is said of a frame, or of a segment of a video (equation 4)."""

    async def __call__(self, task: Task, first: int, last: int, description: str, /) -> float | None:
        """1.0 or 0.0 for frames ``first`` to ``last``, counted from 0, both included; None without a verdict."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredPoints:
    """What the points and moments of a response are worth."""

    value: float | None
    """None where the machine failed."""
    recall: float | None = None
    """Share of the task's targets that are pointed at; None where it has none."""
    hits: tuple[Hit, ...] = ()
    """For each point in order, at most ``MAX_POINTS``: later ones are misses without a look."""
    silent: Mapping[int, Silence] = field(default_factory=dict)
    """Why those points do not count whose hit is None, by their places."""
    judged: int = 0
    """Descriptions of frames and segments with a verdict."""
    no_verdict: int = 0
    """Points and descriptions that a machine failed on."""
    is_part: bool = True
    """False where the response itself left the part out of its reward, by ``VerifierForms.selected_by``."""


@dataclass(frozen=True, kw_only=True)
class VerifierForms:
    """Which of the paper's readings are taken, where it has several."""

    distinct: bool = True
    """Whether points of one label on one thing count once, in a video also statements of the same words.

    False pays, by the paper's letter, for all that is true, however often or vaguely it is said.
    """
    selected_by: SelectedBy = "task"
    """``response`` drops the part of a response without points, which is the collapse that the paper works against."""
    video: VideoForm = "three_lists"
    probability: ProbabilityForm = "mean"
    conclusion: Conclusion = "once"
    keeps_points: bool = False
    """Whether the teacher reads the tags of points, or the labels alone."""


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """The back ends of a verifier; those that are None measure nothing, and a selection that needs one is refused."""

    regions: Regions | None = None
    video: VideoJudge | None = None
    moments: MomentReader | None = None
    """Reads the moments of a thought in which the rules find none; without it such a thought has none."""
    teacher: AnswerScorer | None = None
    forms: VerifierForms = VerifierForms()
    _find: "Gathered[RegionRequest, Masks | MachineError] | None" = field(init=False, repr=False, compare=False)
    _score: "Gathered[AnswerRequest, tuple[float, ...] | MachineError] | None" = field(
        init=False, repr=False, compare=False
    )

    _clock: "ScorerClock" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        clock = ScorerClock()
        find, score = None, None
        if self.regions is not None:
            find = Gathered(clock.timed("regions", telling_failures("regions", self.regions.find)))
        if self.teacher is not None:
            score = Gathered(clock.timed("teacher", telling_failures("teacher", self.teacher.logprobs)))
        for name, value in (("_clock", clock), ("_find", find), ("_score", score)):
            object.__setattr__(self, name, value)

    def meters(self) -> Mapping[str, float]:
        """Seconds in each back end since the last call, for ``Plan.meters``; with what remembered regions count."""
        counted = self.regions.counts.take() if isinstance(self.regions, CachedRegions) else {}
        return {**self._clock.take_seconds(), **counted}

    async def groundings(self, task: Task, members: Sequence[Trajectory], selection: Selection) -> list[MeasuredPoints]:
        """The grounding score of each response; UserError where the back end of the selection is missing."""
        if self._find is None:
            raise UserError("grounding is selected, but the verifier has no regions; give it some, or weight it 0")
        if not selection.grounding:
            raise UserError("no scorer of grounding is selected for this task; nothing can be measured")
        is_video = selection.grounding == ("video",)
        finder: Literal["detector", "pointer"] = "pointer" if selection.grounding == ("pointer",) else "detector"
        # Of a response in another protocol too, so that no response asks for more.
        said = [[point for turn in one.turns for point in turn.points][:MAX_POINTS] for one in members]
        places = [[picture_of(one, task, is_video=is_video) for one in mentions] for mentions in said]
        asked = {
            (place, label): RegionRequest(task=task, image_index=place, label=label, finder=finder)
            for place, one in zip(chain.from_iterable(places), chain.from_iterable(said))
            if place is not None and one.point is not None and (label := plain_label(one.label))
        }
        found = dict(
            zip(asked, await answers_with_blame(self._find, [*asked.values()], control_of_region, nothing=NOWHERE))
        )
        pictures = {
            place: known_picture(
                task.images[place], {label: masks for (at, label), masks in found.items() if at == place}
            )
            for place in {place for of in places for place in of if place is not None}
        }
        moments = await asyncio.gather(*(self._moments(task, one) for one in members)) if is_video else []
        return [
            self._measure(task, one, (mentions, of), pictures, moments[index] if is_video else None)
            for index, (one, mentions, of) in enumerate(zip(members, said, places))
        ]

    def _measure(
        self,
        task: Task,
        member: Trajectory,
        placed: tuple[Sequence[PointMention], Sequence[int | None]],
        pictures: Mapping[int, KnownPicture],
        moments: Moments | None,
    ) -> MeasuredPoints:
        mentions, places = placed
        if not mentions and self.forms.selected_by == "response":
            return MeasuredPoints(value=None, is_part=False)
        is_video = moments is not None
        hits, silent = hits_of(mentions, places, pictures, distinct=self.forms.distinct, is_video=is_video)
        counted = [float(hit) for hit in hits if hit is not None] + [0.0] * (points_written(member) - len(mentions))
        frames, segments = moments or ([], [])
        statements = [*frames, *segments]
        failed = sum(why == "failed" for why in silent.values()) + sum(one is None for one in statements)
        if failed:
            value = None
        elif is_video:
            value = video_score(counted, frames, segments, form=self.forms.video)
        else:
            value = sum(counted) / len(counted) if counted else 0.0
        return MeasuredPoints(
            value=value,
            recall=share_of_targets(task, mentions, places, hits),
            hits=tuple(hits),
            silent=silent,
            judged=sum(one is not None for one in statements),
            no_verdict=failed,
        )

    async def _moments(self, task: Task, trajectory: Trajectory) -> Moments:
        """Scores of what is said of frames and of segments; the same words count once."""
        try:
            frames, segments = await statements_of(task, trajectory, self.moments)
        except MachineError:
            return [None], []
        return await self._each_judged(task, frames), await self._each_judged(task, segments)

    async def _each_judged(self, task: Task, said: Sequence[Statement]) -> list[float | None]:
        different = list(dict.fromkeys(said))
        if self.forms.distinct:
            different = [one for one in different if says_where(one, len(task.frame_times_s))]
        found = await asyncio.gather(*(self._judge_segment(task, *one) for one in different))
        return by_words(different, found) if self.forms.distinct else list(found)

    async def _judge_segment(self, task: Task, first: int | None, last: int | None, description: str) -> float | None:
        if first is None or last is None:
            return 0.0
        if self.video is None:
            raise UserError("a video's moments are selected, but the verifier has no video judge; give it one")
        start = time.perf_counter()
        try:
            return await self.video(task, first, last, description)
        finally:
            self._clock.add("video", time.perf_counter() - start)

    async def reasonings(self, task: Task, members: Sequence[Trajectory]) -> list[float | None]:
        """P(answer given question, reasoning, pictures) of each response; None where the machine failed.

        A response without an answer, or with one that has no tokens, is worth 0.
        """
        if self._score is None:
            raise UserError("reasoning is weighted, but the verifier has no teacher; give it one, or weight it 0")
        asked = [self._answer_requests(task, one) for one in members]
        every = [request for requests in asked for request in requests]
        found = iter(await answers_with_blame(self._score, every, control_of_answer, nothing=IMPOSSIBLE))
        values: list[float | None] = []
        for requests in asked:
            probabilities = [self._probability(next(found)) for _ in requests]
            known = [one for one in probabilities if one is not None]
            if len(known) < len(requests):
                values.append(None)
            else:
                values.append(0.0 if not known else known[0] if len(known) == 1 else max(0.0, known[0] - known[1]))
        return values

    def _probability(self, found: tuple[float, ...] | MachineError) -> float | None:
        if isinstance(found, MachineError):
            return None
        try:
            return answer_probability(found, self.forms.probability) or 0.0
        except MachineError:
            return None

    def _answer_requests(self, task: Task, trajectory: Trajectory) -> list[AnswerRequest]:
        answer = trajectory.answer
        if answer is None or not answer.strip():
            return []
        thoughts = "\n".join(turn.thought for turn in trajectory.turns if turn.thought)[:MAX_SCORED_CHARS]
        if not self.forms.keeps_points:
            thoughts = without_points(thoughts)
        if self.forms.conclusion == "hidden":
            thoughts = without_conclusion(thoughts, *spellings_of(task, answer))
        elif self.forms.conclusion != "shown":
            thoughts = with_one_conclusion(thoughts, answer, *spellings_of(task, answer))
        request = AnswerRequest(task=task, reasoning=thoughts, answer=answer)
        return [request, replace(request, reasoning="")] if self.forms.conclusion == "gain" else [request]


def points_written(trajectory: Trajectory) -> int:
    """Number of points of a response, those that were not read too."""
    return sum(
        max(len(turn.points), count_points(turn.thought)) if len(turn.points) >= MAX_POINTS else len(turn.points)
        for turn in trajectory.turns
    )
