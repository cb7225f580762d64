"""Weights as files for the servers: each version under a name of its own, there whole or not at all."""

import secrets
import tempfile
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file

from saccade.engines.engine import WeightSource
from saccade.engines.vllm.replica import NamedWeights
from saccade.errors import MachineError

IN_MEMORY = Path("/dev/shm")
SUFFIX = ".safetensors"


class WeightsFolder:
    """A folder of this engine's own below the given one; ``path`` is it."""

    def __init__(self, parent: Path | None) -> None:
        if parent is None and IN_MEMORY.is_dir():
            parent = IN_MEMORY
        try:
            self._owned = tempfile.TemporaryDirectory(prefix="saccade-vllm-", dir=parent, ignore_cleanup_errors=True)
        except OSError as error:
            raise MachineError(
                f"engine.folder={parent}: no folder for weights can be made there ({error.strerror})"
            ) from error
        self.path = Path(self._owned.name)

    def write(self, source: WeightSource, version: int) -> NamedWeights:
        """The weights in a file that no other version ever had."""
        path = self.path / f"w-{version}-{secrets.token_hex(4)}{SUFFIX}"
        unfinished = path.with_suffix(".unfinished")
        try:
            weights = {name: weight.detach().cpu().contiguous() for name, weight in source.named_weights()}
            save_file(weights, unfinished)
            unfinished.rename(path)
        except (OSError, SafetensorError) as error:
            unfinished.unlink(missing_ok=True)
            raise MachineError(
                f"{path}: the weights for vLLM cannot be written ({error}); free some space there, or set "
                "engine.folder to a disk that has room for them twice"
            ) from error
        return NamedWeights(path=path, version=version)

    def drop_all_but(self, kept: Path) -> None:
        for path in self.path.glob(f"w-*{SUFFIX}"):
            if path != kept:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        self._owned.cleanup()
