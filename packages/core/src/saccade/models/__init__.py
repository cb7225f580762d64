"""Vision-language models as transformers holds them: checkpoint, tokenizer, chat template, pixels, positions.

Start in ``vlm.py``, the model that engine and learner share, and ``loading.py``, which opens a checkpoint directory.
``families/`` has what differs between families, ``chat.py`` renders messages to token ids, ``lora.py`` are adapters.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.models.checkpoint import base_checkpoint as base_checkpoint
    from saccade.models.checkpoint import instruction_style as instruction_style
    from saccade.models.loading import LoadSettings as LoadSettings
    from saccade.models.loading import load_chat as load_chat
    from saccade.models.loading import load_model as load_model
    from saccade.models.loading import write_merged as write_merged
    from saccade.models.lora import LoraSettings as LoraSettings
    from saccade.models.vlm import VisionLanguageModel as VisionLanguageModel
    from saccade.models.weights_by_name import load_weights as load_weights
    from saccade.models.weights_by_name import named_weights as named_weights
else:
    __getattr__, __dir__ = names_on_use(__name__)
