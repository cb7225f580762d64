"""The part ``sampling`` of ``gpu_parts.py``: what drafts, pages that are read in place and kept graphs change of steps.

Random weights write nothing twice, so tokens are told: texts like tool calls, 24 tokens that all have and 4 of their
own, over and over. All the work of drawing is done, and then the told token is taken.
"""

from collections.abc import Sequence

import numpy as np
from gpu_model import Bench, sampled
from torch import Tensor

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.sampling import Drawn, draw_tokens
from saccade.errors import UserError
from saccade.models.vlm import VisionLanguageModel

ALIKE, OWN = 24, 4


class Told:
    """Draws known texts: the i-th token of a seed's text for the i-th number of its stream."""

    def __init__(self, model: VisionLanguageModel, rows: int, tokens: int) -> None:
        never = {*model.forbidden_ids.tolist(), *model.end_ids}
        words = np.array([word for word in range(model.vocab_size) if word not in never])
        alike = np.random.default_rng(0).choice(words, ALIKE)
        self._tokens: dict[tuple[int, float], int] = {}
        for seed in range(rows):
            own = np.random.default_rng(seed + 1)
            text = [int(word) for _ in range(-(-tokens // (ALIKE + OWN))) for word in (*alike, *own.choice(words, OWN))]
            numbers = np.random.Generator(np.random.PCG64(seed)).random(len(text)).tolist()
            self._tokens |= {(seed, number): word for number, word in zip(numbers, text)}

    def __call__(self, logits: Tensor, samplings: Sequence[Sampling], uniforms: Sequence[float]) -> list[Drawn]:
        drawn = draw_tokens(logits, samplings, uniforms)
        return [
            Drawn(token=self._tokens[sampling.seed, number], logprob=one.logprob)
            for one, sampling, number in zip(drawn, samplings, uniforms)
        ]


def sampling(bench: Bench) -> dict[str, object]:
    """Tokens per second of told texts, with pages gathered and read in place, and with drafts of 0, 4 and 8 tokens.

    Then an engine's second batch with graphs that are kept and without.
    """
    model = bench.model()
    tokens, side = (84, 112) if bench.is_small else (168, 448)
    for rows in (8,) if bench.is_small else (8, 32, 128):
        told = Told(model, rows, tokens)
        for attention in ("gathered", "in_place"):
            for drafts in (0, 4, 8):
                name = f"{rows} rows, {attention}, drafts={drafts}"
                try:
                    bench.keep(**{name: _figures(bench, model, told, rows, tokens, side, attention, drafts)})
                except UserError as refused:
                    bench.keep(**{name: str(refused)})
        for keeps in (False, True):
            name = f"{rows} rows, second batch, keep_graphs={str(keeps).lower()}"
            bench.keep(**{name: _figures(bench, model, told, rows, tokens, side, keeps=keeps)})
    return {}


def _figures(
    bench: Bench,
    model: VisionLanguageModel,
    told: Told,
    rows: int,
    tokens: int,
    side: int,
    attention: str = "gathered",
    drafts: int = 0,
    keeps: bool | None = None,
) -> dict[str, float]:
    engine = LocalEngine(
        model,
        deterministic=False,
        paged=True,
        draw=told,
        drafts=drafts,
        max_rows=max(128, rows * (1 + drafts)),
        paged_attention=attention,  # type: ignore[arg-type]
        keep_graphs=keeps is True,
    )
    # Its pages, and its graphs' kernels, are there from the second batch on.
    sampled(engine, rows, tokens, side)
    if keeps is None:
        engine.reset()
    before = engine.work
    bench.forget_peak()
    seconds = bench.timed(lambda: sampled(engine, rows, tokens, side))
    work = engine.work
    steps = work.decode_steps - before.decode_steps
    heads, dim = model.key_heads[0]
    held = rows * tokens * 2 * model.layer_count * heads * dim * model.dtype.itemsize / 2**20
    return {
        "tokens/s": rows * tokens / seconds,
        "decode steps": steps,
        "ms a step": 1e3 * seconds / steps,
        "drafted": work.tokens_drafted - before.tokens_drafted,
        "accepted": work.drafts_accepted - before.drafts_accepted,
        # Gathering reads and writes them once more, before attention reads them.
        "MiB of sampled tokens that attention moves in the last step": held * (3 if attention == "gathered" else 1),
        "peak GiB": bench.peak_gib(),
    }
