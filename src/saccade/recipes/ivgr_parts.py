"""What the iVGR recipe and its miniature are put together from: how questions are played, measured and rewarded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.evaluation.views import CropSettings, Views
from saccade.protocols.instructions import Style
from saccade.protocols.two_streams import (
    GROUNDED,
    TEXTUAL,
    grounded_protocol,
    grounded_with_crop_protocol,
    textual_protocol,
)
from saccade.recipes._ivgr_judges import Judges
from saccade.recipes.ivgr_settings import TwoStreamSettings
from saccade.rewards.boxes.grounding import GroundingReward
from saccade.rewards.ivgr import IvgrReward
from saccade.rewards.outcome import OutcomeReward
from saccade.rewards.reward import AnyReward
from saccade.tasks.curriculum import Mixture, Share, TaskSampler
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.plan import EpisodeSpec, Evaluate, RLStage, Stream
from saccade.types import Task

OUTCOME = OutcomeReward(accuracy_weight=1.0, format_weight=1.0)

Asked = Callable[[tuple[str, ...]], TaskSampler]
"""A source of questions, from the streams that ask them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamEpisodes:
    """How questions are played in either stream."""

    grounded: EpisodeSpec
    textual: EpisodeSpec

    def of(self, stream: str) -> EpisodeSpec:
        return self.grounded if stream == GROUNDED else self.textual

    def evaluate(self, name: str, stream: str, tasks: Callable[[], Sequence[Task]]) -> Evaluate:
        """In one stream. Answers are judged by the rules alone."""
        reward: AnyReward = GroundingReward() if stream == GROUNDED else OUTCOME
        return Evaluate(name=name, tasks=tasks, episodes=self.of(stream), reward=reward)

    def evaluations(
        self, when: str, tasks: Callable[[], Sequence[Task]], looks: Mapping[str, Views]
    ) -> tuple[Evaluate, ...]:
        """In words, with boxes, and in words on what the boxes of a first pass show; ``looks`` by their names."""
        plain = self.evaluate(f"{when}_textual", TEXTUAL, tasks)
        second = (
            replace(plain, name=f"{when}_{name}", first_pass=self.grounded, views=views)
            for name, views in looks.items()
        )
        return (plain, self.evaluate(f"{when}_grounded", GROUNDED, tasks), *second)


def second_looks(cut: CropSettings = CropSettings()) -> dict[str, Views]:
    """Those of the paper's Table 4."""
    return {
        "crops": Views(crops=True, union=False, cut=cut),
        "union": Views(crops=False, union=True, cut=cut),
        "crops_union": Views(crops=True, union=True, cut=cut),
    }


def played(settings: TwoStreamSettings, style: Style) -> StreamEpisodes:
    """One turn in either stream; with crops several in the grounded one."""
    turns = settings.crop_turns if settings.grounded_crops else 1
    protocol = grounded_with_crop_protocol if settings.grounded_crops else grounded_protocol
    return StreamEpisodes(
        grounded=EpisodeSpec(
            protocol=protocol(style=style, max_turns=turns, form=settings.box_form),
            tools=(tool_from(crop),) if settings.grounded_crops else (),
            rollout=settings.rollout,
            max_turns=turns,
        ),
        textual=EpisodeSpec(
            protocol=textual_protocol(style=style, max_turns=1), tools=(), rollout=settings.rollout, max_turns=1
        ),
    )


def reinforcement(
    settings: TwoStreamSettings,
    how: StreamEpisodes,
    *,
    judged: Judges,
    boxed: Asked,
    general: Asked | None,
    curve: Evaluate,
) -> RLStage:
    """The stage of both streams, or of one of them with as many trajectories per step."""
    names = (GROUNDED, TEXTUAL) if settings.streams == "both" else (settings.streams,)
    counts = {
        "boxed": settings.pairs if settings.streams == "both" else 2 * settings.pairs,
        "general": settings.singles,
    }
    if general is None or settings.streams == GROUNDED:
        # Questions without boxes are asked in plain words; where nothing else is asked, they make room.
        counts = {"boxed": settings.rl.tasks_per_step // len(names), "general": 0}

    def questions() -> TaskSampler:
        parts = {"boxed": Share(questions=boxed(names), share=counts["boxed"])}
        if general is not None and counts["general"]:
            parts["general"] = Share(questions=general((TEXTUAL,)), share=counts["general"])
        return Mixture(parts)

    streams = tuple(Stream(name=name, episodes=how.of(name)) for name in names)
    return RLStage(
        name="rl",
        streams=streams,
        questions=questions,
        reward=reward(settings, judged),
        settings=replace(settings.rl, tasks_per_step=sum(counts.values())),
        evaluation=curve if settings.rl.evaluate_every else None,
    )


def reward(settings: TwoStreamSettings, judged: Judges) -> IvgrReward:
    """Equations 1 and 3."""
    return IvgrReward(
        consistency=judged.consistency,
        grounding=GroundingReward(box_rule=settings.box_rule, validity_weight=settings.validity_weight),
        accuracy=judged.accuracy,
        tau=settings.tau,
        use_archive=settings.archive,
        plain_accuracy_weight=settings.plain_accuracy_weight,
    )
