"""Checkpoints of every option of the learner: a run that goes on from one ends with the same bytes."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from saccade.algorithms.algorithm import Loss, PolicyTokens
from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import UserError
from saccade.learner.forwards import ValueHead
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings, load_model
from saccade.models.lora import LoraSettings, reference_policy
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.checkpoints import (
    checkpoints,
    load_checkpoint,
    load_extras,
    prune_checkpoints,
    restore_learner,
    save_checkpoint,
)
from saccade.runs.position import Position
from tiny_sequences import sequences

LORA = LoraSettings(rank=4)


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def media() -> MediaStore:
    return MediaStore()


def at(step: int, stage: str = "rl") -> Position:
    return Position(stage=stage, step=step)


def fresh(media: MediaStore, dtype: str = "float32") -> VisionLanguageModel:
    size = TinySize(hidden=32, mlp=160, vision_hidden=32, vision_mlp=48)
    model = tiny_model(["Which colour has the square?"] * 9, media, size=size, vocab_size=300, seed=1)
    for weight in model.hf.parameters():
        # Weights alone: positions are worked out in fp32, as in a model that was loaded in half precision.
        weight.data = weight.data.to(getattr(torch, dtype))
    return model


def learner_of(model: VisionLanguageModel, settings: OptimizerSettings, *, has_critic: bool = False) -> Learner:
    if not has_critic:
        return Learner(model, settings)
    return Learner(model, settings, value_head=ValueHead(model.hidden_size), critic_learning_rate=1e-2)


def both_losses(tokens: PolicyTokens) -> Loss:
    loss = negative_log_likelihood(tokens)
    if tokens.values is None:
        return loss
    return replace(loss, value=loss.value + (tokens.weights * (tokens.values - 1.0) ** 2).sum())


def step(learner: Learner) -> None:
    learner.update(sequences(learner.model, 3), both_losses, temperature=1.0, learning_rate=1e-2)


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


OPTIONS: dict[str, OptimizerSettings] = {
    "plain": OptimizerSettings(),
    "offloaded": OptimizerSettings(offload_optimizer=True),
    "eight_bit": OptimizerSettings(eight_bit_optimizer=True),
    "muon": OptimizerSettings(muon=True),
    "lora": OptimizerSettings(lora=LORA),
    "all": OptimizerSettings(
        lora=LORA,
        offload_optimizer=True,
        eight_bit_optimizer=True,
        activation_checkpointing=True,
        micro_batch_tokens=100,
    ),
    "frozen": OptimizerSettings(frozen_vision=True, activation_checkpointing=True),
    "chosen": OptimizerSettings(trained="merger"),
    "chosen_beside_lora": OptimizerSettings(trained="merger", lora=LORA),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_that_goes_on_from_a_checkpoint_writes_the_same_bytes(
    tmp_path: Path, media: MediaStore, name: str, dtype: str
) -> None:
    settings, has_critic = OPTIONS[name], name in ("all", "offloaded")
    model = fresh(media, dtype)
    learner = learner_of(model, settings, has_critic=has_critic)
    step(learner)
    save_checkpoint(tmp_path / "whole", at(1), model, learner)
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    step(learner)
    whole = save_checkpoint(tmp_path / "whole", at(2), model, learner)

    [saved] = checkpoints(tmp_path / "killed")
    resumed = load_checkpoint(saved, media, LoadSettings(device="cpu", dtype=dtype))  # type: ignore[arg-type]
    follower = learner_of(resumed, settings, has_critic=has_critic)
    restore_learner(saved, follower)
    step(follower)
    again = save_checkpoint(tmp_path / "killed", at(2), resumed, follower)
    ours, theirs = files(whole.path), files(again.path)
    assert ours.keys() == theirs.keys()
    assert [file for file in ours if ours[file] != theirs[file]] == []
    assert ("trainer/value_head.pt" in ours) == has_critic
    assert ("adapter_model.safetensors" in ours) == (settings.lora is not None)


def test_a_finished_stage_keeps_its_policy_and_no_state_of_the_optimiser(tmp_path: Path, media: MediaStore) -> None:
    model = fresh(media)
    learner = learner_of(model, OPTIONS["plain"])
    step(learner)
    for number in (1, 2, 3):
        save_checkpoint(tmp_path, Position(stage="sft", step=number), model, learner)
    # Nothing of another stage is there yet: the run goes on from this one.
    prune_checkpoints(tmp_path, at(1), kept=2)
    assert (tmp_path / "sft-000003" / "trainer" / "optimizer.pt").is_file()
    for number in (1, 2, 3):
        save_checkpoint(tmp_path, at(number), model, learner)
    prune_checkpoints(tmp_path, at(3), kept=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rl-000003", "sft-000003"]
    optimizers = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("optimizer.pt")]
    assert optimizers == ["rl-000003/trainer/optimizer.pt"]
    [policy] = [one for one in checkpoints(tmp_path) if one.position.stage == "sft"]
    assert load_checkpoint(policy, media, LoadSettings(device="cpu")).layer_count == model.layer_count


def test_the_base_of_adapters_is_written_once_and_no_checkpoint_repeats_it(tmp_path: Path, media: MediaStore) -> None:
    model = fresh(media)
    learner = learner_of(model, OPTIONS["lora"])
    for number in (1, 2):
        step(learner)
        save_checkpoint(tmp_path, at(number), model, learner)
    prune_checkpoints(tmp_path, at(2), kept=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base-rl", "rl-000001", "rl-000002"]
    assert not (tmp_path / "rl-000002" / "model.safetensors").exists()
    base = load_model(tmp_path / "base-rl", media, LoadSettings(device="cpu"))
    untrained = fresh(media).hf.state_dict()
    assert all(torch.equal(weight, untrained[name]) for name, weight in base.hf.state_dict().items())


def test_the_base_that_a_model_was_loaded_from_is_not_written_again(tmp_path: Path, media: MediaStore) -> None:
    fresh(media).save(tmp_path / "given")
    model = load_model(tmp_path / "given", media, LoadSettings(device="cpu"))
    learner = learner_of(model, OPTIONS["lora"])
    step(learner)
    saved = save_checkpoint(tmp_path / "checkpoints", at(1), model, learner)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["rl-000001"]
    config = json.loads((saved.path / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(tmp_path / "given")


def test_weights_that_were_trained_since_they_were_loaded_are_no_base(tmp_path: Path, media: MediaStore) -> None:
    fresh(media).save(tmp_path / "given")
    model = load_model(tmp_path / "given", media, LoadSettings(device="cpu"))
    step(learner_of(model, OPTIONS["plain"]))
    learner = learner_of(model, OPTIONS["lora"])
    saved = save_checkpoint(tmp_path / "checkpoints", at(1), model, learner)
    assert (tmp_path / "checkpoints" / "base-rl").is_dir()
    loaded = load_checkpoint(saved, media, LoadSettings(device="cpu"))
    assert all(torch.equal(w, model.hf.state_dict()[name]) for name, w in loaded.hf.state_dict().items())


def test_the_reference_of_a_second_stage_survives_a_resume(tmp_path: Path, media: MediaStore) -> None:
    model = fresh(media)
    step(learner_of(model, OPTIONS["lora"]))
    second = learner_of(model, OPTIONS["lora"])
    step(second)
    saved = save_checkpoint(tmp_path, at(1, "second"), model, second)
    resumed = load_checkpoint(saved, media, LoadSettings(device="cpu"))
    follower = learner_of(resumed, OPTIONS["lora"])
    restore_learner(saved, follower)
    with reference_policy(model), reference_policy(resumed):
        ours, theirs = (one.logprobs(sequences(one.model, 3), temperature=1.0) for one in (second, follower))
    assert ours == theirs
    assert ours != second.logprobs(sequences(model, 3), temperature=1.0)


def test_extras_come_back_as_they_were_given(tmp_path: Path, media: MediaStore) -> None:
    model = fresh(media)
    extras = {"questions": {"seen": [1, 2], "rate": 0.1 + 0.2}, "text": "\u00e9", "none": None}
    saved = save_checkpoint(tmp_path, at(1), model, None, extras=extras)
    assert load_extras(saved) == extras
    assert load_extras(save_checkpoint(tmp_path, at(2), model, None)) == {}
    (saved.path / "trainer" / "extras.json").write_text("[1")
    with pytest.raises(UserError, match=r"extras\.json cannot be restored"):
        load_extras(saved)


def test_a_checkpoint_of_other_options_is_refused(tmp_path: Path, media: MediaStore) -> None:
    saved = {}
    for number, name in enumerate(("plain", "offloaded", "lora"), start=1):
        model = fresh(media)
        saved[name] = save_checkpoint(tmp_path, at(number, name), model, learner_of(model, OPTIONS[name]))
    for name, other in (("plain", "offloaded"), ("offloaded", "plain"), ("plain", "lora")):
        with pytest.raises(UserError, match=r"optimizer\.pt cannot be restored: .*delete this checkpoint"):
            restore_learner(saved[name], learner_of(fresh(media), OPTIONS[other]))


def test_a_critic_that_was_not_saved_or_is_damaged_names_its_file(tmp_path: Path, media: MediaStore) -> None:
    model = fresh(media)
    without = save_checkpoint(tmp_path, at(1), model, learner_of(model, OPTIONS["plain"]))
    with pytest.raises(UserError, match=r"optimizer\.pt cannot be restored"):
        restore_learner(without, learner_of(model, OPTIONS["plain"], has_critic=True))
    with_critic = save_checkpoint(tmp_path, at(2), model, learner_of(model, OPTIONS["plain"], has_critic=True))
    (with_critic.path / "trainer" / "value_head.pt").write_bytes(b"")
    with pytest.raises(UserError, match=r"value_head\.pt cannot be restored"):
        restore_learner(with_critic, learner_of(model, OPTIONS["plain"], has_critic=True))
