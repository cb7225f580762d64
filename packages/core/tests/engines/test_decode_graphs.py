"""Decode steps as graphs, with a recorder that runs them anew: the same states, from one buffer, of a few shapes."""

import pytest
import torch
from test_engines_decoding import plain_states, ragged_rows, scattered, slots_for  # noqa: F401

from saccade.engines import decode_graphs
from saccade.engines.decode_graphs import DecodeGraphs, Shape
from saccade.engines.forward import Chunk


class Recorder:
    """Repeats by running once more, as a replay does: with the numbers that the buffer holds then."""

    def __init__(self):
        self.recorded = 0

    def __call__(self, run):
        self.recorded += 1
        states = run()
        return lambda: states.copy_(run()), states


def stepped(model, rows, recorder, *, steps=9):
    """States of the last tokens of each row, decoded one after the other, all rows and then fewer."""
    forwards, _ = slots_for(model, rows, paged=True)
    if recorder is not None:
        forwards._graphs = DecodeGraphs(forwards._decoder, forwards._cache.pages, recorder)
    forwards.extend([Chunk(ids=tuple(row[:-steps]), images=(), cached=0, position=0) for row in rows], first=0)
    states = []
    for left in range(steps, 0, -1):
        going = rows if left > 4 else rows[:3]
        lengths = [len(row) - left for row in going]
        states.append(forwards.decode([row[-left] for row in going], lengths, lengths))
    return states


@pytest.mark.parametrize("worth", [1, 3])
@torch.inference_mode()
def test_recorded_steps_have_the_states_of_plain_ones(scattered, worth, monkeypatch):  # noqa: F811
    monkeypatch.setattr(decode_graphs, "_WORTH", worth)
    rows, recorder = ragged_rows(scattered), Recorder()
    ours, theirs = stepped(scattered, rows, recorder), stepped(scattered, rows, None)
    # Five rows fill up to eight and three to four.
    assert recorder.recorded == 2
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=2e-5)


@torch.inference_mode()
def test_a_pool_that_has_grown_is_recorded_anew(scattered, monkeypatch):  # noqa: F811
    monkeypatch.setattr(decode_graphs, "_WORTH", 1)
    rows, recorder = ragged_rows(scattered), Recorder()
    forwards, _ = slots_for(scattered, rows, paged=True)
    memory = forwards._cache.pages
    forwards._graphs = DecodeGraphs(forwards._decoder, memory, recorder)
    forwards.extend([Chunk(ids=tuple(row[:-2]), images=(), cached=0, position=0) for row in rows], first=0)
    for left in (2, 1):
        lengths = [len(row) - left for row in rows]
        states = forwards.decode([row[-left] for row in rows], lengths, lengths)
        memory._grow()
    assert recorder.recorded == 2
    torch.testing.assert_close(states, plain_last(scattered, rows), atol=2e-5, rtol=2e-5)


@torch.inference_mode()
def test_drafts_are_recorded_with_the_states_of_chunks(scattered, monkeypatch):  # noqa: F811
    monkeypatch.setattr(decode_graphs, "_WORTH", 1)
    rows, recorder = ragged_rows(scattered), Recorder()
    forwards, _ = slots_for(scattered, rows, paged=True)
    forwards._graphs = DecodeGraphs(forwards._decoder, forwards._cache.pages, recorder)
    counts = [3, 1, 2, 3, 1]
    held = [len(row) - count for row, count in zip(rows, counts)]
    forwards.extend(
        [Chunk(ids=tuple(row[:end]), images=(), cached=0, position=0) for row, end in zip(rows, held)], first=0
    )
    new = [(token, place) for row, end in zip(rows, held) for place, token in enumerate(row[end:], end)]
    for _ in range(2):
        states = forwards.decode([token for token, _ in new], [place for _, place in new], held, counts)
    whole = [plain_states(scattered, row)[-count:] for row, count in zip(rows, counts)]
    assert recorder.recorded == 1
    torch.testing.assert_close(states, torch.cat(whole), atol=2e-5, rtol=2e-5)


def plain_last(model, rows):
    forwards, _ = slots_for(model, rows, paged=True)
    forwards.extend([Chunk(ids=tuple(row[:-1]), images=(), cached=0, position=0) for row in rows], first=0)
    lengths = [len(row) - 1 for row in rows]
    return forwards.decode([row[-1] for row in rows], lengths, lengths)


@torch.inference_mode()
def test_what_cannot_be_recorded_is_run_plainly_and_said_once(scattered, monkeypatch, caplog):  # noqa: F811
    monkeypatch.setattr(decode_graphs, "_WORTH", 1)

    def refuse(run):
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    decode_graphs._say_unrecorded.cache_clear()
    # Two batches, one word.
    for _ in range(2):
        rows = ragged_rows(scattered)
        for one, other in zip(stepped(scattered, rows, refuse), stepped(scattered, rows, None), strict=True):
            assert torch.equal(one, other)
    [record] = caplog.records
    assert "not recorded as CUDA graphs here: operation not permitted when stream is capturing" in record.message


def test_shapes_are_few_and_waste_a_quarter_at_most():
    assert Shape.of(1, 1) == (1, 1, 1)
    assert Shape.of(5, 64) == (8, 1, 1)
    assert Shape.of(33, 65, 3) == (40, 2, 4)
    shapes = {Shape.of(rows, tokens) for rows in range(1, 129) for tokens in range(1, 4097)}
    assert len({shape.rows for shape in shapes}) == 19
    assert len({shape.pages for shape in shapes}) == 20
    for tokens in range(1, 5000):
        pages = -(-tokens // 64)
        assert pages <= Shape.of(1, tokens).pages <= max(pages, 1.25 * pages)
