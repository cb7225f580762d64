"""Pages and recorded decode steps that outlive a batch: what is recorded once, what makes them go, the same tokens."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
import torch
from test_decode_graphs import Recorder
from test_engines_drafts import fluent, played

from saccade.engines import decode_graphs, rows
from saccade.engines.engine import Sampling
from saccade.engines.forward import TorchForwards
from saccade.engines.kept_graphs import KeptGraphs
from saccade.engines.local import LocalEngine
from saccade.engines.pages import PageMemory
from saccade.errors import SaccadeError
from saccade.models.checkpoint import EngineSettings
from saccade.models.lora import LoraSettings, add_adapter
from saccade.train.resume_rules import ROUNDING_ONLY

SAMPLING = Sampling(seed=0, max_tokens=24)


@pytest.fixture
def speaker(media):
    return fluent("qwen2_5_vl", media)


@pytest.fixture
def recorder(monkeypatch):
    """What all batches record with, as if on a GPU."""
    made = Recorder()

    def forwards_for(model, features, cache, *, max_chunk_tokens, decoded_rows):
        return TorchForwards(model, features, cache, max_chunk_tokens=max_chunk_tokens, record=made)

    monkeypatch.setattr(rows, "forwards_for", forwards_for)
    return made


def engine_of(model, **options):
    return LocalEngine(model, **{"paged": True, "keep_graphs": True, **options})


def recorded_by(recorder, engine, model, picture):
    """How many steps were recorded in a batch, and its turns."""
    before = recorder.recorded
    turns = played(engine, model, picture, SAMPLING)
    return recorder.recorded - before, turns


def tokens_of(turns):
    return [(turn.ids, turn.logprobs, turn.finish) for turn in turns]


@pytest.mark.parametrize("drafts", [0, 3])
def test_a_second_batch_records_nothing_and_has_the_same_bits(speaker, picture, recorder, drafts):
    counts, told = [], []
    for keeps in (True, False):
        engine = engine_of(speaker, keep_graphs=keeps, drafts=drafts)
        for _ in range(2):
            count, turns = recorded_by(recorder, engine, speaker, picture)
            counts.append(count)
            told.append(tokens_of(turns))
            # Guesses come from what was written before, and would make other shapes.
            if engine._drafts is not None:
                engine._drafts.clear()
    assert counts[0] > 0
    assert counts == [counts[0], 0, counts[0], counts[0]]
    assert told[:2] == told[2:]


def test_an_engine_that_need_not_repeat_replays_from_the_first_step(speaker, picture, recorder):
    engine, replays = engine_of(speaker, deterministic=False), []
    first = played(engine, speaker, picture, SAMPLING)
    graphs = engine._kept._graphs
    decode = graphs.decode
    graphs.decode = lambda *given: replays.append(decode(*given)) or replays[-1]
    second = played(engine, speaker, picture, SAMPLING)
    assert len(replays) > 10
    assert replays[0] is not None
    for one, other in zip(first, second, strict=True):
        assert one.ids == other.ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_weights_in_place_are_replayed_and_moved_ones_recorded_anew(speaker, picture, recorder, twin, media):
    other = fluent("qwen2_5_vl", media)
    with torch.no_grad():
        for name, weight in other.hf.named_parameters():
            if "layers" in name:
                weight.mul_(1.3)
    engine, fresh = engine_of(twin(speaker)), engine_of(other, keep_graphs=False)
    before = played(engine, speaker, picture, SAMPLING)
    places = engine._kept._graphs._decoder.places()
    engine.update_weights(other, 1)
    assert engine._kept._graphs._decoder.places() == places
    count, after = recorded_by(recorder, engine, speaker, picture)
    assert count == 0
    assert tokens_of(after) == tokens_of(played(fresh, speaker, picture, SAMPLING)) != tokens_of(before)

    def count_after(change):
        with torch.no_grad():
            change(engine.model.hf)
        return recorded_by(recorder, engine, speaker, picture)

    def move(hf):
        layer = hf.get_submodule("model.language_model.layers.1.mlp.up_proj")
        layer.weight.data = layer.weight.data.clone()

    def move_angles(hf):
        rotary = hf.get_submodule("model.language_model.rotary_emb")
        rotary.inv_freq = rotary.inv_freq.clone()

    for change in (move, move_angles):
        count, again = count_after(change)
        assert count > 0
        assert tokens_of(again) == tokens_of(after)
    assert count_after(lambda hf: None)[0] == 0


def test_an_adapter_that_comes_and_changes_is_what_is_replayed(speaker, picture, recorder):
    engine = engine_of(speaker)
    played(engine, speaker, picture, SAMPLING)
    add_adapter(speaker, LoraSettings(rank=2))
    assert recorded_by(recorder, engine, speaker, picture)[0] > 0
    with torch.no_grad():
        for name, weight in speaker.hf.named_parameters():
            if "lora_B" in name:
                weight += 0.3
    count, ours = recorded_by(recorder, engine, speaker, picture)
    theirs = played(engine_of(speaker, keep_graphs=False), speaker, picture, SAMPLING)
    assert count == 0
    assert tokens_of(ours) == tokens_of(theirs)


def test_weights_that_move_within_a_batch_are_recorded_anew(speaker, picture, recorder):
    engine = engine_of(speaker)
    played(engine, speaker, picture, SAMPLING)
    graphs = engine._kept._graphs
    assert graphs._recorded
    graphs._drop_stale()
    assert graphs._recorded
    weight = speaker.hf.get_submodule("model.language_model.layers.0.mlp.up_proj").weight
    weight.data = weight.data.clone()
    graphs.note_changed_weights()
    graphs._drop_stale()
    assert not graphs._recorded


@pytest.mark.parametrize("end", ["reset", "aclose", "off"])
def test_memory_is_given_back(speaker, picture, recorder, end):
    engine = engine_of(speaker, keep_graphs=end != "off")
    first, _ = recorded_by(recorder, engine, speaker, picture)
    if end == "off":
        assert engine._kept is None
    else:
        assert engine._kept._memory.page_count > 0
        engine.reset() if end == "reset" else asyncio.run(engine.aclose())
        assert engine._kept._memory is engine._kept._graphs is None
    assert recorded_by(recorder, engine, speaker, picture)[0] == first


@pytest.mark.parametrize("error", [ValueError("a broken step"), torch.OutOfMemoryError("Tried to allocate 2.00 GiB")])
def test_a_batch_after_one_that_failed_begins_with_nothing(speaker, picture, recorder, monkeypatch, caplog, error):
    engine, steps = engine_of(speaker), []
    good = played(engine, speaker, picture, SAMPLING)

    def failing(self, *given):
        steps.append(given)
        if len(steps) > 5:
            raise error
        return sample(self, *given)

    sample = rows.Rows._sample
    with monkeypatch.context() as patched:
        patched.setattr(rows.Rows, "_sample", failing)
        with pytest.raises((ValueError, SaccadeError), match=r"a broken step|ran out of memory"):
            played(engine, speaker, picture, SAMPLING)
    assert engine._kept._memory is None
    counts = []
    for _ in range(2):
        count, again = recorded_by(recorder, engine, speaker, picture)
        counts.append(count)
        assert tokens_of(again) == tokens_of(good)
    said = [record.message for record in caplog.records if "model.engine.keep_graphs=false" in record.message]
    is_memory = isinstance(error, torch.OutOfMemoryError)
    assert (len(said), counts[1] > 0, engine._kept._memory is None) == (is_memory, is_memory, is_memory)


def test_a_batch_after_one_that_its_owner_left_has_the_same_bits(speaker, picture, recorder):
    engine = engine_of(speaker)
    good = played(engine, speaker, picture, SAMPLING)
    asked = speaker.chat.prompt([])

    async def leave():
        async with engine.sequences(["one"]) as [slot]:
            await slot.sample(asked.ids, asked.images, replace(SAMPLING, max_tokens=3))
            raise KeyError("left")

    with contextlib.suppress(KeyError):
        asyncio.run(leave())
    pool = engine._kept._memory.pool
    # What a page held before is nobody's: not even a NaN of it may be met.
    with torch.inference_mode():
        pool.fill_(float("nan"))
    count, again = recorded_by(recorder, engine, speaker, picture)
    assert (count, engine._kept._memory.pool is pool) == (0, True)
    assert tokens_of(again) == tokens_of(good)


@pytest.mark.parametrize("family", ["gemma3", "qwen3_vl_moe", "qwen3_5"])
def test_models_whose_steps_are_not_recorded_keep_nothing(media, picture, recorder, family):
    model = fluent(family, media)
    engine = engine_of(model)
    ours = [tokens_of(played(engine, model, picture, SAMPLING)) for _ in range(2)]
    assert recorder.recorded == 0
    assert engine._kept._memory is engine._kept._graphs is None
    assert ours == [tokens_of(played(engine_of(model, keep_graphs=False), model, picture, SAMPLING))] * 2


def test_nothing_is_kept_where_recording_fails_or_there_is_no_gpu(speaker, picture, monkeypatch):
    engine = engine_of(speaker)
    played(engine, speaker, picture, SAMPLING)
    assert engine._kept._memory is None

    def refuse(run):
        raise RuntimeError("operation not permitted when stream is capturing")

    kept = KeptGraphs(repeats=True)
    memory = PageMemory(2, 1, 8, torch.float32, torch.device("cpu"))
    graphs = kept.graphs(lambda: None, memory, refuse)
    kept.end()
    assert kept._graphs is graphs
    graphs._record = None
    kept.end()
    assert kept._graphs is kept._memory is None


def test_pages_of_another_size_or_kind_are_not_taken_over():
    one = PageMemory(2, 1, 8, torch.float32, torch.device("cpu"))
    assert one.is_like(PageMemory(2, 1, 8, torch.float32, torch.device("cpu"), first_pages=7))
    for other in (
        PageMemory(2, 1, 8, torch.bfloat16, torch.device("cpu")),
        PageMemory(2, 1, 8, torch.float32, torch.device("cpu"), page=256),
        PageMemory(3, 1, 8, torch.float32, torch.device("cpu")),
        PageMemory(2, 1, 8, torch.float32, torch.device("meta")),
        PageMemory(2, 1, 8, torch.float32, torch.device("cpu"), in_place=lambda *given: None),
    ):
        assert not one.is_like(other)


def test_the_recordings_that_were_used_last_stay(speaker, picture, recorder, monkeypatch):
    engine = engine_of(speaker)
    played(engine, speaker, picture, SAMPLING)
    made = list(engine._kept._graphs._recorded)
    assert len(made) > 1
    monkeypatch.setattr(decode_graphs, "_MOST_KEPT", 1)
    engine._kept.end()
    assert list(engine._kept._graphs._recorded) == made[-1:]


def test_memory_whose_graphs_have_gone_records_no_more(monkeypatch):
    handles = iter(range(9))

    class Graph:
        def replay(self):
            return None

    used = []

    @contextlib.contextmanager
    def recording(graph, pool, capture_error_mode):
        used.append(pool)
        yield

    class Stream:
        def wait_stream(self, other):
            return None

    for name, stub in {
        "graph_pool_handle": lambda: next(handles),
        "CUDAGraph": Graph,
        "graph": recording,
        "Stream": Stream,
        "current_stream": Stream,
        "stream": lambda one: contextlib.nullcontext(),
        "device": lambda one: contextlib.nullcontext(),
    }.items():
        monkeypatch.setattr(torch.cuda, name, stub)
    recorder = decode_graphs.CudaRecorder(torch.device("cuda"))
    replays = [recorder(lambda: torch.zeros(1))[0] for _ in range(2)]
    del replays[0]
    replays.append(recorder(lambda: torch.zeros(1))[0])
    assert len(set(used)) == 1
    replays.clear()
    recorder(lambda: torch.zeros(1))
    assert len(set(used)) == 2


def test_the_setting_reaches_the_engine_and_may_change_in_a_resumed_run(speaker):
    from saccade.engines.local import limited_engine

    assert limited_engine(speaker, EngineSettings())._kept is None
    assert limited_engine(speaker, EngineSettings(keep_graphs=True))._kept is not None
    assert "keep_graphs" in ROUNDING_ONLY
