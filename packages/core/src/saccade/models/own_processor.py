"""The processor that transformers has for a model's family, for texts and pictures alone."""

from collections.abc import Mapping
from inspect import signature

import transformers
from transformers import PreTrainedTokenizerFast, ProcessorMixin
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

from saccade.models.pixels import ImageProcessor


class WithoutVideos(ProcessorMixin):  # type: ignore[misc]
    """Makes a family's processor one without videos, whose part needs packages that pictures do not."""

    def __init__(self, image_processor: ImageProcessor, tokenizer: PreTrainedTokenizerFast, **settings: object) -> None:
        super().__init__(image_processor, tokenizer, chat_template=tokenizer.chat_template, **settings)


def own_processor(
    model_type: str,
    image_processor: ImageProcessor,
    tokenizer: PreTrainedTokenizerFast,
    settings: Mapping[str, object],
) -> ProcessorMixin:
    """``settings`` are those of ``processor_config.json``. ImportError where it needs a package that is missing."""
    kind = getattr(transformers, PROCESSOR_MAPPING_NAMES[model_type])
    taken = signature(kind.__init__).parameters
    given = {name: value for name, value in settings.items() if name in taken}
    videos = {"video_processor": None} if "video_processor" in taken else {}
    made: ProcessorMixin = type("PictureProcessor", (WithoutVideos, kind), {})(
        image_processor, tokenizer, **given, **videos
    )
    return made
