"""Runs that replay their engine's routing (R3): what it mends, the same bytes when killed, and where it is refused."""

from pathlib import Path

import pytest
import torch
from dying_run import Killed
from test_overlap import metric, outcome, run

from saccade.engines.engine import Engine, EngineContext
from saccade.engines.local import LocalEngine, local_engine
from saccade.errors import UserError
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.runs.records import read_records

pytestmark = pytest.mark.usefixtures("warm_engines")

REPLAY = ("rl.router_replay=R3",)
ON_POLICY = ("rl.staleness=0", "rl.steps=1", "rl.tasks_per_step=8")
IN_FLIGHT = ("rl.overlap=true", "rl.in_flight=4")


class Rounding(LocalEngine):
    """Samples with routers that are a hundredth from the learner's, as many layers in half precision move them."""

    def update_weights(self, source, version):  # type: ignore[no-untyped-def]
        super().update_weights(source, version)
        move(self.model)


def move(model) -> None:  # type: ignore[no-untyped-def]
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for layer in model.language_model.layers:
            layer.mlp.gate.weight.mul_(1 + 1e-2 * torch.randn(layer.mlp.gate.weight.shape, generator=generator))


def rounding(context: EngineContext) -> Engine:
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    texts = ["Which colour has the square? I look."] * 9
    own = tiny_model(texts, context.model.media, family="qwen3_vl_moe", size=size, vocab_size=320, seed=4)
    engine = Rounding(own, policy_version=context.policy_version)
    engine.update_weights(context.model, context.policy_version)
    return engine


def test_replay_mends_what_a_router_rounded_otherwise_does_to_log_probabilities(tmp_path: Path) -> None:
    run(tmp_path / "without", *ON_POLICY, engine=rounding, family="qwen3_vl_moe")
    run(tmp_path / "with", *ON_POLICY, *REPLAY, engine=rounding, family="qwen3_vl_moe")
    [without], [replayed] = (metric(tmp_path / name, "mismatch_kl") for name in ("without", "with"))
    [changed] = metric(tmp_path / "with", "router/replay_changed")
    assert changed is not None
    assert 0 < changed < 0.05
    assert metric(tmp_path / "without", "router/replay_changed") == [None]
    assert without is not None
    assert replayed is not None
    # 54 times less where this was written.
    assert replayed < without / 3


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("replayed") / "run"
    run(out, *IN_FLIGHT, *REPLAY, family="qwen3_vl_moe")
    return out


def test_a_run_with_batches_ahead_that_is_killed_and_resumed_has_the_same_bytes(
    left_alone: Path, tmp_path: Path
) -> None:
    died = tmp_path / "died"
    with pytest.raises(Killed):
        run(died, *IN_FLIGHT, *REPLAY, die_at=4, family="qwen3_vl_moe")
    run(died, *IN_FLIGHT, *REPLAY, resume=True, family="qwen3_vl_moe")
    assert outcome(died) == outcome(left_alone)
    assert all(value is not None for value in metric(left_alone, "router/replay_changed"))


def test_batches_that_wait_keep_their_experts_and_records_do_not(left_alone: Path) -> None:
    waiting = [path for path in left_alone.glob("checkpoints/*/trainer/*.json") if "routed_experts" in path.read_text()]
    assert len(waiting) == 1
    records = list(left_alone.glob("trajectories/rl/*.jsonl"))
    assert records
    for path in records:
        assert "routed_experts" not in path.read_text(encoding="utf-8")
        assert all(one.trajectory.routed_experts == () for one in read_records(path))


def test_replay_without_a_mixture_or_without_an_engine_that_tells_is_refused_before_any_work(tmp_path: Path) -> None:
    class Silent(LocalEngine):
        records_experts = False

    def silent(context: EngineContext) -> Engine:
        return Silent(context.model)

    with pytest.raises(UserError, match=r"stage rl has router_replay=R3, which replays .* qwen3_vl has none; leave it"):
        run(tmp_path / "dense", *REPLAY, engine=local_engine)
    with pytest.raises(UserError, match="its engine Silent does not tell which experts its tokens went to"):
        run(tmp_path / "silent", *REPLAY, engine=silent, family="qwen3_vl_moe")
    assert not (tmp_path / "dense").exists()
    assert not (tmp_path / "silent").exists()
