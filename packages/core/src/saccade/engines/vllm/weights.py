"""A folder for the weights of one engine: each version under a name of its own, there whole or not at all."""

import tempfile
from pathlib import Path

from saccade.engines.engine import WeightSource
from saccade.engines.vllm.replica import NamedWeights
from saccade.engines.weights import WeightsWriter, delete_weights, new_weights_path
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
        self._writer = WeightsWriter()

    def write(self, source: WeightSource, version: int) -> NamedWeights:
        """The weights in a file that no other version ever had."""
        path = new_weights_path(self.path, version)
        self._writer.write(source, path)
        return NamedWeights(path=path, version=version)

    def drop(self, path: Path, *, kept: Path) -> None:
        """Deletes weights of this folder, and their base where those that are kept have another."""
        if path != kept and path.parent == self.path:
            delete_weights(path, kept=[kept])

    def close(self) -> None:
        self._owned.cleanup()
