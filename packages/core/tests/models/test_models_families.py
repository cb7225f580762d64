"""The same questions to every family: what its own processor in transformers does, our adapter does too."""

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image
from transformers import Idefics3Config, InternVLConfig
from transformers.image_utils import SizeDict
from transformers.models.glm4v.image_processing_pil_glm4v import smart_resize as glm_resize
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import (
    GotOcr2ImageProcessorPil,
    get_optimal_tiled_canvas,
)
from transformers.models.idefics3.image_processing_pil_idefics3 import (
    Idefics3ImageProcessorPil,
    get_resize_output_image_size,
)
from transformers.models.llava_onevision.processing_llava_onevision import LlavaOnevisionProcessor
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.media.resize import FilledRule, ResizeRule, TileRule, token_coverage
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.chat import Chat
from saccade.models.families import FAMILIES, family_of
from saccade.models.families.glm import GlmResizeRule
from saccade.models.families.llava_onevision import FittedTileRule, fitting_grid
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.coordinates import call_to_model, call_to_original
from saccade.tools.images import IMAGE_TOOLS
from saccade.types import ImageRef, Message, Observation, ToolCall

TEXTS = ["Which texture is on the red plate?", "system\n user\n assistant\n tool\n"] * 8


@pytest.fixture(scope="module", params=list(FAMILIES))
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48, max_tiles=6)
    return tiny_model(TEXTS, MediaStore(), family=request.param, size=size, vocab_size=400, seed=3)


def noise(media: MediaStore, width: int, height: int) -> ImageRef:
    pixels = np.random.default_rng(width * height).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return media.add(Image.fromarray(pixels))


SIDE = st.integers(1, 5000)


@settings(max_examples=300, deadline=None)
@given(width=SIDE, height=SIDE, least=st.integers(1, 4), most=st.integers(1, 12), tile=st.sampled_from([14, 64, 448]))
def test_tiles_are_those_of_the_processor(width: int, height: int, least: int, most: int, tile: int) -> None:
    rule = TileRule(tile_px=tile, tokens_per_tile=256, min_tiles=least, max_tiles=most, convention="relative_1000")
    processor = GotOcr2ImageProcessorPil(
        size={"height": tile, "width": tile}, min_patches=least, max_patches=most, crop_to_patches=True
    )
    image = ImageRef(hash="0" * 64, width=width, height=height)
    assert rule.tile_count(image) == processor.get_number_of_image_patches(height, width, {})
    assert rule.token_count(image) == 256 * rule.tile_count(image)
    if most > 1:
        columns, rows = get_optimal_tiled_canvas((height, width), (tile, tile), least, most)
        assert rule.view_size(width, height) == (columns * tile, rows * tile)
    assert math.prod(rule.view_size(width, height)) <= rule.largest_pixels


class SizesAlone(Idefics3ImageProcessorPil):
    """The image processor without the resampling: pictures are one number, repeated."""

    def resize(self, image: np.ndarray, size: SizeDict, resample: object = None) -> np.ndarray:
        height, width = (size.height, size.width)
        if size.longest_edge:
            height, width = get_resize_output_image_size(image, resolution_max_side=size.longest_edge)
        return np.broadcast_to(np.float32(0), (3, height, width))


@settings(max_examples=300, deadline=None)
@given(width=SIDE, height=SIDE, tiles=st.integers(1, 12), tile=st.sampled_from([14, 364, 377, 512]))
def test_tiles_along_an_edge_are_those_of_the_processor(width: int, height: int, tiles: int, tile: int) -> None:
    processor = SizesAlone(size={"longest_edge": tiles * tile}, max_image_size={"longest_edge": tile})
    family, config = family_of("idefics3"), Idefics3Config(vision_config={"image_size": tile, "patch_size": 14})
    rule, image = family.view_rule(processor, config), ImageRef(hash="0" * 64, width=width, height=height)
    resized = processor.resize(np.broadcast_to(np.float32(0), (3, height, width)), SizeDict(longest_edge=tiles * tile))
    fitted = processor.resize_for_vision_encoder(resized, tile)
    # The processor itself fails on 1 x 98: 98 * (1 / 98) is rounded down to nothing.
    assume(min(fitted.shape) > 0)
    frames, rows, columns = processor.split_images(fitted, {"longest_edge": tile})
    assert rule.tile_count(image) == len(frames)
    assert rule.grid(width, height) == (max(1, columns), max(1, rows))
    assert math.prod(rule.view_size(width, height)) <= rule.largest_pixels


def test_pixels_bound_the_tiles_of_a_square_picture() -> None:
    family, config = family_of("smolvlm"), Idefics3Config(vision_config={"image_size": 512, "patch_size": 16})
    sides = {}
    for bounds in ((None, 1 << 20), (None, 1000), (3 << 20, None), (None, 1 << 30)):
        processor = SizesAlone(size={"longest_edge": 1536}, max_image_size={"longest_edge": 512})
        family.bound_views(processor, min_pixels=bounds[0], max_pixels=bounds[1])
        sides[bounds] = family.view_rule(processor, config).view_size(700, 700)[0]
    # A view is never less than a tile, and larger than the checkpoint's only where that is asked for.
    assert sides == {(None, 1 << 20): 1024, (None, 1000): 512, (3 << 20, None): 2048, (None, 1 << 30): 1536}


def test_a_turn_is_read_as_it_was_written(model: VisionLanguageModel) -> None:
    said = "<think>\nlook</think> <answer> a  </answer>"
    assert model.chat.decode((*model.chat.encode(said), model.eos_id)) == said


@pytest.mark.parametrize("side", [316, 317, 633, 634, 950, 951, 5000])
def test_of_equally_near_grids_the_size_decides_as_in_the_processor(side: int) -> None:
    """Every square grid fits a square image; the borders lie where half of 1, 4 and 9 tiles of 448 px are full."""
    rule = TileRule(tile_px=448, tokens_per_tile=256, min_tiles=1, max_tiles=12, convention="relative_1000")
    columns, rows = get_optimal_tiled_canvas((side, side), (448, 448), 1, 12)
    assert rule.grid(side, side) == (columns, rows)


@settings(max_examples=300, deadline=None)
@given(width=SIDE, height=SIDE, factor=st.sampled_from([16, 28, 32]), most=st.sampled_from([4096, 1 << 20, 12845056]))
def test_views_are_those_of_the_processor(width: int, height: int, factor: int, most: int) -> None:
    rule = ResizeRule(factor=factor, min_pixels=min(3136, most), max_pixels=most, convention="absolute")
    if max(width, height) > 200 * min(width, height):
        with pytest.raises(UserError, match="more than 200 times longer than wide"):
            rule.view_size(width, height)
        return
    view = smart_resize(height, width, factor=factor, min_pixels=rule.min_pixels, max_pixels=most)
    assert rule.view_size(width, height) == view[::-1]
    assert math.prod(view) <= rule.largest_pixels


@settings(max_examples=300, deadline=None)
@given(width=SIDE, height=SIDE, most=st.sampled_from([1 << 20, 6144 * 28 * 28, 47040000 // 2]))
def test_views_of_glm_are_those_of_the_processor(width: int, height: int, most: int) -> None:
    rule = GlmResizeRule(factor=28, min_pixels=112 * 56, max_pixels=most, convention="relative_1000")
    try:
        # It counts both frames of a still picture.
        view = glm_resize(2, height, width, min_pixels=112 * 112, max_pixels=2 * most)
    except ValueError:
        with pytest.raises(UserError, match="more than 200 times longer than wide"):
            rule.view_size(width, height)
        return
    assert rule.view_size(width, height) == view[::-1]
    assert math.prod(view) <= rule.largest_pixels


@settings(max_examples=300, deadline=None)
@given(width=SIDE, height=SIDE, most=st.integers(1, 6), shrinks=st.sampled_from([4, 9]))
def test_fitted_tiles_are_those_of_the_processor(width: int, height: int, most: int, shrinks: int) -> None:
    grids = tuple((384 * down, 384 * across) for down in range(1, most + 1) for across in range(1, most + 1))
    rule = FittedTileRule(tile_px=384, side=27, grids=grids, most_tiles=shrinks, convention="relative_1000")
    processor = SimpleNamespace(
        image_processor=SimpleNamespace(image_grid_pinpoints=list(map(list, grids))),
        num_image_tokens=27 * 27,
        vision_aspect_ratio=f"anyres_max_{shrinks}",
    )
    processor._get_unpadded_features = partial(LlavaOnevisionProcessor._get_unpadded_features, processor)
    image = ImageRef(hash="0" * 64, width=width, height=height)
    count = LlavaOnevisionProcessor._get_number_of_features(processor, height, width, 384, 384)
    assert rule.token_count(image) == count
    assert sum(block.rows * block.columns for block in rule.token_blocks(image)) == count
    assert math.prod(rule.view_size(width, height)) <= rule.largest_pixels
    # The tokens that end rows lie beside the picture.
    covered = token_coverage(rule.token_blocks(image), [Box(0, 0, width, height)])
    rows, columns = rule.cells(image)
    assert covered.sum() == pytest.approx(27 * 27 + rows * columns)


def test_published_settings_give_the_published_counts() -> None:
    """By hand: 448 x 448 px in patches of 14 is 32 x 32, the shuffle leaves 16 x 16 = 256; a square above 12 tiles
    takes 3 x 3 of them, since 9 is the largest square grid, and a thumbnail."""
    rule = TileRule(tile_px=448, tokens_per_tile=256, min_tiles=1, max_tiles=12, convention="relative_1000")
    counts = {(448, 448): 256, (1344, 1344): 10 * 256, (896, 448): 3 * 256, (5376, 448): 13 * 256, (100, 100): 256}
    processor = GotOcr2ImageProcessorPil(size={"height": 448, "width": 448}, min_patches=1, max_patches=12)
    assert family_of("internvl").view_rule(processor, InternVLConfig()) == rule
    assert {shape: rule.token_count(ImageRef(hash="0" * 64, width=shape[0], height=shape[1])) for shape in counts} == (
        counts
    )


def box_in_view(model: VisionLanguageModel, image: ImageRef) -> Box:
    """Where the black rectangle of an image lies in the pixels that the vision tower gets, the thumbnail left out."""
    [patches] = model.patches.get([image])
    width, height = model.view.view_size(image.width, image.height)
    if isinstance(model.view, FittedTileRule):
        tile, (across, down) = model.view.tile_px, fitting_grid(image.width, image.height, model.view.grids)
        tiles = patches.values[1:].unflatten(0, (down // tile, across // tile))
        canvas = tiles.permute(0, 3, 1, 4, 2).reshape(down, across, 3)
        left, top = (across - width) // 2, (down - height) // 2
        canvas = canvas[top : top + height, left : left + width]
    elif isinstance(model.view, TileRule):
        tile = model.view.tile_px
        tiles = patches.values[: (width // tile) * (height // tile)]
        canvas = tiles.unflatten(0, (height // tile, width // tile)).permute(0, 3, 1, 4, 2).reshape(height, width, 3)
    elif isinstance(model.view, FilledRule):
        side = int(model.image_processor.patch_size)
        cells = patches.values.reshape(patches.rows, patches.columns, side, side, 3)
        # Its pixels are from 0 to 1.
        canvas = cells.permute(0, 2, 1, 3, 4).reshape(height, width, 3) - 0.5
    else:
        rows, columns, side = patches.rows // 2, patches.columns // 2, int(model.image_processor.patch_size)
        cells = patches.values.reshape(rows, columns, 2, 2, 3, side, side)
        canvas = cells.permute(0, 2, 5, 1, 3, 6, 4).reshape(height, width, 3)
    ys, xs = torch.nonzero(canvas.mean(-1) < 0, as_tuple=True)
    return Box(float(xs.min()), float(ys.min()), float(xs.max()) + 1, float(ys.max()) + 1)


@pytest.mark.parametrize("shape", [(512, 512), (640, 160), (150, 600), (384, 256)])
def test_a_box_that_the_model_sees_is_the_box_that_a_tool_gets(
    model: VisionLanguageModel, shape: tuple[int, int]
) -> None:
    """From the pixels of the tiles or patches through what the model writes to the pixels of the original image."""
    width, height = shape
    drawn = Box(width * 0.25, height * 0.5, width * 0.75, height * 0.875)
    picture = Image.new("RGB", shape, "white")
    picture.paste((0, 0, 0), tuple(int(side) for side in drawn.as_tuple()))
    image = model.media.add(picture)
    seen, (view_width, view_height) = box_in_view(model, image), model.view.view_size(width, height)
    if model.view.convention == "absolute":
        written = [round(side) for side in seen.as_tuple()]
    else:
        written = [
            round(1000 * side / whole)
            for side, whole in zip(seen.as_tuple(), (view_width, view_height, view_width, view_height))
        ]
    [crop] = [tool.spec for tool in IMAGE_TOOLS if tool.spec.name == "crop"]
    call = ToolCall(name="crop", arguments={"image": 1, "bbox_2d": written})
    original = call_to_original(call, crop, [image], model.view)
    tolerance = 1.5 * max(width / view_width, height / view_height)
    assert original.arguments["bbox_2d"] == pytest.approx(drawn.as_tuple(), abs=tolerance)
    assert call_to_model(original, crop, [image], model.view).arguments["bbox_2d"] == written


def test_the_convention_is_that_of_the_family() -> None:
    assert {name: family_of(name).convention for name in FAMILIES} == {
        "qwen2_5_vl": "absolute",
        "qwen3_vl": "relative_1000",
        "qwen3_vl_moe": "relative_1000",
        "internvl": "relative_1000",
        "idefics3": "relative_1000",
        "smolvlm": "relative_1000",
        "glm4v": "relative_1000",
        "glm4v_moe": "relative_1000",
        "glm46v": "relative_1000",
        "llava_onevision": "relative_1000",
        "qwen2_vl": "relative_1000",
        "gemma3": "relative_1000",
        "gemma4": "relative_1000",
        "qwen3_5": "relative_1000",
    }
    with pytest.raises(UserError, match="'llava' is not a family that Saccade knows; use one of qwen2_5_vl, qwen3_vl"):
        family_of("llava")


SPEAKERS = {
    "qwen2_5_vl": "<|vision_start|><|image_pad|><|vision_end|>",
    "qwen3_vl": "<|vision_start|><|image_pad|><|vision_end|>",
    "qwen3_vl_moe": "<|vision_start|><|image_pad|><|vision_end|>",
    "internvl": "{{ '<IMG_CONTEXT>\n' }}",
    "idefics3": "<image>",
    "smolvlm": "<image>",
    "glm4v": "<|begin_of_image|><|image|><|end_of_image|>",
    "glm4v_moe": "<|begin_of_image|><|image|><|end_of_image|>",
    "glm46v": "<|begin_of_image|><|image|><|end_of_image|>",
    "llava_onevision": "<image>",
    "qwen2_vl": "<|vision_start|><|image_pad|><|vision_end|>",
    "gemma3": "<start_of_image>",
    "gemma4": "<|image|>",
    "qwen3_5": "<|vision_start|><|image_pad|><|vision_end|>",
}


def with_template(model: VisionLanguageModel, tool_branch: str = "") -> Chat:
    """The model's chat under a template of the published shape, with a branch of its own for tools' messages."""
    image = SPEAKERS[model.family.model_type]
    model.tokenizer.chat_template = (
        "{%- macro parts(content) -%}{%- if content is string -%}{{ content }}{%- else -%}{%- for part in content -%}"
        "{%- if part.type == 'image' -%}" + image + "{%- else -%}{{ part.text }}{%- endif -%}{%- endfor -%}"
        "{%- endif -%}{%- endmacro -%}{%- for message in messages -%}" + tool_branch + "{{- '<|im_start|>' + "
        "message.role + '\n' + parts(message.content) + '<|im_end|>\n' -}}"
        + ("{%- endif -%}" if tool_branch else "")
        + "{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}"
    )
    chat = model.chat
    return Chat.checked(
        tokenizer=chat.tokenizer,
        image_token=chat.image_token,
        image_token_id=chat.image_token_id,
        eos_token=chat.eos_token,
        eos_id=chat.eos_id,
        image_layout=chat.image_layout,
    )


@pytest.fixture
def published(model: VisionLanguageModel) -> VisionLanguageModel:
    kept = model.tokenizer.chat_template
    yield model
    model.tokenizer.chat_template = kept


@pytest.mark.parametrize(
    ("tool_branch", "role"),
    [
        ("", "user"),
        ("{%- if message.role == 'tool' -%}{{- raise_exception('no tools') -}}{%- else -%}", "user"),
        ("{%- if message.role not in ('system', 'user', 'assistant') -%}{%- else -%}", "user"),
    ],
    ids=["roles as they come", "tools refused", "tools left out"],
)
def test_images_in_tool_results_are_shown_whatever_the_template_makes_of_tools(
    published: VisionLanguageModel, tool_branch: str, role: str
) -> None:
    chat = with_template(published, tool_branch)
    assert chat.observation_role == role
    image = noise(published.media, 200, 100)
    asked = Message(role="user", parts=(image, "Which?"))
    seen = chat.observation(Observation(text="Here", images=(image, image)), ends_with_eos=False)
    in_pieces = chat.prompt([asked]).ids + chat.encode("look") + seen.ids
    if role == "tool":
        answer = Message(role="tool", parts=(image, image, "Here"))
    else:
        answer = Message(role="user", parts=("<tool_response>\n", image, image, "Here", "\n</tool_response>"))
    assert in_pieces == chat.prompt([asked, Message(role="assistant", parts=("look",)), answer]).ids
    assert seen.ids.count(chat.image_token_id) == 2 * published.view.token_count(image)


def test_a_template_without_the_familys_placeholder_is_refused(published: VisionLanguageModel) -> None:
    published.tokenizer.chat_template = (
        "{%- for message in messages -%}{{- '<|im_start|>' + message.role + '\n' -}}{%- if message.content is string "
        "-%}{{ message.content }}{%- else -%}{%- for part in message.content -%}{%- if part.type == 'image' -%}"
        "{{ '<picture>\n' }}{%- else -%}{{ part.text }}{%- endif -%}{%- endfor -%}{%- endif -%}{{- '<|im_end|>\n' -}}"
        "{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}"
    )
    with pytest.raises(UserError, match=r"an image must be rendered as one <.*use the template of the instruct model"):
        VisionLanguageModel(published.hf, published.tokenizer, published.image_processor, published.media)
