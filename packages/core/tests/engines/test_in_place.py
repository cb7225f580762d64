"""Decode steps that read pages where they lie, by a plain form of torch's kernel: the states of gathered pages."""

import pytest
import torch
from test_engines_decoding import plain_states, ragged_rows, scattered  # noqa: F401
from torch.nn.attention import varlen
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from saccade.engines import decode_graphs, in_place
from saccade.engines.decode_graphs import DecodeGraphs
from saccade.engines.forward import Chunk, forwards_for
from saccade.engines.local import LocalEngine
from saccade.engines.slots import empty_cache
from saccade.errors import UserError
from saccade.native import FeatureCache


def plain_kernel(
    query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, scale, window_size, enable_gqa, seqused_k, block_table
):
    """What the documentation of ``varlen_attn`` says, row by row."""
    assert (window_size, enable_gqa, block_table.dtype) == ((-1, 0), True, torch.int32)
    assert cu_seq_k.tolist() == [0, *seqused_k.cumsum(0).tolist()]
    found = []
    for row, used in enumerate(seqused_k.tolist()):
        own = query[cu_seq_q[row] : cu_seq_q[row + 1]]
        assert len(own) <= max_q
        # The row's own tokens alone, in the order of its table.
        keys, values = (pool[block_table[row]].flatten(0, 1)[:used] for pool in (key, value))
        seen = torch.arange(used)[None] <= torch.arange(used - len(own), used)[:, None]
        by_head = (part.transpose(0, 1)[None] for part in (own, keys, values))
        found.append(scaled_dot_product_attention(*by_head, attn_mask=seen, scale=scale, enable_gqa=True)[0])
    return torch.cat([part.transpose(0, 1) for part in found])


class Gathered(TorchDispatchMode):
    """Numbers that are gathered from pages."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.index_select.default and args[0].dim() == 5:
            self.numbers += out.numel()
        return out


def stepped(model, kernel, *, recorder=None, steps=2):
    """States of the last tokens of rows, some of them together, and numbers that were gathered for the last step."""
    rows = ragged_rows(model)
    cache = empty_cache(model, rows=len(rows), paged=True, in_place=kernel)
    for _ in rows:
        cache.take(())
    forwards = forwards_for(model, FeatureCache(model, capacity_bytes=1), cache, max_chunk_tokens=4096)
    if recorder is not None:
        forwards._graphs = DecodeGraphs(forwards._decoder, cache.pages, recorder)
    counts = [3, 1, 2, 1, 1]
    held = [len(row) - count for row, count in zip(rows, counts)]
    chunks = [Chunk(ids=tuple(row[:end]), images=(), cached=0, position=0) for row, end in zip(rows, held)]
    forwards.extend(chunks, first=0)
    new = [(token, place) for row, end in zip(rows, held) for place, token in enumerate(row[end:], end)]
    for _ in range(steps):
        with Gathered() as gathered:
            states = forwards.decode([token for token, _ in new], [place for _, place in new], held, counts)
    whole = torch.cat([plain_states(model, row)[-count:] for row, count in zip(rows, counts)])
    torch.testing.assert_close(states, whole, atol=2e-5, rtol=2e-5)
    return states, gathered.numbers


@torch.inference_mode()
def test_steps_that_read_in_place_have_the_states_of_the_modules_and_gather_nothing(scattered):  # noqa: F811
    ours, moved = stepped(scattered, plain_kernel)
    theirs, moved_before = stepped(scattered, None)
    torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=2e-5)
    heads, dim = scattered.key_heads[0]
    # Five rows of two pages of 64 tokens, keys and values of each layer.
    assert (moved, moved_before) == (0, scattered.layer_count * 2 * 5 * 2 * 64 * heads * dim)


@torch.inference_mode()
def test_recorded_steps_read_in_place_too(scattered, monkeypatch):  # noqa: F811
    monkeypatch.setattr(decode_graphs, "_WORTH", 1)

    def recorder(run):
        states = run()
        return lambda: states.copy_(run()), states

    assert stepped(scattered, plain_kernel, recorder=recorder)[1] == 0


def test_models_that_the_kernel_does_not_take_are_refused(scattered, monkeypatch):  # noqa: F811
    with pytest.raises(UserError, match=r"paged_attention=in_place is for GPUs in half precision.*float32 on cpu"):
        LocalEngine(scattered, paged_attention="in_place")
    monkeypatch.setattr(type(scattered), "device", torch.device("cuda"))
    monkeypatch.setattr(type(scattered), "dtype", torch.bfloat16)
    assert in_place.kernel_in_place(scattered) is varlen.varlen_attn
    monkeypatch.setattr(varlen, "varlen_attn", lambda query, key: None)
    with pytest.raises(UserError, match=r"needs torch 2\.13 or newer"):
        in_place.kernel_in_place(scattered)
