"""Weights by file: one safetensors file per version, which every engine reads wherever it runs."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from saccade.atomic import TEMPORARY_PREFIX
from saccade.engines.engine import Engine, WeightSource, abilities_of
from saccade.errors import MachineError


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """Weights as they were written down; a ``WeightSource``."""

    path: Path

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        try:
            yield from load_file(self.path).items()
        except (OSError, SafetensorError) as error:
            raise MachineError(
                f"{self.path}: the policy's weights cannot be read here ({error}); fleet.weights must be a folder that "
                "all machines of the fleet share"
            ) from error


def new_weights_path(folder: Path, version: int) -> Path:
    """A name that no other weights have: ``w-VERSION-TOKEN.safetensors``."""
    return folder / f"w-{version:06d}-{secrets.token_hex(4)}.safetensors"


def write_weights(source: WeightSource, path: Path) -> None:
    """A new file, there whole or not at all; MachineError on a full disk."""
    unfinished = path.with_name(f"{TEMPORARY_PREFIX}{path.name}")
    with _disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({name: weight.detach().cpu().contiguous() for name, weight in source.named_weights()}, unfinished)
        unfinished.rename(path)


def give_weights(engine: Engine, path: Path, version: int) -> None:
    """Has the engine sample with the weights of a file from here on."""
    if (take_weights := abilities_of(engine).take_weights) is not None:
        take_weights(path, version)
    else:
        engine.update_weights(WeightsFile(path), version)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise MachineError(
            f"{path}: the policy's weights cannot be written ({error}); free some space there, or set fleet.weights "
            "(vLLM: engine.folder) to a folder that has room for them twice"
        ) from error
