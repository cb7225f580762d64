"""Attention on image tokens in the last layer, against transformers' own eager attention, on tiny models."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from saccade.codec.codecs import plain_json
from saccade.geometry import Box
from saccade.media.resize import TokenBlock, token_coverage
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.attention_share import AttentionShare, MeanAttention, attention_shares, mean_attention
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Attempt, ImageRef, Message, Observation, Segment, Target, Task, Trajectory

FAMILIES: tuple[TinyFamily, ...] = ("qwen3_vl", "qwen2_5_vl", "internvl", "gemma3", "gemma4")
TEXTS = ["Which texture is on the red plate?", "system\n user\n assistant\n tool\n"] * 8


def small(family: TinyFamily) -> VisionLanguageModel:
    # The last layer of three is one that slides.
    size = TinySize(
        hidden=32,
        layers={"gemma3": 3, "gemma4": 4}.get(family, 2),
        mlp=64,
        vision_hidden=32,
        vision_mlp=48,
        deepstack=family == "qwen3_vl",
        max_tiles=4,
    )
    return tiny_model(TEXTS, MediaStore(), family=family, size=size, numbers=range(0, 1001, 125), seed=3)


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    return small(request.param)


def noise(model: VisionLanguageModel, width: int, height: int, seed: int) -> ImageRef:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return model.media.add(Image.fromarray(pixels))


def looking(model: VisionLanguageModel, *boxes: Box, image_index: int = 0) -> Attempt:
    """Two turns with a crop between them, about a task with two images."""
    images = (noise(model, 256, 128, 0), noise(model, 128, 128, 1))
    crop = noise(model, 90, 61, 2)
    prompt = model.chat.prompt([Message(role="user", parts=(images[0], "Which?", images[1]))])
    seen = model.chat.observation(Observation(text="here", images=(crop,)), ends_with_eos=False)
    task = Task(
        id="search/0",
        family="search",
        question="Which?",
        answer="rows",
        answer_kind="exact",
        images=images,
        targets=tuple(Target(label="it", box=box, point=box.center, image_index=image_index) for box in boxes),
    )
    segments = (
        Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images),
        Segment(role="action", turn=0, ids=model.chat.encode("<think>look</think>")),
        Segment(role="observation", turn=0, ids=seen.ids, images=seen.images),
        Segment(role="action", turn=1, ids=(*model.chat.encode("rows"), model.eos_id)),
    )
    return Attempt(task=task, trajectory=trajectory(task, segments))


def trajectory(task: Task, segments: tuple[Segment, ...]) -> Trajectory:
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="textual",
        sample=0,
        seed=0,
        policy_version=0,
        segments=segments,
        turns=(),
        status="answered",
    )


def attention_of_transformers(model: VisionLanguageModel, attempt: Attempt) -> torch.Tensor:
    """The last layer's attention (heads, tokens, tokens) of a model with the same weights, asked the usual way."""
    other = tiny_like(model)
    ids, images = torch.tensor([attempt.trajectory.ids]), attempt.trajectory.images
    patches = model.patches.get(images)
    extra = {}
    if model.family.model_type == "gemma4":
        shown = model.image_processor(images=[model.media.get(image) for image in images], return_tensors="pt")
        extra = {"image_position_ids": shown["image_position_ids"]}
    elif model.family.model_type == "gemma3":
        extra = {"token_type_ids": (ids == model.image_token_id).int()}
    elif model.family.model_type != "internvl":
        extra = {
            "image_grid_thw": torch.tensor([[1, patch.rows, patch.columns] for patch in patches]),
            "mm_token_type_ids": (ids == model.image_token_id).int(),
        }
    pixels = shown["pixel_values"] if "image_position_ids" in extra else torch.cat([one.values for one in patches])
    with torch.no_grad():
        output = other.hf(input_ids=ids, pixel_values=pixels, output_attentions=True, **extra)
    assert len(output.attentions) == model.layer_count
    attention: torch.Tensor = output.attentions[-1][0]
    return attention


def tiny_like(model: VisionLanguageModel) -> VisionLanguageModel:
    other = small(next(family for family in FAMILIES if family == model.family.model_type))
    other.hf.model.language_model.set_attn_implementation("eager")
    return other


def test_the_share_is_that_of_transformers_attention_in_the_last_layer(model: VisionLanguageModel) -> None:
    attempt = looking(model)
    attention = attention_of_transformers(model, attempt)
    is_action = torch.tensor(attempt.trajectory.action_mask)
    is_image = torch.tensor(attempt.trajectory.ids) == model.image_token_id
    expected = attention[:, is_action][:, :, is_image].sum(dim=-1).mean().item()
    [share] = attention_shares(model, [attempt])
    assert share == AttentionShare(image=pytest.approx(expected, abs=1e-5))
    assert 0.05 < expected < 0.95


@pytest.mark.parametrize("image_index", [0, 1])
def test_attention_is_split_at_the_edge_of_the_targets(model: VisionLanguageModel, image_index: int) -> None:
    # The left half of the image, and its upper quarter: together five eighths.
    shape = (256, 128) if image_index == 0 else (128, 128)
    left = Box(0, 0, shape[0] / 2, shape[1])
    upper = Box(0, 0, shape[0], shape[1] / 4)
    attempt = looking(model, left, upper, image_index=image_index)
    attention = attention_of_transformers(model, attempt)
    counts = [model.view.token_count(image) for image in attempt.trajectory.images]
    first = sum(counts[:image_index])
    of_image = (torch.tensor(attempt.trajectory.ids) == model.image_token_id).nonzero()[:, 0][
        first : first + counts[image_index]
    ]
    on_tokens = attention[:, torch.tensor(attempt.trajectory.action_mask)].mean(dim=(0, 1))[of_image]
    covered = torch.tensor(
        [
            share
            for block in model.view.token_blocks(attempt.task.images[image_index])
            for share in cells(block, left, upper)
        ]
    )
    [share] = attention_shares(model, [attempt])
    assert share is not None
    assert share.inside == pytest.approx((on_tokens * covered).sum().item(), abs=1e-5)
    assert share.outside == pytest.approx((on_tokens * (1 - covered)).sum().item(), abs=1e-5)
    assert share.area == pytest.approx(5 / 8)


def cells(block: TokenBlock, left: Box, upper: Box) -> list[float]:
    """Share of each cell that is covered; what does not lie left is as far as it lies high."""
    found = []
    height, width = block.part.height / block.rows, block.part.width / block.columns
    for row in range(block.rows):
        for column in range(block.columns):
            top, start = block.part.y1 + row * height, block.part.x1 + column * width
            in_left = min(max((left.x2 - start) / width, 0), 1)
            in_upper = min(max((upper.y2 - top) / height, 0), 1)
            found.append(in_left + (1 - in_left) * in_upper)
    return found


@pytest.mark.parametrize(("width_px", "height_px"), [(192, 96), (192, 192)])
def test_each_token_lies_where_its_block_says(model: VisionLanguageModel, width_px: int, height_px: int) -> None:
    """What is painted into one cell changes the features of that cell's token most, in every block."""
    plain = Image.new("RGB", (width_px, height_px), (128, 128, 128))
    before = model.encode_images([model.media.add(plain)])[0].tokens
    image = ImageRef(hash="", width=width_px, height=height_px)
    blocks = model.view.token_blocks(image)
    assert sum(block.rows * block.columns for block in blocks) == model.view.token_count(image) == len(before)
    start = 0
    for block in blocks:
        for row, column in [(0, block.columns - 1), (block.rows - 1, 0)]:
            width, height = block.part.width / block.columns, block.part.height / block.rows
            x, y = block.part.x1 + column * width, block.part.y1 + row * height
            painted = plain.copy()
            painted.paste((255, 0, 0), (round(x), round(y), round(x + width), round(y + height)))
            after = model.encode_images([model.media.add(painted)])[0].tokens
            change = (after - before).norm(dim=-1)[start : start + block.rows * block.columns]
            assert int(change.argmax()) == row * block.columns + column
        start += block.rows * block.columns


def test_bounded_memory_changes_nothing(model: VisionLanguageModel) -> None:
    attempt = looking(model, Box(0, 0, 60, 60))
    [whole], [in_pieces] = attention_shares(model, [attempt]), attention_shares(model, [attempt], scores_at_once=1)
    assert whole is not None
    assert in_pieces is not None
    assert in_pieces.image == pytest.approx(whole.image, abs=1e-7)
    assert in_pieces.inside == pytest.approx(whole.inside, abs=1e-7)


def test_a_trajectory_has_the_same_share_alone_and_among_others() -> None:
    model = small("qwen3_vl")
    one, other = looking(model, Box(0, 0, 60, 60)), looking(model)
    assert attention_shares(model, [other, one, other]) == [
        *attention_shares(model, [other]),
        *attention_shares(model, [one]),
        *attention_shares(model, [other]),
    ]


def test_images_that_come_again_are_encoded_once() -> None:
    model = small("qwen3_vl")
    [tower] = model.family.vision_modules(model.hf)
    calls: list[int] = []
    tower.register_forward_hook(lambda *_: calls.append(1))
    attention_shares(model, [looking(model)] * 3)
    assert len(calls) == 1


def test_targets_are_on_the_task_s_images_and_on_no_others() -> None:
    model = small("qwen3_vl")
    attempt = looking(model, Box(0, 0, 60, 60))
    shown_something_else = replace(attempt, task=replace(attempt.task, images=attempt.task.images[1:]))
    [share] = attention_shares(model, [shown_something_else])
    assert share is not None
    assert (share.inside, share.outside, share.area, share.focus) == (None, None, None, None)


def test_where_there_is_nothing_to_measure_there_is_no_share() -> None:
    model = small("qwen3_vl")
    attempt = looking(model)
    prompt_only = replace(attempt, trajectory=trajectory(attempt.task, attempt.trajectory.segments[:1]))
    broken = replace(attempt, trajectory=replace(attempt.trajectory, status="failed"))
    words = model.chat.prompt([Message(role="user", parts=("Which?",))])
    blind = trajectory(attempt.task, (Segment(role="prompt", turn=0, ids=words.ids), attempt.trajectory.segments[3]))
    assert attention_shares(model, [prompt_only, broken, replace(attempt, trajectory=blind)]) == [None] * 3
    assert attention_shares(model, []) == []


def test_means_are_over_what_has_a_number() -> None:
    shares = [
        AttentionShare(image=0.2, inside=0.03, outside=0.09, area=0.125),
        None,
        AttentionShare(image=0.4),
        AttentionShare(image=0.3, inside=0.01, outside=0.11, area=0.125),
    ]
    mean = mean_attention(shares)
    assert mean is not None
    assert mean == MeanAttention(
        share=AttentionShare(
            image=pytest.approx(0.3), inside=pytest.approx(0.02), outside=pytest.approx(0.1), area=0.125
        ),
        n=3,
        n_targets=2,
    )
    # A sixth of the attention on an eighth of the area.
    assert mean.share.focus == pytest.approx((1 / 6) / (1 / 8))
    assert plain_json(mean)["focus"] == mean.share.focus
    assert mean_attention([None]) is None
    assert mean_attention([AttentionShare(image=0.5)]) == MeanAttention(
        share=AttentionShare(image=0.5), n=1, n_targets=0
    )


def test_a_cell_that_a_box_covers_in_part_counts_in_part() -> None:
    block = TokenBlock(2, 2, Box(0, 0, 20, 20))
    assert token_coverage([block], []).tolist() == [0, 0, 0, 0]
    assert token_coverage([block], [Box(-5, -5, 15, 10)]).tolist() == [1, 0.5, 0, 0]
    # The second box lies half on the first one.
    assert token_coverage([block], [Box(0, 0, 4, 5), Box(2, 0, 6, 5)]).tolist() == pytest.approx([0.3, 0, 0, 0])
    assert token_coverage([block], [Box(15, 15, 5, 5), Box(90, 90, 99, 99)]).tolist() == [0, 0, 0, 0]


sides = st.floats(-20, 120, allow_subnormal=False)


@given(st.lists(st.builds(Box, sides, sides, sides, sides), max_size=4), st.integers(1, 7), st.integers(1, 7))
def test_coverage_adds_up_to_the_area_of_the_union(boxes: list[Box], rows: int, columns: int) -> None:
    whole = Box(0, 0, 100, 90)
    [union] = token_coverage([TokenBlock(1, 1, whole)], boxes)
    covered = token_coverage([TokenBlock(rows, columns, whole)], boxes)
    assert covered.mean() == pytest.approx(union)
    assert covered.min() >= 0
    assert covered.max() <= 1 + 1e-9
