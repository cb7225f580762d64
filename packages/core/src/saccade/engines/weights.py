"""Weights by file: one safetensors file per version, which every engine reads wherever it runs.

With LoRA the file of a version holds the adapter alone, under PEFT's names, and names the file of its base beside it.
"""

import logging
import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from saccade.atomic import TEMPORARY_PREFIX
from saccade.engines.engine import Engine, WeightSource, abilities_of, adapted_weights_of
from saccade.errors import MachineError
from saccade.models.low_rank import AdaptedWeights

BASE, SCALE = "saccade_base", "saccade_scale"
"""In the metadata of an adapter's file: the name of its base's, and alpha / rank."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """Weights as they were written down; a ``WeightSource``."""

    path: Path

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        adapted = self.adapted_weights()
        yield from _read(self.path).items() if adapted is None else adapted.named_weights()

    def adapted_weights(self) -> AdaptedWeights | None:
        """Base and adapter, from the disk; None of a file that holds all weights."""
        with _read_errors(self.path), safe_open(self.path, framework="pt") as file:
            told = file.metadata() or {}
        if BASE not in told:
            return None
        base = self.path.with_name(told[BASE])
        return AdaptedWeights.of_peft(
            _read(self.path), float(told[SCALE]), base=base, base_weights=lambda: _read(base).items()
        )


def _read(path: Path) -> dict[str, Tensor]:
    with _read_errors(path):
        return load_file(path)


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise MachineError(
            f"{path}: the policy's weights cannot be read here ({error}); fleet.weights must be a folder that all "
            "machines of the fleet share"
        ) from error


def new_weights_path(folder: Path, version: int) -> Path:
    """A name that no other weights have: ``w-VERSION-TOKEN.safetensors``."""
    return folder / f"w-{version:06d}-{secrets.token_hex(4)}.safetensors"


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise MachineError(
            f"{path}: the policy's weights cannot be written ({error}); free some space there, or set fleet.weights "
            "(vLLM: engine.folder) to a folder that has room for them twice"
        ) from error


class WeightsWriter:
    """Writes versions of a policy into one folder: all weights, or an adapter alone where its base is there."""

    def __init__(self, disk_errors: Callable[[Path], AbstractContextManager[None]] = _disk_errors) -> None:
        """``disk_errors`` says of a full disk what to do."""
        self._disk_errors = disk_errors
        self._base: tuple[Hashable, Path] | None = None
        self._told = ""

    def write(self, source: WeightSource, path: Path) -> None:
        """A new file, there whole or not at all, perhaps with its base's; MachineError on a full disk."""
        adapted = adapted_weights_of(source)
        with self._disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if adapted is None:
                self._base = None
                self._tell(f"all, {_megabytes(_write(source.named_weights(), path))}")
                return
            if self._base is None or self._base[0] != adapted.base or not self._base[1].is_file():
                base = path.with_name(f"{path.stem}-base.safetensors")
                _write(adapted.base_weights(), base)
                self._base = adapted.base, base
            base = self._base[1]
            told = {"format": "pt", BASE: base.name, SCALE: repr(adapted.scale)}
            sent = _write(adapted.peft_tensors().items(), path, told)
            self._tell(adapter_in_words(sent, base.stat().st_size))

    def _tell(self, what: str) -> None:
        if what != self._told:
            logger.info("weights to the engine: %s", what)
        self._told = what


def delete_weights(path: Path, *, kept: Iterable[Path]) -> None:
    """Deletes a version's file, and that of its base unless one of those that are kept needs it."""
    base = _base_of(path)
    path.unlink(missing_ok=True)
    if base is not None and base not in map(_base_of, kept):
        base.unlink(missing_ok=True)


def _base_of(path: Path) -> Path | None:
    try:
        with safe_open(path, framework="pt") as file:
            name = (file.metadata() or {}).get(BASE)
    except (OSError, SafetensorError):
        # Its folder may be gone already.
        return None
    return None if name is None else path.with_name(name)


def _write(weights: Iterable[tuple[str, Tensor]], path: Path, told: Mapping[str, str] | None = None) -> int:
    """The bytes that were written."""
    unfinished = path.with_name(f"{TEMPORARY_PREFIX}{path.name}")
    tensors = {name: weight.detach().cpu().contiguous() for name, weight in weights}
    save_file(tensors, unfinished, metadata=None if told is None else dict(told))
    unfinished.rename(path)
    return path.stat().st_size


def adapter_in_words(sent: int, base: int) -> str:
    """The bytes of every update, and those of the base that are sent once."""
    return f"adapter only, {_megabytes(sent)}, and once its base, {_megabytes(base)}"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def give_weights(engine: Engine, path: Path, version: int) -> None:
    """Has the engine sample with the weights of a file from here on."""
    if (take_weights := abilities_of(engine).take_weights) is not None:
        take_weights(path, version)
    else:
        engine.update_weights(WeightsFile(path), version)
