"""Identity of a model: a hash of its weights and of how texts and pictures become its input."""

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from saccade.models.vlm import VisionLanguageModel
from saccade.models.weights_by_name import named_weights
from saccade.plain_files import plain_bytes

_INPUT_FILES = (
    "tokenizer*",
    "chat_template*",
    "preprocessor_config.json",
    "processor_config.json",
    "vocab*",
    "merges*",
)


def model_hash(model: VisionLanguageModel) -> str:
    """SHA-256 over every weight by name, type and shape, and over the files of tokenizer and processor.

    The same for a copy of the checkpoint elsewhere, and for a model that was built in this process and one that a
    resumed run loads; another for one that was trained a step further.
    """
    digest = hashlib.sha256()
    for name, weight in sorted(named_weights(model), key=lambda one: one[0]):
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
        # As bytes, for numpy knows no bfloat16.
        digest.update(weight.detach().contiguous().cpu().flatten().view(torch.uint8).numpy().data)
    # As a checkpoint has them: those that the model came with, if any, may say the same in other files.
    with TemporaryDirectory() as saved:
        model.save_inputs(Path(saved))
        for path in _input_files(Path(saved)):
            digest.update(path.name.encode() + b"\n" + plain_bytes(path))
    return digest.hexdigest()


def _input_files(folder: Path) -> list[Path]:
    return sorted({path for pattern in _INPUT_FILES for path in folder.glob(pattern) if path.is_file()})
