"""Loading, saving and what a model may say, on tiny models of all families; ``check_family`` does the rest."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.loading import LoadSettings, load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message, Observation

FAMILIES: tuple[TinyFamily, ...] = ("qwen3_vl", "qwen2_5_vl", "internvl")
TEXTS = ["Which texture is on the red plate?", "system\n user\n assistant\n tool\n"] * 8


def noise(media: MediaStore, width: int, height: int, seed: int) -> ImageRef:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return media.add(Image.fromarray(pixels))


def small(family: TinyFamily, media: MediaStore) -> VisionLanguageModel:
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48, deepstack=family == "qwen3_vl", max_tiles=4)
    return tiny_model(TEXTS, media, family=family, size=size, numbers=range(0, 1001, 125), seed=3)


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    return small(request.param, MediaStore())


def conversation(model: VisionLanguageModel) -> tuple[tuple[int, ...], list[ImageRef]]:
    images = [noise(model.media, w, h, seed) for seed, (w, h) in enumerate([(256, 256), (128, 256), (90, 61)])]
    prompt = model.chat.prompt([Message(role="user", parts=(images[0], "Which?", images[1]))])
    action = model.chat.encode("<think>look</think>")
    seen = model.chat.observation(Observation(text="here", images=(images[2],)), ends_with_eos=False)
    return prompt.ids + action + seen.ids, images


def test_missing_and_surplus_images_are_errors(model: VisionLanguageModel) -> None:
    ids, images = conversation(model)
    with pytest.raises(ValueError, match="belong to no image"):
        model.positions(ids, images[:2])
    with pytest.raises(ValueError, match="images for fewer runs"):
        model.positions(ids, [*images, images[0]])


def test_scaffolding_is_forbidden_and_tags_and_end_of_turn_are_not(model: VisionLanguageModel) -> None:
    forbidden = set(model.tokenizer.convert_ids_to_tokens(model.forbidden_ids.tolist()))
    of_images = {
        "internvl": {"<IMG_CONTEXT>", "<img>", "</img>", "<video>"},
        "qwen": {"<|image_pad|>", "<|vision_start|>", "<|vision_end|>", "<|video_pad|>"},
    }
    assert {"<|im_start|>", "<|endoftext|>"} <= forbidden
    assert of_images["internvl" if model.family.model_type == "internvl" else "qwen"] <= forbidden
    assert {"<tool_response>", "</tool_response>"} <= forbidden
    assert not forbidden & {"<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>", "<answer>", "</answer>"}
    assert not forbidden & set(model.family.spoken_tokens)


def test_forbidden_tokens_have_probability_zero(model: VisionLanguageModel) -> None:
    logits = model.logprob_logits(torch.ones(2, model.hf.config.text_config.hidden_size), 0.7)
    assert (logits[:, model.forbidden_ids] == -torch.inf).all()
    torch.testing.assert_close(logits.softmax(-1).sum(-1), torch.ones(2))


def test_observation_after_a_sampled_end_of_turn_does_not_repeat_it(model: VisionLanguageModel) -> None:
    seen = Observation(text="here")
    closed = model.chat.observation(seen, ends_with_eos=True).ids
    assert (model.eos_id, *closed) == model.chat.observation(seen, ends_with_eos=False).ids


def test_image_token_in_a_question_is_an_error(model: VisionLanguageModel) -> None:
    with pytest.raises(UserError, match="holds the image token"):
        model.chat.prompt([Message(role="user", parts=(f"what is {model.chat.image_token}?",))])


def test_decoding_keeps_tags_and_drops_the_final_end_of_turn(model: VisionLanguageModel) -> None:
    text = '<think>é 漢 \n x</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [125, 1000]}}</tool_call>'
    assert model.chat.decode((*model.chat.encode(text), model.eos_id)) == text


def test_each_coordinate_is_one_token(model: VisionLanguageModel) -> None:
    assert [len(model.chat.encode(str(number))) for number in range(0, 1001, 125)] == [1] * 9


def test_an_image_is_processed_once(model: VisionLanguageModel) -> None:
    image = noise(model.media, 40, 40, 77)
    before = model.patches.processed
    model.encode_images([image, image])
    model.encode_images([image])
    assert model.patches.processed == before + 1


def test_equal_seeds_give_equal_weights_and_leave_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    first = small("qwen3_vl", MediaStore())
    drawn = torch.rand(1)
    second = small("qwen3_vl", MediaStore())
    assert all(torch.equal(a, b) for a, b in zip(first.hf.parameters(), second.hf.parameters()))
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(1))


def test_missing_checkpoint_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no checkpoint directory .*never downloaded"):
        load_model(tmp_path / "absent", MediaStore())
    with pytest.raises(UserError, match=r"holds no config\.json"):
        load_model(tmp_path, MediaStore())


def test_loaded_weights_lie_in_aligned_memory_of_their_own(tmp_path: Path) -> None:
    """Matrix kernels round otherwise at the odd addresses of a mapped file, and a resumed run would drift apart."""
    small("qwen3_vl", MediaStore()).save(tmp_path)
    loaded = load_model(tmp_path, MediaStore())
    assert {parameter.data_ptr() % 64 for parameter in loaded.hf.parameters()} == {0}


def test_checkpoints_load_in_several_threads_at_a_time(tmp_path: Path) -> None:
    made = tiny_model(["a b"], MediaStore(), vocab_size=300)
    made.save(tmp_path)

    def load(_: int) -> dict[str, torch.Tensor]:
        return load_model(tmp_path, MediaStore(), LoadSettings(device="cpu")).hf.state_dict()

    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(load, range(8)))
    wanted = made.hf.state_dict()
    assert all(torch.equal(one[name], weight) for one in loaded for name, weight in wanted.items())


def test_checkpoint_without_some_of_its_weights_is_refused(tmp_path: Path) -> None:
    small("qwen3_vl", MediaStore()).save(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.language_model.layers.0.mlp.down_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks 1 of the model's weights \(model.*down_proj.weight\)"):
        load_model(tmp_path, MediaStore())


@pytest.mark.parametrize("damage", ["garbage", "cut", "other shape"])
def test_damaged_weights_are_the_users_to_replace(tmp_path: Path, damage: str) -> None:
    small("qwen3_vl", MediaStore()).save(tmp_path)
    file = tmp_path / "model.safetensors"
    if damage == "other shape":
        weights = load_file(file)
        weights["model.language_model.norm.weight"] = torch.zeros(3)
        save_file(weights, file, metadata={"format": "pt"})
    else:
        file.write_bytes(b"x" * 100 if damage == "garbage" else file.read_bytes()[:-1000])
    with pytest.raises(UserError, match=r"cannot be loaded as a vision-language model|its files have 100 bytes"):
        load_model(tmp_path, MediaStore())


def test_checkpoint_of_an_unknown_family_is_named(tmp_path: Path) -> None:
    model = small("qwen3_vl", MediaStore())
    model.save(tmp_path)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"model_type": "qwen3_vl"', '"model_type": "florence"'))
    with pytest.raises(UserError, match="florence"):
        load_model(tmp_path, MediaStore())


def test_views_can_be_bounded_when_loading_and_stay_so_when_saved(model: VisionLanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "first")
    bounds = (256, 1024) if model.family.model_type != "internvl" else (2 * 64**2, 3 * 64**2 + 1000)
    bounded = load_model(tmp_path / "first", MediaStore(), LoadSettings(min_pixels=bounds[0], max_pixels=bounds[1]))
    bounded.save(tmp_path / "second")
    again = load_model(tmp_path / "second", MediaStore())
    assert again.view == bounded.view
    for width, height in ((256, 128), (100, 100), (60, 90), (4, 4)):
        view_width, view_height = again.view.view_size(width, height)
        assert bounds[0] <= view_width * view_height <= bounds[1]
        image = noise(again.media, width, height, 3)
        assert len(again.encode_images([image])[0].tokens) == again.view.token_count(image)


def test_only_one_bound_moves_the_other_when_it_must(model: VisionLanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    smaller = load_model(tmp_path, MediaStore(), LoadSettings(max_pixels=1024))
    larger = load_model(tmp_path, MediaStore(), LoadSettings(min_pixels=8 * 64**2))
    for width, height in ((256, 128), (40, 40)):
        sides = smaller.view.view_size(width, height), larger.view.view_size(width, height)
        if model.family.model_type == "internvl":
            assert sides[0] == (64, 64), "a view is never less than a tile"
        else:
            assert sides[0][0] * sides[0][1] <= 1024
        assert sides[1][0] * sides[1][1] >= 8 * 64**2
    with pytest.raises(UserError, match="min_pixels=900 is over max_pixels=400"):
        load_model(tmp_path, MediaStore(), LoadSettings(min_pixels=900, max_pixels=400))


def test_a_gpu_that_is_not_there_is_refused() -> None:
    if torch.cuda.is_available():
        LoadSettings(device="cuda").check()
    else:
        with pytest.raises(UserError, match="torch sees no GPU"):
            LoadSettings(device="cuda").check()
