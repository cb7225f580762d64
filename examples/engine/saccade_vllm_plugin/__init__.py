"""vLLM as an engine of Saccade: weights by file, and on a CPU weights that stay as they were loaded."""

from contextlib import suppress


def register() -> None:
    """Called by vLLM in each of its processes, by the entry point ``vllm.general_plugins``."""
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory

    from saccade_vllm_plugin.weights import FileWeights, keep_weights_plain

    keep_weights_plain()
    # A process may load its plugins twice.
    with suppress(ValueError):
        WeightTransferEngineFactory.register_engine("file", FileWeights)
