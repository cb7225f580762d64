"""What frameworks beside ours load: transformers' own model and processor, and PEFT's adapter on it."""

from typing import TYPE_CHECKING

from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForImageTextToText,
    AutoTokenizer,
    PreTrainedModel,
    ProcessorMixin,
)

from saccade.bench.workload import BenchSpec
from saccade.models.families import family_of
from saccade.models.own_processor import own_processor

if TYPE_CHECKING:
    from peft import LoraConfig


def load_processor(spec: BenchSpec) -> ProcessorMixin:
    """The family's own processor, with the benchmark's chat template."""
    config = AutoConfig.from_pretrained(spec.model, local_files_only=True, trust_remote_code=False)
    tokenizer = AutoTokenizer.from_pretrained(spec.model, local_files_only=True, trust_remote_code=False)
    tokenizer.chat_template = spec.chat_template.read_text()
    images = AutoImageProcessor.from_pretrained(
        spec.model, local_files_only=True, trust_remote_code=False, backend="pil"
    )
    settings = family_of(config.model_type).processor_config(config)
    return own_processor(config.model_type, images, tokenizer, settings)


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
