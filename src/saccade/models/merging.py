"""An adapter and its base as one plain checkpoint, for those who do not use PEFT."""

import shutil
from pathlib import Path
from typing import Literal

import torch

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.loading import ASKING_RECORD, TRAINED_ON_RECORD, LoadSettings, load_model
from saccade.models.lora import ADAPTER_CONFIG, merge_adapter


def write_merged(adapter: Path, out: Path, *, dtype: Literal["float32", "bfloat16"] = "float32") -> None:
    """Writes a checkpoint of the adapted policy with its records, added up in fp32 and rounded to ``dtype`` at the end.

    Raises UserError when ``adapter`` is none, or when there is something at ``out``.
    """
    if not (adapter / ADAPTER_CONFIG).is_file():
        raise UserError(f"{adapter} holds no {ADAPTER_CONFIG}: it is no adapter that could be merged")
    if out.exists():
        raise UserError(f"{out} exists already; choose another directory to write to")
    model = load_model(adapter, MediaStore(), LoadSettings(device="cpu"))
    merge_adapter(model)
    for weight in model.hf.parameters():
        weight.data = weight.data.to(getattr(torch, dtype))
    model.save(out)
    for name in (ASKING_RECORD, TRAINED_ON_RECORD):
        if (adapter / name).is_file():
            shutil.copyfile(adapter / name, out / name)
