"""A folder for the weights of one engine: each version under a name of its own, there whole or not at all."""

import tempfile
from pathlib import Path

from saccade.engines.engine import WeightSource
from saccade.engines.vllm.replica import NamedWeights
from saccade.engines.weights import new_weights_path, write_weights
from saccade.errors import MachineError

IN_MEMORY = Path("/dev/shm")


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
        path = new_weights_path(self.path, version)
        write_weights(source, path)
        return NamedWeights(path=path, version=version)

    def drop_all_but(self, kept: Path) -> None:
        for path in self.path.glob("w-*.safetensors"):
            if path != kept:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        self._owned.cleanup()
