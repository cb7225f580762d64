"""A model written as a checkpoint directory in Hugging Face layout."""

import json
from pathlib import Path

from saccade.checksums import CHECKSUMS
from saccade.models.lora import base_state, save_adapter
from saccade.models.quiet import quiet_transformers
from saccade.models.vlm import VisionLanguageModel


def write_model(model: VisionLanguageModel, directory: Path, *, base: bool) -> None:
    """Weights, configuration, tokenizer with its chat template, image processor.

    Of a model with an adapter the adapter alone, in PEFT's layout, or with ``base`` the frozen model below it.
    """
    with quiet_transformers():
        # What stood there before is not what will stand there.
        (directory / CHECKSUMS).unlink(missing_ok=True)
        # Where the weights came from must not show in the files: a resumed run writes the same bytes.
        for config in (model.hf.config, model.hf.config.text_config, model.hf.config.vision_config):
            config.dtype = model.dtype
        if model.adapter is None or base:
            model.hf.save_pretrained(directory, state_dict=base_state(model) if model.adapter else None)
        else:
            save_adapter(model, directory)
            model.hf.config.save_pretrained(directory)
        write_inputs(model, directory)


def write_inputs(model: VisionLanguageModel, directory: Path) -> None:
    """Tokenizer and image processor alone, as ``write_model`` writes them."""
    with quiet_transformers():
        for key in ("is_local", "local_files_only", "model_specific_special_tokens"):
            model.tokenizer.init_kwargs.pop(key, None)
        model.tokenizer.save_pretrained(directory)
        model.image_processor.save_pretrained(directory)
        if processor := model.family.processor_config(model.hf.config):
            text = json.dumps(processor, indent=2, sort_keys=True)
            (directory / "processor_config.json").write_text(text + "\n", encoding="utf-8")
