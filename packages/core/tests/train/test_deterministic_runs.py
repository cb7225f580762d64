"""Runs with ``model.batch_invariant``: the same bytes twice and with other packs, and a mismatch of exactly 0."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_overlap import metric, outcome, plan_of

from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import LocalEngine
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.progress import Progress
from saccade.train.run import run_plan

FEW = ("rl.steps=2", "rl.staleness=0")
EXACT = LoadSettings(device="cpu", deterministic=True, batch_invariant=True)


def play(out: Path, *overrides: str, load: LoadSettings = EXACT, engine: object = None) -> None:
    media = MediaStore()
    plan = plan_of(media, *FEW, *overrides)
    build = plan.build_model

    def in_half() -> VisionLanguageModel:
        model = build()
        model.hf.to(torch.bfloat16)
        return model

    plan = replace(plan, build_model=in_half, load=load, engine=engine or plan.engine)  # type: ignore[arg-type]
    run_plan(plan, out=out, media=media, seed=7, progress=Progress("quiet"))


def test_a_run_in_bf16_has_no_mismatch_and_ends_with_the_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("one", "two"):
        play(tmp_path / name)
    assert metric(tmp_path / "one", "mismatch_kl") == [0.0, 0.0]
    assert metric(tmp_path / "one", "mismatch_abs") == [0.0, 0.0]
    assert outcome(tmp_path / "one") == outcome(tmp_path / "two")


def test_the_fast_mode_has_a_mismatch(tmp_path: Path) -> None:
    play(tmp_path / "fast", load=LoadSettings(device="cpu"))
    assert all(gap is not None and gap > 0.0 for gap in metric(tmp_path / "fast", "mismatch_abs"))


def other_weights(context: EngineContext) -> Engine:
    """An engine whose log-probabilities are a bit off."""

    class Off(LocalEngine):
        pass

    engine = Off(context.model, policy_version=context.policy_version)
    draw = engine._draw
    engine._draw = lambda *given: [one._replace(logprob=one.logprob + 1e-5) for one in draw(*given)]
    return engine


def test_a_bit_that_is_off_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="promises the same bits"):
        play(tmp_path / "off", engine=other_weights)


def test_an_engine_with_kernels_of_its_own_is_refused(tmp_path: Path) -> None:
    def served(context: EngineContext) -> Engine:
        engine = LocalEngine(context.model)
        engine.take_weights = lambda path, version: None  # type: ignore[attr-defined]
        return engine

    with pytest.raises(UserError, match="kernels of the engine LocalEngine are its own"):
        play(tmp_path / "served", engine=served)
