"""Results as Tinker's client reads them: samples and losses as protocol buffers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.serving.tinker.wire import double_field, number_field, part_field

_FLOAT32 = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class TopScores:
    """The likeliest tokens at some places: ids and log-probabilities, (places, k)."""

    ids: NDArray[np.int32]
    logprobs: NDArray[np.float32]

    def message(self) -> bytes:
        length, k = self.ids.shape
        return (
            part_field(1, self.ids.astype("<i4").tobytes())
            + part_field(2, self.logprobs.astype("<f4").tobytes())
            + number_field(3, k)
            + number_field(4, length)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledText:
    """One sample, with its end-of-turn token or the one that completed a stop string."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    has_stopped: bool
    """False where ``max_tokens`` ended it."""
    top: TopScores | None = None


def sample_answer(
    samples: Sequence[SampledText],
    *,
    prompt_logprobs: NDArray[np.float32] | None = None,
    top_of_prompt: TopScores | None = None,
) -> bytes:
    """A ``SampleResponse``; log-probabilities of the prompt are NaN where there are none."""
    written = b"".join(part_field(1, _sequence(sample)) for sample in samples)
    if prompt_logprobs is not None:
        written += part_field(2, prompt_logprobs.astype("<f4").tobytes())
    return written if top_of_prompt is None else written + part_field(3, top_of_prompt.message())


def _sequence(sample: SampledText) -> bytes:
    written = (
        number_field(1, 0 if sample.has_stopped else 1)
        + part_field(2, np.asarray(sample.ids, "<i4").tobytes())
        + part_field(3, np.asarray(sample.logprobs, "<f4").tobytes())
    )
    return written if sample.top is None else written + part_field(4, sample.top.message())


def loss_answer(logprobs: Sequence[NDArray[np.float32]], metrics: Mapping[str, float]) -> bytes:
    """A ``ForwardBackwardOutput``: log-probabilities of each example's targets, (tokens,) or (tokens, k), and sums."""
    records = b"".join(part_field(2, _record(one)) for one in logprobs)
    entries = (part_field(1, name) + double_field(2, value) for name, value in metrics.items())
    return part_field(1, "ArrayRecord") + records + b"".join(part_field(3, entry) for entry in entries)


def _record(logprobs: NDArray[np.float32]) -> bytes:
    """One record for each example: those of one record have the same number of targets at a token."""
    raw = logprobs.astype("<f4").tobytes()
    sides = b"".join(number_field(4, side) for side in logprobs.shape[1:])
    tensor = part_field(1, raw) + part_field(2, np.asarray([0, len(raw)], "<i8").tobytes())
    entry = part_field(1, "logprobs") + part_field(2, tensor + number_field(3, _FLOAT32) + sides)
    return part_field(1, "ArrayRecord") + part_field(2, entry) + number_field(3, 1)
