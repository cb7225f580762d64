"""A log of inspect_ai: every trajectory as a sample, with pictures, tool calls and their results, and scores.

``inspect view`` shows it and ``inspect score`` scores it anew: the output of a sample is its final answer.
"""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.distribution import __version__
from saccade.errors import UserError
from saccade.evaluation.benchmarks.reward import final_reply
from saccade.evaluation.statistics import clustered_mean
from saccade.interleaving import interleaved_parts
from saccade.media.encode import png_bytes
from saccade.media.store import MediaStore
from saccade.types import Attempt, ImageRef, ToolCall, Trajectory, Turn

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage, Content

try:
    from inspect_ai import log as inspect_log
    from inspect_ai import model as inspect_model
    from inspect_ai import scorer as inspect_scorer
    from inspect_ai.tool import ToolCall as InspectCall
except ImportError as error:
    raise UserError('a log of inspect_ai needs its package; run pip install "inspect-ai>=0.3.285"') from error

_SCORER = "saccade"


def write_inspect_log(attempts: Sequence[Attempt], path: Path, *, task: str, model: str, media: MediaStore) -> None:
    """Writes ``path``, which ends in ``.eval``; samples of one question are its epochs.

    ``media`` has the pictures of the run. A trajectory that the machine failed is a sample with an error and without a
    score.
    """
    if path.suffix != ".eval":
        raise UserError(f"{path} must end in .eval, as logs of inspect_ai do")
    urls = _DataUrls(media)
    # Without a provider inspect_ai would refuse to score the log again; of "none" it asks nothing.
    model = model if "/" in model else f"none/{model}"
    samples = [_sample(attempt, model, urls) for attempt in attempts]
    scored = [attempt for attempt in attempts if _is_right(attempt.trajectory) is not None]
    right = [float(_is_right(attempt.trajectory) or 0) for attempt in scored]
    found = clustered_mean(right, [attempt.task.id for attempt in scored])
    low, high = found.ci95
    metrics = {
        "accuracy": inspect_log.EvalMetric(name="accuracy", value=found.mean or 0.0),
        "ci95_low": inspect_log.EvalMetric(name="ci95_low", value=low),
        "ci95_high": inspect_log.EvalMetric(name="ci95_high", value=high),
    }
    ids = list(dict.fromkeys(attempt.task.id for attempt in attempts))
    spec = inspect_log.EvalSpec(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=task,
        dataset=inspect_log.EvalDataset(name=task, samples=len(ids), sample_ids=ids),
        model=model,
        config=inspect_log.EvalConfig(epochs=max((one.trajectory.sample for one in attempts), default=0) + 1),
        packages={"saccade": __version__},
    )
    results = inspect_log.EvalResults(
        total_samples=len(samples),
        completed_samples=sum(sample.error is None for sample in samples),
        scores=[
            inspect_log.EvalScore(
                name=_SCORER,
                scorer=_SCORER,
                scored_samples=len(scored),
                unscored_samples=len(samples) - len(scored),
                metrics=metrics,
            )
        ],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    log = inspect_log.EvalLog(version=2, status="success", eval=spec, results=results, samples=samples)
    inspect_log.write_eval_log(log, str(path))


class _DataUrls:
    """Pictures as data URLs, each encoded once."""

    def __init__(self, media: MediaStore) -> None:
        self._media = media
        self._urls: dict[str, str] = {}

    def content(self, image: ImageRef) -> "Content":
        if image.hash not in self._urls:
            try:
                raw = png_bytes(self._media.get(image))
            except KeyError:
                raise UserError(f"the run has no picture {image.hash[:16]}…; its folder media is incomplete") from None
            self._urls[image.hash] = "data:image/png;base64," + base64.b64encode(raw).decode("ascii")
        return inspect_model.ContentImage(image=self._urls[image.hash])


def _sample(attempt: Attempt, model: str, pictures: _DataUrls) -> "EvalSample":
    task, trajectory = attempt.task, attempt.trajectory
    parts = interleaved_parts(task.question, task.images) if task.is_interleaved else None
    asked = inspect_model.ChatMessageUser(
        content=[
            inspect_model.ContentText(text=part) if isinstance(part, str) else pictures.content(part)
            for part in parts or (*task.images, task.question)
        ]
    )
    messages: list[ChatMessage] = [asked]
    for turn in trajectory.turns:
        messages += _messages(turn, model, pictures)
    sample = inspect_log.EvalSample(
        id=task.id,
        epoch=trajectory.sample + 1,
        input=[asked],
        choices=list(task.choices) or None,
        target=list(task.accepted) or task.answer,
        messages=messages,
        output=inspect_model.ModelOutput.from_content(model, final_reply(trajectory)),
        metadata={"family": task.family, "status": trajectory.status, "stream": trajectory.stream},
    )
    if trajectory.status == "failed":
        sample.error = inspect_log.EvalError(message=trajectory.failure, traceback="", traceback_ansi="")
    elif (is_right := _is_right(trajectory)) is not None:
        terms = trajectory.score.terms if trajectory.score else ()
        sample.scores = {
            _SCORER: inspect_scorer.Score(
                value=inspect_scorer.CORRECT if is_right else inspect_scorer.INCORRECT,
                answer=trajectory.answer,
                explanation="; ".join(f"{term.name} {term.value:g} x {term.weight:g}" for term in terms),
            )
        }
    return sample


def _messages(turn: Turn, model: str, pictures: _DataUrls) -> "list[ChatMessage]":
    """What the model wrote, and what it was shown."""
    call = turn.action if isinstance(turn.action, ToolCall) else None
    ident = f"call_{turn.index}"
    calls = None if call is None else [InspectCall(id=ident, function=call.name, arguments=dict(call.arguments))]
    said = inspect_model.ChatMessageAssistant(content=turn.text, tool_calls=calls, model=model, source="generate")
    if turn.observation is None:
        return [said]
    content = [*map(pictures.content, turn.observation.images)]
    content.append(inspect_model.ContentText(text=turn.observation.text))
    if call is None:
        return [said, inspect_model.ChatMessageUser(content=content)]
    return [said, inspect_model.ChatMessageTool(content=content, tool_call_id=ident, function=call.name)]


def _is_right(trajectory: Trajectory) -> bool | None:
    return None if trajectory.status == "failed" or trajectory.score is None else trajectory.score.is_right
