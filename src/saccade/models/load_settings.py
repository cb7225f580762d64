"""How a checkpoint is loaded, as settings; torch is asked when it matters, so that they can be named without it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    """Where a checkpoint's weights go and how large its pictures are."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """``auto`` is the GPU where torch sees one."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """``auto`` is float32 on a CPU, and on a GPU bfloat16 for a checkpoint in half precision."""
    min_pixels: int | None = None
    """Smallest area of a view; None keeps what the checkpoint's image processor says."""
    max_pixels: int | Literal["checkpoint"] | None = None
    """Largest area of a view: fewer pixels are fewer image tokens. It is saved with every checkpoint. ``checkpoint``
    keeps what its image processor says; None does too, but at most 1,048,576 where a family takes pictures of any size
    (Qwen3-VL's own file allows 16 times that)."""
    chat_template: Path | None = None
    """A Jinja file in place of the checkpoint's own template. It is saved with every checkpoint."""
    observation_role: Literal["auto", "tool", "user"] = "auto"
    """Role of a tool's result in the chat: ``auto`` is ``tool`` where the template knows that role, else ``user``."""

    def check(self) -> None:
        if self.device == "cuda" and not _has_gpu():
            raise UserError("device=cuda, but torch sees no GPU here; use device=cpu or auto")
        for name, value in (("min_pixels", self.min_pixels), ("max_pixels", self.max_pixels)):
            if isinstance(value, int) and value < 1:
                raise UserError(f"{name}={value} must be 1 or more")

    @property
    def torch_device(self) -> str:
        if self.device == "auto":
            return "cuda" if _has_gpu() else "cpu"
        return self.device


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
