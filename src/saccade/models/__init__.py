"""Vision-language models as transformers holds them: checkpoint, tokenizer, chat template, pixels, positions.

Start in ``vlm.py``, the model that engine and learner share, and ``loading.py``, which opens a checkpoint directory.
``families/`` has what differs between families, ``chat.py`` renders messages to token ids, ``lora.py`` are adapters.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.models.checkpoint import base_checkpoint, instruction_style
    from saccade.models.loading import LoadSettings, load_chat, load_model, write_merged
    from saccade.models.lora import LoraSettings
    from saccade.models.vlm import VisionLanguageModel, load_weights, named_weights
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "LoadSettings",
    "LoraSettings",
    "VisionLanguageModel",
    "base_checkpoint",
    "instruction_style",
    "load_chat",
    "load_model",
    "load_weights",
    "named_weights",
    "write_merged",
]
