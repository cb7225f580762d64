"""What tiny models see: the image processors of their families, with small views."""

from math import isqrt

from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

from saccade.miniature.tiny_gemma import gemma_images
from saccade.miniature.tiny_gemma4 import gemma4_images
from saccade.miniature.tiny_glm import glm_patches
from saccade.miniature.tiny_llava import fitted_tiles
from saccade.miniature.tiny_size import TinySize
from saccade.models.pixels import ImageProcessor

_BOX_FILTER = 4  # PIL.Image.Resampling.BOX: a view is the exact mean of the pixels under it.


def image_processor(family: str, size: TinySize) -> ImageProcessor:
    if family in ("idefics3", "smolvlm"):
        return _edge_tiles(size, SmolVLMImageProcessorPil if family == "smolvlm" else Idefics3ImageProcessorPil)
    if family in ("glm4v", "glm4v_moe", "glm46v"):
        return glm_patches(size, model_type=family, resample=_BOX_FILTER)
    if family == "llava_onevision":
        return fitted_tiles(size, resample=_BOX_FILTER)
    if family == "gemma3":
        return gemma_images(size.view_px, _BOX_FILTER)
    if family in ("gemma4", "gemma4_large"):
        return gemma4_images(size.patch_px, _BOX_FILTER)
    return _tiles(size) if family.startswith("internvl") else _patches(size)


def _edge_tiles(size: TinySize, kind: type) -> ImageProcessor:
    processor: ImageProcessor = kind(
        size={"longest_edge": isqrt(size.max_tiles) * size.view_px},
        max_image_size={"longest_edge": size.view_px},
        resample=_BOX_FILTER,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return processor


def _patches(size: TinySize) -> ImageProcessor:
    processor: ImageProcessor = Qwen2VLImageProcessorPil(
        patch_size=size.patch_px,
        temporal_patch_size=size.joined_frames,
        merge_size=2,
        min_pixels=size.view_px**2,
        max_pixels=size.view_px**2,
        resample=_BOX_FILTER,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return processor


def _tiles(size: TinySize) -> ImageProcessor:
    processor: ImageProcessor = GotOcr2ImageProcessorPil(
        size={"height": size.view_px, "width": size.view_px},
        crop_to_patches=True,
        min_patches=1,
        max_patches=size.max_tiles,
        resample=_BOX_FILTER,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return processor
