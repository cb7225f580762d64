"""Weights that vLLM takes over from a safetensors file, in place."""

from dataclasses import dataclass
from pathlib import Path

from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.model_executor.model_loader.reload.layerwise import finalize_layerwise_reload, initialize_layerwise_reload
from vllm.platforms import current_platform

from saccade_vllm_plugin.merged import merged_weights


@dataclass
class NothingToKnow(WeightTransferInitInfo):
    """A file needs no connection."""


@dataclass
class WeightsFile(WeightTransferUpdateInfo):
    path: str
    """All weights under transformers' names, or an adapter beside its base, which together are all: a part of a fused
    layer alone would spoil it without a word."""


class FileWeights(WeightTransferEngine):
    init_info_cls, update_info_cls = NothingToKnow, WeightsFile

    def init_transfer_engine(self, init_info: NothingToKnow) -> None:
        """Nothing to connect."""

    def start_weight_update(self) -> None:
        initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: WeightsFile) -> None:
        self.model.load_weights(merged_weights(Path(update_info.path)))

    def finish_weight_update(self) -> None:
        finalize_layerwise_reload(self.model, self.model_config)

    def shutdown(self) -> None:
        """Nothing was opened."""


def keep_weights_plain() -> None:
    """On a CPU vLLM packs weights into handles of oneDNN, into which none can be loaded afterwards."""
    if not current_platform.is_cpu():
        return
    current_platform.import_kernels()
    import vllm._custom_ops as operations

    operations._supports_onednn = False
