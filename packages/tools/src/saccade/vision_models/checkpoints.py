"""Checkpoints of specialist models: their parts as transformers loads them.

Everything is read from a local directory; nothing is ever downloaded.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from saccade.heartbeat import phase
from saccade.models.checkpoint import refuse_missing_weights, refuse_outside_weights
from saccade.models.checkpoint_checks import unloadable
from saccade.models.loading import LoadSettings
from saccade.models.quiet import quiet_transformers

Part = TypeVar("Part")
Model = TypeVar("Model", bound=PreTrainedModel)


def load_weights(path: Path, model_class: type[Model], settings: LoadSettings) -> Model:
    """The model, ready to infer, on the settings' device."""
    settings.check()
    refuse_outside_weights(path)
    try:
        with quiet_transformers(), phase(lambda: f"loading {path}"):
            model, loading = model_class.from_pretrained(
                path, local_files_only=True, trust_remote_code=False, dtype=settings.dtype, output_loading_info=True
            )
    except Exception as error:  # What damaged files make transformers raise is of many kinds.
        raise unloadable(path, f"as {model_class.__name__}", error) from error
    refuse_missing_weights(path, loading["missing_keys"])
    loaded: Model = model.to(settings.torch_device).eval()
    return loaded


def load_tokenizer(path: Path) -> PreTrainedTokenizerFast:
    try:
        with quiet_transformers():
            tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(
                path, local_files_only=True, trust_remote_code=False
            )
    except Exception as error:
        raise unloadable(path, "as a tokenizer", error) from error
    return tokenizer


def load_pixels(path: Path, image_processor_class: type[Part]) -> Part:
    """The image processor, in transformers' version that needs no torchvision."""
    loader: Any = image_processor_class
    try:
        with quiet_transformers():
            image_processor: Part = loader.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise unloadable(path, "as an image processor", error) from error
    return image_processor


def on_device(tensors: Mapping[str, torch.Tensor], model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """The tensors where the model is; numbers with decimals in its precision."""
    return {
        name: tensor.to(model.device, model.dtype if tensor.is_floating_point() else None)
        for name, tensor in tensors.items()
    }
