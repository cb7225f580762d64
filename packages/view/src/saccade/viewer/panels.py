"""The charts that a reader of a training stage looks at first: their titles, their units, and whose lines they hold."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from saccade import metric_names as metric
from saccade.viewer.words import number_text, percent_text

SPEED = "tokens per second"
"""The speed of a step, where it is worked out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """Metrics that are drawn together, under words for people."""

    title: str
    subtitle: str
    lines: Mapping[str, str]
    """Metric to label."""
    is_share: bool = False
    in_percent: bool = False
    """Whether numbers are in percent though the axis does not reach from 0 to 1."""
    is_of_calls: bool = False
    """Left out where no tool was called."""
    hides_all_zeros: bool = False
    """Whether the chart is left out where none of its lines ever leaves 0."""
    hides_zeros: bool = False
    """Whether lines that never leave 0 are left out, where there are others: too many lines would share a colour."""

    @property
    def format(self) -> Callable[[float], str]:
        return percent_text if self.is_share or self.in_percent else number_text


def _both(name: str) -> Mapping[str, str]:
    """A metric of the training's own trajectories and of the evaluation in the middle of it."""
    return {name: "training, sampled", metric.HELD_OUT_PREFIX + name: "held out"}


PANELS = (
    Panel(title="Imitation loss", subtitle="mean −log p of the expert's tokens", lines={metric.NLL: "loss"}),
    Panel(title="Accuracy", subtitle="share of right answers", lines=_both(metric.REWARD_ACCURACY), is_share=True),
    Panel(
        title="Grounding",
        subtitle="score of points by the verifier, where it measured",
        lines=_both(metric.NOTED_PREFIX + "grounding"),
        is_share=True,
    ),
    Panel(
        title="Tool use",
        is_of_calls=True,
        subtitle="share of trajectories that call a tool",
        lines=_both(metric.TOOL_RATE),
        is_share=True,
    ),
    Panel(title="Calls", is_of_calls=True, subtitle="tool calls per trajectory", lines=_both(metric.CALLS)),
    Panel(
        title="Calls that ran",
        is_of_calls=True,
        subtitle="share of tool calls without an error",
        lines=_both(metric.CALLS_RAN),
        is_share=True,
    ),
    Panel(
        title="Calls where questions are hard",
        is_of_calls=True,
        hides_zeros=True,
        subtitle="tool calls per trajectory, by the share of a group that is right",
        lines={
            metric.CALLS_AT_ACCURACY_PREFIX + "0": "below 25 %",
            metric.CALLS_AT_ACCURACY_PREFIX + "25": "25 to 50 %",
            metric.CALLS_AT_ACCURACY_PREFIX + "50": "50 to 75 %",
            metric.CALLS_AT_ACCURACY_PREFIX + "75": "75 % and more",
        },
    ),
    Panel(
        title="Answered without a call",
        is_of_calls=True,
        subtitle="share of trajectories",
        lines=_both(metric.ANSWERED_WITHOUT_CALL),
        is_share=True,
    ),
    Panel(title="Reward", subtitle="mean over trajectories", lines=_both(metric.REWARD_MEAN)),
    Panel(
        title="Where it looked",
        subtitle="overlap (IoU) of the best crop with what matters",
        lines=_both(metric.LOOK_IOU),
    ),
    Panel(
        title="Parts of the reward",
        subtitle="mean over the trajectories that were paid by them",
        lines={metric.REWARD_PREFIX + "grounding": "grounding", metric.REWARD_PREFIX + "reasoning": "reasoning"},
    ),
    Panel(
        title="Points",
        subtitle="points that a trajectory's reasoning names",
        lines=_both(metric.NOTED_PREFIX + "points"),
    ),
    Panel(
        title="Without points, and in agreement",
        subtitle="share of trajectories: none where some are wanted; thought and answer say the same",
        lines={
            metric.NOTED_PREFIX + "no_points": "without points",
            metric.NOTED_PREFIX + "agreement": "thought and answer agree",
        },
        is_share=True,
    ),
    Panel(
        title="Scorers chosen",
        subtitle="share of trajectories that are checked by each",
        lines={f"{metric.NOTED_PREFIX}scorer/{name}": name for name in ("detector", "pointer", "video", "teacher")},
        is_share=True,
    ),
    Panel(
        title="No verdict",
        subtitle="what a machine failed: of each trajectory that it was asked about",
        lines={
            metric.NOTED_PREFIX + "no_verdict": "points or judgements",
            metric.NOTED_PREFIX + "no_teacher": "answers by the teacher",
        },
    ),
    Panel(
        title="Regions known already",
        subtitle="share of pairs of picture and name that no model was asked for again",
        lines={metric.TIME_PREFIX + "regions_known": "known"},
        is_share=True,
    ),
    Panel(
        title="Time of the scorers",
        subtitle="seconds of a step, some of them at once",
        lines={f"{metric.TIME_PREFIX}{name}_s": name for name in ("regions", "teacher", "video")},
    ),
    Panel(
        title="Rewards of pairs",
        subtitle="beta times how much likelier a trajectory has become than under the reference, mean over pairs",
        lines={
            metric.CHOSEN_REWARD: "chosen",
            metric.REJECTED_REWARD: "rejected",
            metric.HELD_OUT_PREFIX + metric.CHOSEN_REWARD: "chosen, held out",
            metric.HELD_OUT_PREFIX + metric.REJECTED_REWARD: "rejected, held out",
        },
    ),
    Panel(
        title="Chosen above rejected",
        subtitle="share of pairs in which the chosen one has the higher reward",
        lines={metric.PAIR_ACCURACY: "learned", metric.HELD_OUT_PREFIX + metric.PAIR_ACCURACY: "held out"},
        is_share=True,
    ),
    Panel(
        title="Length of pairs",
        subtitle="action tokens: where rejected ones are longer, a sum of log-probabilities pays for being short",
        lines={metric.CHOSEN_LENGTH: "chosen", metric.REJECTED_LENGTH: "rejected"},
    ),
    Panel(
        title="Distance from the first policy",
        subtitle="KL in nats per token to the policy that the stage began with",
        lines={metric.REFERENCE_KL: "to the stage's first policy"},
    ),
    Panel(
        title="Mismatch",
        subtitle="KL in nats per token of engine to learner at the same weights: near 0, however stale batches are",
        lines={metric.MISMATCH_KL: "engine to learner"},
    ),
    Panel(
        title="Staleness",
        subtitle="KL in nats per token of the older policy that sampled a batch to the learner that learns from it",
        lines={metric.SAMPLER_KL: "sampler to learner"},
    ),
    Panel(
        title="Age of the weights",
        subtitle="optimiser steps since the weights that sampled a batch",
        lines={metric.STALENESS: "steps"},
        hides_all_zeros=True,
    ),
    Panel(
        title="Weights of tokens that another policy sampled",
        subtitle="share of tokens that still count (effective sample size), and of those that were cut or left out",
        lines={metric.EFFECTIVE_SAMPLES: "effective", metric.IMPORTANCE_CUT: "cut or left out"},
        is_share=True,
    ),
    Panel(
        title="Waiting for the rollout",
        subtitle="seconds of a step in which it had learned and the rollout beside it was not over",
        lines={metric.WAIT_S: "waited"},
    ),
    Panel(
        title="Who waited for whom",
        subtitle="seconds of a step in which the learners had nothing to learn, and rollout workers nothing to play",
        lines={metric.LEARNERS_IDLE_S: "learners", metric.ROLLOUTS_IDLE_S: "rollout workers, mean"},
    ),
    Panel(
        title="Clipped tokens",
        subtitle="share of tokens where the ratio was clipped",
        lines={metric.CLIP_FRACTION: "clipped"},
        in_percent=True,
    ),
    Panel(
        title="Entropy",
        subtitle="nats per action token",
        lines={metric.SAMPLED_ENTROPY: "all that was sampled", metric.ENTROPY: "what was learned from"},
    ),
    Panel(title="Speed", subtitle="model tokens per second of a step", lines={SPEED: "tokens/s"}),
)


def lines_of(panel: Panel, names: Collection[str]) -> list[tuple[str, str]]:
    """Metric and label of each line; where several streams were trained, one for each instead of their mixture."""
    lines = []
    for key, label in panel.lines.items():
        streams = [
            other
            for other in names
            if other.endswith(f"/{key}")
            and other not in panel.lines
            and "/" not in (name := other.removesuffix(f"/{key}"))
            and f"{name}/" != metric.HELD_OUT_PREFIX
        ]
        lines += [(other, f"{label}: {other.removesuffix(f'/{key}')}") for other in streams]
        if key in names and not streams:
            lines.append((key, label))
    return lines
