"""Weights that are trained by name: the projector alone, or whole beside an adapter; in files as PEFT has them."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from learner_samples import batch, imitate, picture, same_bytes, sequence, small_model, weights
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForImageTextToText

from saccade.algorithms.losses import negative_log_likelihood
from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.learner.trained_weights import check_trained, trained_in_words
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily
from saccade.models.loading import LoadSettings, load_model, write_merged
from saccade.models.lora import LoraSettings, reference_policy
from saccade.models.shape import ChosenShape, read_shape
from saccade.models.vlm import VisionLanguageModel

LORA = LoraSettings(rank=2)
PROJECTOR = OptimizerSettings(trained="multi_modal_projector")
BOTH = replace(PROJECTOR, lora=LORA)
BEHIND_TOWER: dict[TinyFamily, str] = {
    "internvl": "multi_modal_projector",
    "qwen3_vl": r"visual\.(merger|deepstack_merger_list)",
    "qwen2_5_vl": r"visual\.merger",
}


def internvl(directory: Path | None = None) -> VisionLanguageModel:
    if directory is None:
        return small_model("internvl")
    if not directory.exists():
        small_model("internvl").save(directory)
    return load_model(directory, MediaStore(), LoadSettings(device="cpu"))


def changed(before: dict[str, torch.Tensor], model: VisionLanguageModel) -> set[str]:
    """Names of the model's own weights that are not what they were."""
    after = {name.replace(".base_layer.", "."): weight for name, weight in weights(model).items()}
    return {name for name, value in before.items() if not torch.equal(after[name], value)}


def projector(model: VisionLanguageModel) -> dict[str, torch.Tensor]:
    return {name: weight for name, weight in weights(model).items() if "multi_modal_projector" in name}


def of_text(model: VisionLanguageModel) -> TrainingSequence:
    """A sequence without a picture."""
    one, prompt, answer = sequence(model, 0), model.chat.encode("Which plate?"), model.chat.encode("red")
    return replace(
        one, ids=(*prompt, *answer), is_action=(False,) * len(prompt) + (True,) * len(answer), images=(),
        prompt_tokens=len(prompt), prompt_images=0, advantages=(1.0,) * len(answer),
        sampled_logprobs=(-1.0,) * len(answer),
    )  # fmt: skip


@pytest.mark.parametrize("family", [*BEHIND_TOWER])
@pytest.mark.parametrize("lora", [None, LORA])
def test_only_what_the_expression_finds_and_the_adapter_learn(family: TinyFamily, lora: LoraSettings | None) -> None:
    model = small_model(family)
    before = weights(model)
    learner = Learner(model, OptimizerSettings(trained=BEHIND_TOWER[family], lora=lora))
    losses = imitate(learner, steps=6)
    assert losses[-1] < losses[0]
    moved = changed(before, model)
    assert moved
    assert all("merger" in name or "projector" in name for name in moved)


@pytest.mark.parametrize("family", [*BEHIND_TOWER])
def test_no_gradient_reaches_a_frozen_tower_or_a_frozen_language_model(family: TinyFamily) -> None:
    model = small_model(family)
    settings = OptimizerSettings(trained=BEHIND_TOWER[family], vision_checkpointing="on")
    learner = Learner(model, settings)
    tower = model.hf.model.visual.blocks if family != "internvl" else model.hf.model.vision_tower.encoder.layer
    graphs: list[bool] = []
    # Kernels take the place of Qwen2.5-VL's blocks; what follows them is the merger.
    seen = tower[-1] if family != "qwen2_5_vl" else model.hf.model.visual.merger
    seen.register_forward_hook(lambda _, inputs, __: graphs.append(inputs[0].requires_grad))
    learner.accumulate(batch(model), negative_log_likelihood, temperature=1.0)
    assert graphs
    assert not any(graphs)
    with_gradient = {name for name, weight in model.hf.named_parameters() if weight.grad is not None}
    assert with_gradient
    assert with_gradient == {name for name, weight in model.hf.named_parameters() if weight.requires_grad}


def test_a_pack_without_a_picture_has_a_gradient_of_zero_for_the_projector() -> None:
    model = internvl()
    before = weights(model)
    learner = Learner(model, replace(PROJECTOR, weight_decay=0.0))
    metrics = learner.update([of_text(model)], negative_log_likelihood, learning_rate=1e-2)
    assert (metrics["gradient_norm"], metrics["skipped"]) == (0.0, 0.0)
    assert changed(before, model) == set()


def test_what_is_trained_is_said_in_words() -> None:
    model = internvl()
    Learner(model, PROJECTOR)
    assert trained_in_words(model, PROJECTOR) == (
        "trained: 6 of 54 weights (5,440 of 49,264 numbers): model.multi_modal_projector"
    )
    Learner(model, BOTH)
    assert trained_in_words(model, BOTH).startswith("trained: an adapter of 2,048 numbers, and whole 6 of 54 weights")
    tied = OptimizerSettings(trained="lm_head")
    Learner(small_model("internvl"), tied)
    assert trained_in_words(small_model("internvl"), tied).endswith(
        "model.language_model.embed_tokens; model.language_model.embed_tokens.weight is also lm_head.weight"
    )
    assert trained_in_words(model, OptimizerSettings()) == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (OptimizerSettings(trained="projektor"), "found in no weight's name; those of this model begin with model.vis"),
        (OptimizerSettings(trained="."), "names all 54 weights; leave it out"),
        (OptimizerSettings(trained="lm_head", lora=LORA), "which is lm_head.weight too"),
        (OptimizerSettings(trained="q_proj.bias", lora=LORA), "whole, where lora.targets=.* puts an adapter too"),
    ],
)
def test_a_choice_that_this_model_has_not_is_refused(settings: OptimizerSettings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_trained(internvl(), settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (OptimizerSettings(trained="("), "is no regular expression"),
        (OptimizerSettings(trained="merger", frozen_vision=True), "leave frozen_vision=false"),
        (replace(PROJECTOR, trained_learning_rate=1e-3), "set trained and lora, and muon=false"),
        (replace(BOTH, trained_learning_rate=1e-3, muon=True), "set trained and lora, and muon=false"),
    ],
)
def test_a_choice_that_no_model_has_is_refused(settings: OptimizerSettings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        settings.check()


def test_an_adapter_with_whole_weights_is_saved_loaded_and_merged_to_the_same_bytes(tmp_path: Path) -> None:
    model = internvl(tmp_path / "base")
    imitate(Learner(model, BOTH), steps=3)
    model.save(tmp_path / "adapter")
    loaded = load_model(tmp_path / "adapter", model.media)
    assert same_bytes(weights(model), weights(loaded))
    assert loaded.adapter is not None
    assert model.adapter is not None
    assert loaded.adapter.whole == model.adapter.whole
    # The same adapter is trained on, and not merged for another.
    adapter = loaded.adapter
    Learner(loaded, BOTH)
    assert loaded.adapter is adapter
    write_merged(tmp_path / "adapter", tmp_path / "merged")
    merged = internvl(tmp_path / "merged")
    assert same_bytes(projector(merged), projector(model))
    ids = torch.tensor([model.chat.encode("Which plate?")])
    with torch.no_grad():
        torch.testing.assert_close(merged.hf(input_ids=ids).logits, model.hf(input_ids=ids).logits, atol=1e-5, rtol=0)


def test_whole_weights_beside_an_adapter_may_have_a_rate_of_their_own(tmp_path: Path) -> None:
    settings = replace(BOTH, learning_rate=1e-3, trained_learning_rate=5e-3, weight_decay=0.0)
    model = internvl(tmp_path / "base")
    learner = Learner(model, settings)
    before = weights(model)
    imitate(learner, steps=1, rate=2e-3)
    moved = {name: float((value - before[name]).abs().max()) for name, value in weights(model).items()}
    # The first step of AdamW is as long as the rate, which is twice its peak here.
    assert max(moved[name] for name in moved if ".lora_" in name) == pytest.approx(2e-3, rel=0.01)
    assert max(moved[name] for name in projector(model)) == pytest.approx(1e-2, rel=0.01)
    model.save(tmp_path / "adapter")
    (tmp_path / "state").mkdir()
    learner.save_state(tmp_path / "state")
    again = Learner(load_model(tmp_path / "adapter", model.media), settings)
    again.restore_state(tmp_path / "state")
    for one in (learner, again):
        imitate(one, steps=2)
    assert same_bytes(weights(again.model), weights(model))
    with pytest.raises(UserError, match="state"):
        Learner(load_model(tmp_path / "adapter", model.media), BOTH).restore_state(tmp_path / "state")


def test_a_base_that_is_written_late_has_the_weights_of_before(tmp_path: Path) -> None:
    model = internvl()
    before = projector(model)
    imitate(Learner(model, BOTH), steps=2)
    model.save_base(tmp_path / "base")
    assert same_bytes(projector(internvl(tmp_path / "base")), before)


def test_the_reference_policy_has_the_whole_weights_of_before() -> None:
    model = internvl()
    before = projector(model)
    imitate(Learner(model, BOTH), steps=2)
    learned = projector(model)
    with reference_policy(model):
        assert same_bytes(projector(model), before)
    assert same_bytes(projector(model), learned)


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # PEFT asks transformers for it.
def test_peft_reads_our_whole_weights_and_computes_the_same(tmp_path: Path) -> None:
    model = internvl(tmp_path / "base")
    settings = replace(BOTH, trained=r"multi_modal_projector|language_model\.norm")
    imitate(Learner(model, settings), steps=3)
    model.save(tmp_path / "adapter")
    plain = AutoModelForImageTextToText.from_pretrained(tmp_path / "base", dtype="float32")
    theirs = PeftModel.from_pretrained(plain, str(tmp_path / "adapter")).eval()
    ids = torch.tensor([model.chat.encode("Which plate is red?")])
    pixels = torch.cat([one.values for one in model.patches.get([picture(model, 1)])])
    with torch.no_grad():
        assert torch.equal(model.hf(input_ids=ids).logits, theirs(input_ids=ids).logits)
        seen = [hf.model.get_image_features(pixels, return_dict=True) for hf in (model.hf, theirs.base_model.model)]
        assert torch.equal(seen[0].pooler_output, seen[1].pooler_output)


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")
def test_an_adapter_of_peft_with_modules_to_save_is_loaded_and_trained_on(tmp_path: Path) -> None:
    internvl(tmp_path / "base")
    plain = AutoModelForImageTextToText.from_pretrained(tmp_path / "base", dtype="float32")
    config = LoraConfig(r=2, lora_alpha=32, target_modules=["q_proj"], modules_to_save=["multi_modal_projector"])
    theirs = get_peft_model(plain, config)
    with torch.no_grad():
        for name, weight in theirs.named_parameters():
            if weight.requires_grad:
                weight.add_(0.01 * len(name))
    theirs.save_pretrained(str(tmp_path / "adapter"))
    model = load_model(tmp_path / "adapter", MediaStore(), LoadSettings(device="cpu"))
    ids = torch.tensor([model.chat.encode("Which plate is red?")])
    with torch.no_grad():
        assert torch.equal(model.hf(input_ids=ids).logits, theirs(input_ids=ids).logits)
    saved = {name.partition("modules_to_save.default.")[2]: weight for name, weight in theirs.named_parameters()}
    for name, weight in projector(model).items():
        assert torch.equal(weight, saved[name.removeprefix("model.multi_modal_projector.")])
    assert model.adapter is not None
    adapter = model.adapter
    lora = replace(LORA, targets=adapter.settings.targets)
    losses = imitate(Learner(model, replace(BOTH, lora=lora)), steps=4)
    assert losses[-1] < losses[0]
    assert model.adapter is adapter


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"modules_to_save": ["lm_head"]}, "which is lm_head.weight too in this model"),
        ({"modules_to_save": ["no_such_module"]}, "is an adapter of another model"),
        ({"modules_to_save": None}, "is an adapter of another model"),
        ({"modules_to_save": "projector"}, "holds no adapter that can be loaded: modules_to_save='projector' is no li"),
    ],
)
def test_modules_to_save_that_do_not_fit_are_one_message(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    model = internvl(tmp_path / "base")
    imitate(Learner(model, BOTH), steps=1)
    model.save(tmp_path / "adapter")
    config = tmp_path / "adapter" / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | changes))
    with pytest.raises(UserError, match=message):
        load_model(tmp_path / "adapter", model.media)


@pytest.mark.parametrize("settings", [PROJECTOR, BOTH])
def test_an_engine_sees_the_new_projector_after_an_update(settings: OptimizerSettings) -> None:
    model = internvl()
    engine, learner, one = LocalEngine(model), Learner(model, settings), sequence(model, 0)
    start = one.prompt_tokens

    async def sampled() -> tuple[tuple[int, ...], tuple[float, ...]]:
        async with engine.sequences(["a"]) as [slot]:
            got = await slot.sample(one.ids[:start], one.images[:1], Sampling(seed=1, max_tokens=8))
            return got.ids, got.logprobs

    _, before = asyncio.run(sampled())
    imitate(learner, steps=6)
    engine.update_weights(model, 1)
    ids, after = asyncio.run(sampled())
    assert after != before
    said = replace(
        one, ids=(*one.ids[:start], *ids), is_action=(False,) * start + (True,) * len(ids), images=one.images[:1],
        sampled_logprobs=after, advantages=(0.0,) * len(ids),
    )  # fmt: skip
    assert learner.logprobs([said], temperature=1.0)[0] == pytest.approx(after, abs=1e-4)


def test_a_plan_counts_what_is_chosen(tmp_path: Path) -> None:
    internvl(tmp_path / "base")
    shape = read_shape(tmp_path / "base")
    assert shape.chosen("projector") == ChosenShape(weights=5440, has_vision=True, has_tower=False, has_head=False)
    assert shape.chosen("vision_tower").has_tower
    assert shape.chosen("lm_head").has_head
