"""A tiny Qwen2.5-VL in TRL's trainer whose tokens are forced: what it says is ours, all else is TRL's own."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor
from transformers import (
    AutoImageProcessor,
    AutoTokenizer,
    BatchFeature,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2Config,
    Qwen2ForCausalLM,
)
from trl import GRPOConfig, GRPOTrainer

from saccade.bench.checkpoint import SIZES, write_checkpoint
from saccade.bench.trl_side import RESPONSE_TEMPLATE, ScriptedLogits
from saccade.interop.trl.environment import TrlEnvironment
from saccade.models.own_processor import WithoutVideos

Say = Callable[[int, int], str]
"""What the row of a batch says in its turn, counted from 0."""


class TensorProcessor(WithoutVideos, Qwen2_5_VLProcessor):
    """Gives tensors, as processors do where torchvision is.

    TRL 1.16 counts on it when a turn's tools show no picture; those of Pillow give lists, and it stops.
    """

    def apply_chat_template(self, *arguments: object, **options: object) -> BatchFeature:
        fields = super().apply_chat_template(*arguments, **options)
        for name in ("pixel_values", "image_grid_thw"):
            if name in fields:
                fields[name] = torch.as_tensor(np.stack(fields[name]))
        return fields


def small_trainer(
    folder: Path,
    *,
    environment: type[TrlEnvironment] | dict[str, type[TrlEnvironment]] | None,
    rows: Sequence[Mapping[str, object]],
    reward: Callable[..., list[float | None]],
    say: Say,
    sees: bool = True,
) -> GRPOTrainer:
    """One step of all ``rows``, two rollouts of each. A model that does not see is a tiny Qwen2."""
    model, processor = write_parts(folder, say=say, sees=sees)
    return GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=GRPOConfig(
            output_dir=str(folder / "out"),
            per_device_train_batch_size=2 * len(rows),
            num_generations=2,
            max_completion_length=512,
            max_steps=1,
            learning_rate=1e-3,
            beta=0.0,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            logging_steps=1,
            report_to="none",
            disable_tqdm=True,
            shuffle_dataset=False,
            dataloader_pin_memory=False,
        ),
        train_dataset=Dataset.from_list([dict(row) for row in rows]),
        processing_class=processor,
        environment_factory=environment,
    )


def write_parts(folder: Path, *, say: Say, sees: bool = True) -> tuple[PreTrainedModel, object]:
    """The model whose words are forced, and what prepares its input."""
    checkpoint = folder / "model"
    write_checkpoint(checkpoint, SIZES["tiny"])
    tokenizer = AutoTokenizer.from_pretrained(checkpoint, local_files_only=True)
    tokenizer.response_template = json.loads(json.dumps(RESPONSE_TEMPLATE))
    tokenizer.padding_side = "left"
    if sees:
        images = AutoImageProcessor.from_pretrained(checkpoint, local_files_only=True)
        processor: object = TensorProcessor(images, tokenizer)
        model = Qwen2_5_VLForConditionalGeneration.from_pretrained(checkpoint, dtype="float32", local_files_only=True)
    else:
        processor, model = tokenizer, _blind_model(tokenizer)
    _force(model, tokenizer, say)
    return model, processor


def _blind_model(tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    torch.manual_seed(0)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )


def _force(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, say: Say) -> None:
    generate = model.generate
    turns = itertools.count()

    def forced(*, input_ids: Tensor, **inputs: object) -> Tensor:
        # Rows that called no tool have left the batch; those of these tests all stay.
        turn = next(turns)
        texts = [say(row, turn) for row in range(input_ids.shape[0])]
        said = [[*tokenizer(text, add_special_tokens=False).input_ids, tokenizer.eos_token_id] for text in texts]
        longest = max(len(ids) for ids in said)
        padded = torch.tensor([ids + [tokenizer.eos_token_id] * (longest - len(ids)) for ids in said])
        forcing = LogitsProcessorList([ScriptedLogits(padded, input_ids.shape[1])])
        return generate(input_ids=input_ids, logits_processor=forcing, **inputs)

    model.generate = forced
