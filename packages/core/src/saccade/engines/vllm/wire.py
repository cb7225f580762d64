"""Requests and replies of vLLM's token-in, token-out interface (``/inference/v1/generate``), as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.engines.engine import Sampling
from saccade.errors import MachineError
from saccade.models.families.family import image_runs
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Json

FORBIDDEN_BIAS = -100.0
"""The lowest that vLLM takes; p of such a token is below 1e-40 unless logits are absurd, and replies are checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRules:
    """What the wire has to know of a model."""

    eos_id: int
    end_ids: frozenset[int]
    """Tokens that end a turn."""
    image_token_id: int
    forbidden: Mapping[str, float]
    """The bias of each token that a policy never writes, by its id in words."""


def rules_of(model: VisionLanguageModel) -> TokenRules:
    return TokenRules(
        eos_id=model.eos_id,
        end_ids=model.end_ids,
        image_token_id=model.image_token_id,
        forbidden={str(token): FORBIDDEN_BIAS for token in model.forbidden_ids.tolist()},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledTokens:
    """What a server sampled, and with which weights."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    weights: tuple[str, ...]
    """For each token the name of the weights that sampled it."""


class BadReplyError(MachineError):
    """A reply that breaks the interface: another program, or another version of vLLM, answers there."""


def sampling_params(sampling: Sampling, rules: TokenRules, *, seed: int, max_tokens: int) -> dict[str, Json]:
    """All that could come from a checkpoint's generation_config is said, so that nothing does."""
    return {
        "n": 1,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "seed": seed,
        "max_tokens": max_tokens,
        # Where such a string is no end of the turn, the slot asks for what follows.
        "stop": [*sampling.stop, *(sampling.fenced_actions.server_stops if sampling.fenced_actions else ())],
        "include_stop_str_in_output": True,
        "skip_special_tokens": False,
        # The checkpoint may name further ends, of which the learner knows nothing.
        "ignore_eos": True,
        "stop_token_ids": sorted(rules.end_ids),
        "logprobs": 0,
        "logit_bias": dict(rules.forbidden),
    }


SCORING: Mapping[str, Json] = {
    "n": 1,
    "temperature": 0.0,
    "max_tokens": 1,
    "prompt_logprobs": 0,
    "repetition_penalty": 1.0,
    "detokenize": False,
    "ignore_eos": True,
}
"""Log-probabilities of the prompt itself; the one token sampled after it is not read."""

PRIMING: Mapping[str, Json] = {"n": 1, "temperature": 0.0, "max_tokens": 1, "detokenize": False, "ignore_eos": True}


def generate_body(
    ids: Sequence[int],
    images: Sequence[ImageRef],
    params: Mapping[str, Json],
    rules: TokenRules,
    *,
    counts: Sequence[int],
    pixels: Sequence[str] | None = None,
) -> dict[str, Json]:
    """A request for what follows from ``ids``, whose placeholders are expanded; images by hash, or with ``pixels``.

    ``counts`` are the image tokens of each. ValueError unless each image has its placeholders: vLLM would not notice.
    """
    starts = image_runs(ids, counts, image_token_id=rules.image_token_id)
    body: dict[str, Json] = {"token_ids": list(ids), "sampling_params": dict(params)}
    if images:
        features: dict[str, Json] = {
            "mm_hashes": {"image": [image.hash for image in images]},
            "mm_placeholders": {
                "image": [{"offset": start, "length": count} for start, count in zip(starts, counts, strict=True)]
            },
        }
        if pixels is not None:
            features["kwargs_data"] = {"image": list(pixels)}
        body["features"] = features
    return body


def read_sampled(reply: Json) -> SampledTokens:
    """Raises ``BadReplyError``."""
    choice = _first_choice(reply)
    ids, logprobs, versions = choice.get("token_ids"), choice.get("logprobs"), choice.get("weight_versions")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(ids, list) or not isinstance(content, list) or len(ids) != len(content):
        raise BadReplyError(f"the engine's reply has no log-probability for each token ({_excerpt(reply)})")
    told = [one.get("logprob") if isinstance(one, dict) else None for one in content]
    return SampledTokens(
        ids=tuple(_whole(token, reply) for token in ids),
        logprobs=tuple(_number(logprob, reply) for logprob in told),
        weights=_weights(versions, len(ids), reply),
    )


def read_scores(reply: Json, ids: Sequence[int], start: int) -> tuple[tuple[float, ...], frozenset[str]]:
    """log p of each of ``ids[start:]``, and the names of the weights; raises ``BadReplyError``."""
    rows = reply.get("prompt_logprobs") if isinstance(reply, dict) else None
    if not isinstance(rows, list) or len(rows) != len(ids):
        raise BadReplyError(f"the engine's reply has no log-probabilities of the {len(ids)} tokens ({_excerpt(reply)})")
    scores: list[float] = []
    for token, row in zip(ids[start:], rows[start:]):
        found = row.get(str(token)) if isinstance(row, dict) else None
        scores.append(_number(found.get("logprob") if isinstance(found, dict) else None, reply))
    return tuple(scores), frozenset(_weights(_first_choice(reply).get("weight_versions"), 1, reply))


def read_listed(
    reply: Json, ids: Sequence[int], places: Sequence[int], count: int
) -> tuple[tuple[float, ...], tuple[tuple[tuple[int, float], ...], ...], frozenset[str]]:
    """log p of the ids at these places, the ``count`` most likely tokens at each with theirs, and names of weights.

    Raises ``BadReplyError``.
    """
    rows = reply.get("prompt_logprobs") if isinstance(reply, dict) else None
    if not isinstance(rows, list) or len(rows) != len(ids):
        raise BadReplyError(f"the engine's reply has no log-probabilities of the {len(ids)} tokens ({_excerpt(reply)})")
    scores: list[float] = []
    listed: list[tuple[tuple[int, float], ...]] = []
    for place in places:
        row = rows[place] if isinstance(rows[place], dict) else {}
        assert isinstance(row, dict)
        found = {
            int(token): _number(one.get("logprob") if isinstance(one, dict) else None, reply)
            for token, one in row.items()
            if token.isdecimal()
        }
        if ids[place] not in found or len(found) < count:
            raise BadReplyError(f"the engine's reply lists too few tokens at place {place} ({_excerpt(reply)})")
        scores.append(found[ids[place]])
        listed.append(tuple(sorted(found.items(), key=lambda one: (-one[1], one[0]))[:count]))
    return tuple(scores), tuple(listed), frozenset(_weights(_first_choice(reply).get("weight_versions"), 1, reply))


def _first_choice(reply: Json) -> Mapping[str, Json]:
    choices = reply.get("choices") if isinstance(reply, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        raise BadReplyError(f"the engine's reply has no choices ({_excerpt(reply)})")
    return first


def _weights(spans: Json, count: int, reply: Json) -> tuple[str, ...]:
    """Names of the weights of each token; spans that leave one out are no answer to whose they are."""
    named: list[str] = []
    for span in spans if isinstance(spans, list) else ():
        start = _whole(span.get("start"), reply) if isinstance(span, dict) else -1
        if not isinstance(span, dict) or start != len(named):
            break
        named += [str(span.get("version"))] * min(_whole(span.get("end"), reply) - start, count - start)
    if len(named) < count:
        raise BadReplyError(f"the engine's reply does not say with which weights it sampled ({_excerpt(reply)})")
    return tuple(named)


def _whole(value: Json, reply: Json) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise BadReplyError(f"the engine's reply has {value!r} where a whole number belongs ({_excerpt(reply)})")


def _number(value: Json, reply: Json) -> float:
    # vLLM writes -9999.0 for NaN and for what is impossible.
    if isinstance(value, int | float) and np.isfinite(value) and value > -9999.0:
        return float(value)
    raise BadReplyError(
        f"the engine gives {value!r} as a log-probability: its weights have diverged, or another program answers "
        f"({_excerpt(reply)})"
    )


def _excerpt(reply: Json) -> str:
    return str(reply)[:200]
