"""The processor that transformers has for a model's family, for texts and pictures alone."""

from collections.abc import Mapping
from inspect import signature

import transformers
from transformers import PreTrainedTokenizerFast, ProcessorMixin
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

from saccade.models.pixels import ImageProcessor


class WithoutVideos(ProcessorMixin):  # type: ignore[misc]
    """Makes a family's processor one without videos and sounds, whose parts need packages that pictures do not."""

    def __init__(self, image_processor: ImageProcessor, tokenizer: PreTrainedTokenizerFast, **settings: object) -> None:
        super().__init__(
            image_processor=image_processor, tokenizer=tokenizer, chat_template=tokenizer.chat_template, **settings
        )


class _WithWhatIsThere(ProcessorMixin):  # type: ignore[misc]
    """Behind a family's class: its parts that are None are none that transformers asks for."""

    def __init__(self, *parts: object, **named: object) -> None:
        super().__init__(*parts, **{name: part for name, part in named.items() if part is not None})


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
    left = {name: None for name in ("video_processor", "feature_extractor") if name in taken}
    made: ProcessorMixin = type("PictureProcessor", (WithoutVideos, kind, _WithWhatIsThere), {})(
        image_processor, tokenizer, **given, **left
    )
    return made
