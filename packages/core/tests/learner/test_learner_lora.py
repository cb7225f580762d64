"""Adapters: what is trained, the reference policy without a copy, files that PEFT reads, merging."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from learner_samples import SMALL, batch, imitate, loaded_model, same_bytes, sequence, small_model, weights
from peft import PeftModel
from transformers import AutoModelForImageTextToText

from saccade.cli import run_command
from saccade.engines.engine import Sampling, SequenceSlot
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.miniature.tiny_model import TinyFamily, TinySize
from saccade.models.loading import load_model, write_merged
from saccade.models.lora import LoraSettings, adapter_parameters, merge_adapter, reference_policy
from saccade.models.vlm import VisionLanguageModel
from saccade.native import accelerated

FOUR = OptimizerSettings(lora=LoraSettings(rank=4))


def trained(directory: Path, settings: OptimizerSettings = FOUR, *, steps: int = 3) -> VisionLanguageModel:
    """The small model of the directory with an adapter that has learned something."""
    model = loaded_model(directory / "base")
    imitate(Learner(model, settings), steps=steps)
    return model


def logprobs(model: VisionLanguageModel) -> torch.Tensor:
    learner = Learner(model, FOUR if model.adapter else OptimizerSettings())
    return torch.tensor([value for values in learner.logprobs(batch(model), temperature=1.0) for value in values])


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl", "qwen3_5", "internvl"])
def test_only_the_adapter_of_the_language_model_learns(family: TinyFamily) -> None:
    model = small_model(family)
    before = weights(model)
    learner = Learner(model, FOUR)
    losses = imitate(learner, steps=8)
    assert losses[-1] < 0.8 * losses[0]
    names = adapter_parameters(model)
    # A and B for each of seven linear layers, in two layers; one that is recurrent has three in the place of four.
    assert len(names) == len(learner.parameters) == 2 * (7 * 2 - len(model.recurrent_layers))
    assert all("language_model" in name for name in names)
    after = {name.replace(".base_layer.", "."): weight for name, weight in weights(model).items()}
    assert same_bytes(before, {name: after[name] for name in before})


def test_the_vision_tower_can_have_adapters_too() -> None:
    model = small_model()
    settings = OptimizerSettings(
        lora=LoraSettings(
            rank=2,
            targets=r".*(language_model|visual)\.(layers|blocks)\..*"
            r"(_proj|qkv|fc\d)",
        )
    )
    imitate(Learner(model, settings), steps=1)
    moved = [name for name, weight in adapter_parameters(model).items() if "visual" in name and weight.abs().max() > 0]
    assert any("lora_B" in name for name in moved)


@pytest.mark.parametrize("targets", [r".*no_such_layer", r".*language_model\.layers\.0"])
def test_targets_that_are_no_linear_layers_are_refused(targets: str) -> None:
    with pytest.raises(UserError, match=r"lora\.targets=.*; a linear layer of this model is model\.language_model"):
        Learner(small_model(), OptimizerSettings(lora=LoraSettings(targets=targets)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (LoraSettings(rank=0), "rank=0 must be 1 or more"),
        (LoraSettings(alpha=float("nan")), "alpha=nan must be a finite number"),
        (LoraSettings(targets="("), "is no regular expression"),
    ],
)
def test_bad_settings_of_an_adapter_are_refused(settings: LoraSettings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        settings.check()


def test_the_reference_of_a_new_adapter_is_the_base_to_the_bit(tmp_path: Path) -> None:
    base = logprobs(loaded_model(tmp_path / "base"))
    model = trained(tmp_path)
    learned = weights(model)
    learner = Learner(model, FOUR)
    assert model.adapter is not None
    model.adapter.start = {name: torch.zeros_like(start) for name, start in model.adapter.start.items()}
    with reference_policy(model):
        values = learner.logprobs(batch(model), temperature=1.0)
    assert torch.equal(torch.tensor([value for one in values for value in one]), base)
    assert same_bytes(weights(model), learned)


def test_the_reference_of_a_later_stage_is_what_the_stage_began_with(tmp_path: Path) -> None:
    model = trained(tmp_path)
    begun = logprobs(model)
    second = Learner(model, FOUR)
    imitate(second, steps=2)
    with reference_policy(model):
        values = second.logprobs(batch(model), temperature=1.0)
    assert torch.equal(torch.tensor([value for one in values for value in one]), begun)
    assert not torch.equal(logprobs(model), begun)


def spoken(engine: LocalEngine) -> TrainingSequence:
    """What the engine says after the prompt of a sequence, in a batch of eight."""
    one = sequence(engine.model, 0)
    start = one.prompt_tokens

    async def said(slot: SequenceSlot, seed: int) -> TrainingSequence:
        got = await slot.sample(one.ids[:start], one.images[:1], Sampling(seed=seed, max_tokens=8))
        slot.close()
        return replace(
            one,
            ids=(*one.ids[:start], *got.ids),
            is_action=(False,) * start + (True,) * len(got.ids),
            images=one.images[:1],
            sampled_logprobs=got.logprobs,
            advantages=(0.0,) * len(got.ids),
        )

    async def all_of_them() -> TrainingSequence:
        async with engine.sequences([str(index) for index in range(8)]) as slots:
            return (await asyncio.gather(*map(said, slots, range(8))))[0]

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("size", [SMALL, TinySize()], ids=["modules", "kernels"])
def test_an_engine_that_was_there_before_samples_from_the_adapted_policy_after_each_update(
    tmp_path: Path, size: TinySize
) -> None:
    """And the weights below the adapter are what they were, to the bit."""
    model = small_model("internvl", size=size)
    base = weights(model)
    engine, learner = LocalEngine(model), Learner(model, FOUR)
    for version in range(1, 11):
        imitate(learner, steps=1)
        engine.update_weights(model, version)
        said = spoken(engine)
        learned = learner.logprobs([said], temperature=1.0)[0]
        assert learned == pytest.approx(said.sampled_logprobs, abs=2e-5)
    with reference_policy(model):
        assert learner.logprobs([said], temperature=1.0)[0] != pytest.approx(learned, abs=1e-2)
    now = {name.replace(".base_layer.", "."): weight for name, weight in weights(model).items()}
    assert same_bytes(base, {name: now[name] for name in base})


def test_an_adapter_its_checkpoint_and_the_merged_checkpoint_say_the_same_to_the_bit(tmp_path: Path) -> None:
    small_model("internvl", size=TinySize()).save(tmp_path / "base")
    model = trained(tmp_path)
    if accelerated(model.hf) is None:
        pytest.skip("no native kernels here")
    model.save(tmp_path / "adapter")
    write_merged(tmp_path / "adapter", tmp_path / "merged")
    saved, merged = (load_model(tmp_path / name, model.media) for name in ("adapter", "merged"))
    assert saved.adapter is not None
    assert merged.adapter is None
    assert spoken(LocalEngine(saved)) == spoken(LocalEngine(model)) == spoken(LocalEngine(merged))
    assert spoken(LocalEngine(loaded_model(tmp_path / "base"))) != spoken(LocalEngine(model))


def test_who_goes_on_from_a_saved_adapter_learns_and_says_the_same_to_the_bit(tmp_path: Path) -> None:
    small_model("internvl", size=TinySize()).save(tmp_path / "base")
    model = loaded_model(tmp_path / "base")
    learner = Learner(model, FOUR)
    imitate(learner, steps=2)
    model.save(tmp_path / "adapter")
    (tmp_path / "state").mkdir()
    learner.save_state(tmp_path / "state")
    follower = Learner(load_model(tmp_path / "adapter", model.media), FOUR)
    follower.restore_state(tmp_path / "state")
    for one in (learner, follower):
        imitate(one, steps=2)
    assert same_bytes(weights(model), weights(follower.model))
    assert spoken(LocalEngine(model)) == spoken(LocalEngine(follower.model))


def test_a_saved_adapter_loads_to_the_same_bytes(tmp_path: Path) -> None:
    model = trained(tmp_path)
    model.save(tmp_path / "adapter")
    loaded = load_model(tmp_path / "adapter", model.media)
    assert same_bytes(weights(model), weights(loaded))
    assert loaded.adapter is not None
    assert loaded.adapter.base == tmp_path / "base"


def test_an_adapter_and_its_base_can_be_moved_together(tmp_path: Path) -> None:
    model = trained(tmp_path / "here")
    model.save(tmp_path / "here" / "adapter")
    (tmp_path / "here").rename(tmp_path / "there")
    assert same_bytes(weights(model), weights(load_model(tmp_path / "there" / "adapter", model.media)))


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # PEFT asks transformers for it.
def test_peft_reads_our_adapter_and_computes_the_same(tmp_path: Path) -> None:
    model = trained(tmp_path)
    model.save(tmp_path / "adapter")
    plain = AutoModelForImageTextToText.from_pretrained(tmp_path / "base", dtype="float32")
    theirs = PeftModel.from_pretrained(plain, str(tmp_path / "adapter")).eval()
    ids = torch.tensor([model.chat.encode("Which plate is red?")])
    with torch.no_grad():
        expected = theirs(input_ids=ids).logits
        assert torch.equal(model.hf(input_ids=ids).logits, expected)


def test_we_read_an_adapter_that_names_its_targets_as_peft_lists_them(tmp_path: Path) -> None:
    model = trained(tmp_path, OptimizerSettings(lora=LoraSettings(rank=4, targets=r".*language_model.*\.[qv]_proj")))
    model.save(tmp_path / "adapter")
    config = tmp_path / "adapter" / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"target_modules": ["v_proj", "q_proj"]}))
    # Others save no tokenizer beside an adapter.
    for name in ("preprocessor_config.json", "tokenizer_config.json", "config.json"):
        (tmp_path / "adapter" / name).unlink()
    assert same_bytes(weights(model), weights(load_model(tmp_path / "adapter", model.media)))


def test_a_merged_adapter_is_a_plain_checkpoint_of_the_same_policy(tmp_path: Path) -> None:
    model = trained(tmp_path)
    before = logprobs(model)
    merge_adapter(model)
    model.save(tmp_path / "merged")
    merged = load_model(tmp_path / "merged", model.media)
    assert weights(merged).keys() == weights(loaded_model(tmp_path / "base")).keys()
    torch.testing.assert_close(logprobs(merged), before, atol=1e-5, rtol=0)


def test_the_command_merges_a_checkpoint_of_an_adapter_into_one_without(tmp_path: Path) -> None:
    model = trained(tmp_path)
    model.save(tmp_path / "adapter")
    before = logprobs(model)
    for dtype, tolerance in (("float32", 1e-5), ("bfloat16", 0.2)):
        out = tmp_path / dtype
        assert run_command(["merge", str(tmp_path / "adapter"), str(out), "--dtype", dtype]) == 0
        merged = loaded_model(out, dtype=dtype)
        torch.testing.assert_close(logprobs(merged), before, atol=tolerance, rtol=0)
    assert run_command(["merge", str(tmp_path / "base"), str(tmp_path / "new")]) == 2
    assert run_command(["merge", str(tmp_path / "adapter"), str(tmp_path / "base")]) == 2
    assert not (tmp_path / "new").exists()


def test_a_merged_checkpoint_is_in_the_precision_of_its_base(tmp_path: Path) -> None:
    trained(tmp_path).save(tmp_path / "adapter")
    config = tmp_path / "base" / "config.json"
    for said, kept in (("float32", "float32"), ("bfloat16", "bfloat16"), ("float16", "float16"), ("int8", "float32")):
        config.write_text(json.dumps(json.loads(config.read_text()) | {"dtype": said}))
        write_merged(tmp_path / "adapter", tmp_path / said)
        assert json.loads((tmp_path / said / "config.json").read_text())["dtype"] == kept


def test_a_stage_that_trains_all_weights_goes_on_from_the_adapted_policy(tmp_path: Path) -> None:
    model = trained(tmp_path)
    before = logprobs(model)
    learner = Learner(model, OptimizerSettings())
    assert model.adapter is None
    torch.testing.assert_close(logprobs(model), before, atol=1e-5, rtol=0)
    assert len(learner.parameters) == len(list(loaded_model(tmp_path / "base").hf.parameters()))


def test_an_adapter_of_another_rank_begins_anew_on_the_adapted_policy(tmp_path: Path) -> None:
    model = trained(tmp_path)
    before = logprobs(model)
    learner = Learner(model, OptimizerSettings(lora=LoraSettings(rank=2)))
    assert {weight.shape[0] for name, weight in adapter_parameters(model).items() if "lora_A" in name} == {2}
    values = learner.logprobs(batch(model), temperature=1.0)
    torch.testing.assert_close(torch.tensor([v for one in values for v in one]), before, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"use_dora": True}, "with use_dora; Saccade loads plain LoRA only"),
        ({"peft_type": "IA3"}, "with peft_type=IA3"),
        ({"base_model_name_or_path": None}, "names no base_model_name_or_path"),
        ({"base_model_name_or_path": "../gone"}, "gone, which is no checkpoint"),
        ({"r": 8}, "is an adapter of another model"),
        ({"r": "many"}, "holds no adapter that can be loaded"),
        ({"target_modules": r".*language_model.*\.q_proj"}, "is an adapter of another model"),
    ],
)
def test_a_damaged_or_foreign_adapter_is_one_message(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    model = trained(tmp_path, steps=1)
    model.save(tmp_path / "adapter")
    config = tmp_path / "adapter" / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | changes))
    with pytest.raises(UserError, match=message):
        load_model(tmp_path / "adapter", model.media)


def test_adapters_in_half_precision_models_are_fp32(tmp_path: Path) -> None:
    model = loaded_model(tmp_path / "base", dtype="bfloat16")
    learner = Learner(model, FOUR)
    losses = imitate(learner, steps=8)
    assert losses[-1] < 0.8 * losses[0]
    assert {weight.dtype for weight in learner.parameters} == {torch.float32}
    assert model.dtype == torch.bfloat16
    # Two moments of 4 bytes for each weight of the adapter, and a counter; no masters beside them.
    count = sum(weight.numel() for weight in learner.parameters)
    assert learner.optimizer.state_bytes() == 8 * count + 4 * len(learner.parameters)
