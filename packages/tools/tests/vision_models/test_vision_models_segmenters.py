import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image
from transformers import SamModel
from transformers.models.sam.image_processing_pil_sam import SamImageProcessorPil
from transformers.models.sam.processing_sam import SamProcessor

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.vision_models.kinds import SegmentationRequest
from saccade.vision_models.segmenters import load_segmenter

KINDS = ("sam", "sam2")


def requests(picture: Image.Image) -> list[SegmentationRequest]:
    box, points = Box(20, 20, 80, 90), (Point(30, 40), Point(50, 60))
    return [
        SegmentationRequest(image=picture, box=box),
        SegmentationRequest(image=picture.resize((100, 140)), points=points),
        SegmentationRequest(image=picture, box=box, points=points[:1]),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_has_the_size_of_its_picture(
    kind: str, checkpoints: Callable[[str], Path], picture: Image.Image
) -> None:
    found = load_segmenter(checkpoints(kind)).segment_batch(requests(picture))
    assert [(one.mask.width, one.mask.height) for one in found] == [(160, 120), (100, 140), (160, 120)]
    assert all(0 < one.mask.area < one.mask.width * one.mask.height for one in found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_is_answered_the_same_alone_and_in_company(
    kind: str, checkpoints: Callable[[str], Path], picture: Image.Image
) -> None:
    segmenter = load_segmenter(checkpoints(kind))
    together = segmenter.segment_batch(requests(picture))
    alone = [segmenter.segment_batch([one])[0] for one in requests(picture)]
    assert [one.mask for one in together] == [one.mask for one in alone]
    assert [one.score for one in together] == pytest.approx([one.score for one in alone])
    assert segmenter.segment_batch([]) == []


def test_sam_sees_prompts_where_its_own_processor_puts_them(
    checkpoints: Callable[[str], Path], picture: Image.Image
) -> None:
    path = checkpoints("sam")
    model = SamModel.from_pretrained(path).eval()
    processor = SamProcessor(SamImageProcessorPil.from_pretrained(path))
    inputs = processor(
        picture, input_boxes=[[[20.0, 20.0, 80.0, 90.0]]], input_points=[[[[30.0, 40.0]]]], return_tensors="pt"
    )
    with torch.inference_mode():
        outputs = model(**inputs)
    masks = processor.post_process_masks(outputs.pred_masks, inputs["original_sizes"], inputs["reshaped_input_sizes"])
    best = int(outputs.iou_scores[0, 0].argmax())
    (found,) = load_segmenter(path).segment_batch([requests(picture)[2]])
    assert (found.mask.to_array() == masks[0][0, best].numpy()).all()


def test_sam_2_is_refused_when_its_files_are_of_two_sizes(checkpoints: Callable[[str], Path], tmp_path: Path) -> None:
    mixed = shutil.copytree(checkpoints("sam2"), tmp_path / "mixed")
    (mixed / "preprocessor_config.json").write_text(json.dumps({"size": {"height": 64, "width": 64}}))
    with pytest.raises(UserError, match="the model sees 128 x 128 px, but"):
        load_segmenter(mixed)
    (mixed / "preprocessor_config.json").unlink()
    assert load_segmenter(mixed)


def test_what_is_no_segmenter_is_refused(checkpoints: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="which is no segmenter"):
        load_segmenter(checkpoints("owlv2"))
