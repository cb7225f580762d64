"""Engine and learner on the same tokens: real multi-turn trajectories with images, and the probe that watches them."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from saccade.engines.local import LocalEngine
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, UserError
from saccade.learner.learner import Learner
from saccade.learner.logprobs import action_tokens
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence, training_sequence
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings, load_model
from saccade.models.memory import use_deterministic_kernels
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.batch import rollout_batch
from saccade.rollout.episodes import RolloutRequest, RolloutSettings
from saccade.tasks.procedural import generate
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.loops import check_parity
from saccade.train.parity import check_gap
from saccade.train.state import repeatable
from saccade.types import ToolCall, Trajectory
from text_models import with_text_model

TEMPERATURE = 0.8
TURNS = 4


def babbling_protocol(unit: int) -> ChatProtocol:
    """Whatever the model says asks for a crop whose place depends on the words, so that even babble sees images.

    ``unit`` is a pixel of the view, about 64 on a side, in the model's coordinates.
    """

    def parse(text: str) -> ParsedTurn:
        left, top = unit * 8 * (len(text) % 3), unit * 8 * (sum(map(ord, text)) % 2)
        call = ToolCall(name="crop", arguments={"bbox_2d": [left, top, left + unit * 24, top + unit * 24]})
        return ParsedTurn(thought="", action=call, is_well_formed=True)

    return replace(tagged_protocol(style="full"), parse=parse, stop=("e", "a", "t"))


@pytest.fixture(scope="module", params=["qwen3_vl", "qwen2_5_vl", "internvl", "internvl of llama"])
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    family, _, text = request.param.partition(" of ")
    size = TinySize(heads=2, kv_heads=1, deepstack=family == "qwen3_vl", max_tiles=3)
    made = tiny_model(["Which texture is on the red plate?"] * 9, MediaStore(), family=family, size=size)
    return with_text_model(made, text) if text else made


@pytest.fixture(scope="module")
def played(model: VisionLanguageModel) -> list[Trajectory]:
    """Six trajectories, two for each task, of several turns with a crop after each."""
    protocol = babbling_protocol(15 if model.view.convention == "relative_1000" else 1)
    requests = [
        RolloutRequest(
            task=generate(family, split="train", index=0, seed=3, media=model.media).task,
            stream="main",
            sample=sample,
            seed=10 * order + sample,
        )
        for order, family in enumerate(("visual_search", "chart_bars", "video_event"))
        for sample in range(2)
    ]
    return rollout_batch(
        requests,
        engine=LocalEngine(model, max_rows=4),
        chat=model.chat,
        make_env=lambda: VisualReasoningEnv(
            protocol=protocol,
            tools=(tool_from(crop),),
            media=model.media,
            view=model.view,
            max_turns=TURNS,
            shows_pixels=False,
        ),
        settings=RolloutSettings(max_turn_tokens=40, max_tokens=20_000, temperature=TEMPERATURE, top_k=50),
    )


def sequences(played: list[Trajectory]) -> list[TrainingSequence]:
    return [training_sequence(trajectory, [0.5] * len(trajectory.turns)) for trajectory in played]


def test_log_probabilities_of_engine_and_learner_agree(model: VisionLanguageModel, played: list[Trajectory]) -> None:
    assert sum(len(trajectory.turns) > 1 for trajectory in played) >= 4
    assert sum(turn.result is not None and turn.result.is_ok for t in played for turn in t.turns) >= 8
    with torch.no_grad():
        tokens = action_tokens(model, sequences(played), temperature=TEMPERATURE)
    torch.testing.assert_close(tokens.logprobs, tokens.sampled_logprobs, atol=1e-4, rtol=0)


def test_sampled_ids_reach_the_learner_untouched(model: VisionLanguageModel, played: list[Trajectory]) -> None:
    for trajectory, sequence in zip(played, sequences(played)):
        actions = [segment for segment in trajectory.segments if segment.role == "action"]
        chosen = [token for token, is_action in zip(sequence.ids, sequence.is_action) if is_action]
        assert chosen == [token for segment in actions for token in segment.ids]
        assert sequence.sampled_logprobs == tuple(value for segment in actions for value in segment.logprobs)
        assert [model.chat.decode(segment.ids) for segment in actions] == [turn.text for turn in trajectory.turns]
        assert sequence.advantages == (0.5,) * len(chosen)


def probe(model: VisionLanguageModel, sampled: TrainingSequence, *, temperature: float = TEMPERATURE) -> float:
    learner = Learner(model, OptimizerSettings())
    return check_parity(learner, sampled, temperature=temperature, precision=model.dtype)


def test_the_probe_accepts_what_the_engine_sampled(model: VisionLanguageModel, played: list[Trajectory]) -> None:
    gaps = [probe(model, sequence) for sequence in sequences(played)]
    assert max(gaps) < 1e-5


def test_the_probe_finds_another_temperature(model: VisionLanguageModel, played: list[Trajectory]) -> None:
    with pytest.raises(
        MachineError, match=r"disagree by .* nats a token \(at most 0.001 is accepted for torch.float32"
    ):
        probe(model, sequences(played)[0], temperature=1.0)


def test_the_probe_finds_an_image_taken_for_another(model: VisionLanguageModel, played: list[Trajectory]) -> None:
    sequence = sequences(played)[0]
    assert len(set(sequence.images)) > 1
    with pytest.raises(MachineError, match="disagree"):
        probe(model, replace(sequence, images=sequence.images[::-1]))


def test_the_probe_finds_log_probabilities_that_are_not_finite(
    model: VisionLanguageModel, played: list[Trajectory]
) -> None:
    sequence = sequences(played)[0]
    broken = replace(sequence, sampled_logprobs=(float("nan"),) * sequence.action_count)
    with pytest.raises(MachineError, match="disagree by nan"):
        probe(model, broken)


def test_products_of_rounded_factors_may_differ_as_weights_of_that_precision_may() -> None:
    with pytest.raises(MachineError, match=r"0\.001 is accepted"):
        check_gap(0.02, torch.float32)
    torch.set_float32_matmul_precision("medium")
    try:
        check_gap(0.02, torch.float32)
        with pytest.raises(MachineError, match=r"0\.1 is accepted"):
            check_gap(0.2, torch.float32)
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_promise_of_the_same_bits_is_kept_to_the_bit() -> None:
    check_gap(0.0, torch.float32, to_the_bit=True)
    with pytest.raises(MachineError, match=r"batch_invariant=true promises the same bits"):
        check_gap(1e-9, torch.float32, to_the_bit=True)


def test_products_that_differ_from_run_to_run_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":0:0")
    with pytest.raises(UserError, match="CUBLAS_WORKSPACE_CONFIG=:0:0"):
        use_deterministic_kernels(True, on_gpu=True)
    assert not torch.are_deterministic_algorithms_enabled()


def test_the_precision_of_products_is_the_runs_own_until_it_ends(tmp_path: Path) -> None:
    with repeatable(threads=1, load=LoadSettings(device="cpu")):
        tiny_model(["Which?"] * 9, MediaStore(), size=TinySize(layers=1)).save(tmp_path / "model")
        load_model(tmp_path / "model", MediaStore(), LoadSettings(matmul_precision="medium"))
        load_model(tmp_path / "model", MediaStore())
        assert torch.get_float32_matmul_precision() == "medium"
    assert torch.get_float32_matmul_precision() == "highest"
