"""What frameworks beside ours load: transformers' own model and processor, and PEFT's adapter on it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForImageTextToText,
    AutoTokenizer,
    InternVLProcessor,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    ProcessorMixin,
    Qwen2_5_VLProcessor,
    Qwen3VLProcessor,
)

from saccade.bench.workload import BenchSpec

if TYPE_CHECKING:
    from peft import LoraConfig


class WithoutVideos(ProcessorMixin):  # type: ignore[misc]
    """Makes a family's processor one without videos, whose part needs packages that pictures do not."""

    def __init__(self, image_processor: object, tokenizer: PreTrainedTokenizerFast, **settings: object) -> None:
        super().__init__(image_processor, tokenizer, None, chat_template=tokenizer.chat_template, **settings)


_PROCESSORS: Mapping[str, type] = {
    name: type("PictureProcessor", (WithoutVideos, processor), {})
    for name, processor in (
        ("qwen2_5_vl", Qwen2_5_VLProcessor),
        ("qwen3_vl", Qwen3VLProcessor),
        ("internvl", InternVLProcessor),
    )
}


def load_processor(spec: BenchSpec) -> ProcessorMixin:
    """The family's own processor, with the benchmark's chat template."""
    config = AutoConfig.from_pretrained(spec.model, local_files_only=True, trust_remote_code=False)
    tokenizer = AutoTokenizer.from_pretrained(spec.model, local_files_only=True, trust_remote_code=False)
    tokenizer.chat_template = spec.chat_template.read_text()
    images = AutoImageProcessor.from_pretrained(
        spec.model, local_files_only=True, trust_remote_code=False, backend="pil"
    )
    tiles = {"image_seq_length": config.image_seq_length} if config.model_type == "internvl" else {}
    return _PROCESSORS[config.model_type](images, tokenizer, **tiles)


def load_peer_model(spec: BenchSpec) -> PreTrainedModel:
    """In fp32, whatever precision the files have."""
    return AutoModelForImageTextToText.from_pretrained(
        spec.model, local_files_only=True, trust_remote_code=False, dtype="float32"
    )


def peer_adapter(spec: BenchSpec) -> "LoraConfig | None":
    """PEFT's configuration of the adapter that Saccade trains."""
    if (lora := spec.lora) is None:
        return None
    from peft import LoraConfig

    sizes = {"r": lora.rank, "lora_alpha": lora.alpha, "lora_dropout": 0.0}
    return LoraConfig(**sizes, target_modules=lora.targets, task_type="CAUSAL_LM")
