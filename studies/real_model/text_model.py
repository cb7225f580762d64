"""The language model in a GGUF file: its configuration and its weights by the names of transformers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from torch import Tensor

_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


@dataclass(frozen=True, slots=True)
class TextModel:
    """A causal language model (``qwen2`` or ``llama``) in a GGUF file."""

    path: Path
    reader: GGUFReader

    @classmethod
    def open(cls, path: Path) -> "TextModel":
        return cls(path, GGUFReader(str(path)))

    @property
    def architecture(self) -> str:
        return str(self._field("general.architecture"))

    def config(self, vocabulary: int) -> dict[str, object]:
        """The fields of ``Qwen2Config`` or ``LlamaConfig``; head and embedding are one matrix."""
        hidden, heads = self._number("embedding_length"), self._number("attention.head_count")
        theta = float(self._field(f"{self.architecture}.rope.freq_base"))
        return {
            "model_type": self.architecture,
            "vocab_size": vocabulary,
            "hidden_size": hidden,
            "intermediate_size": self._number("feed_forward_length"),
            "num_hidden_layers": self._number("block_count"),
            "num_attention_heads": heads,
            "num_key_value_heads": self._number("attention.head_count_kv"),
            "head_dim": hidden // heads,
            "hidden_act": "silu",
            "max_position_embeddings": self._number("context_length"),
            "rms_norm_eps": round(float(self._field(f"{self.architecture}.attention.layer_norm_rms_epsilon")), 10),
            "rope_parameters": {"rope_type": "default", "rope_theta": theta},
            "tie_word_embeddings": True,
            "use_cache": True,
        }

    def weights(self) -> Iterator[tuple[str, Tensor]]:
        """Each weight in float32 with its name in ``model.*``.

        Published models of this size tie head and embedding. Where the file has both, quantised apart, the head is
        taken: it has more bits.
        """
        tensors = {tensor.name: tensor for tensor in self.reader.tensors}
        if "output.weight" in tensors:
            del tensors["token_embd.weight"]
        for name, tensor in tensors.items():
            values = np.ascontiguousarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32).copy()
            weight = torch.from_numpy(values).reshape(*reversed(tensor.shape.tolist()))
            if self.architecture == "llama" and re.search(r"attn_[qk]\.weight$", name):
                weight = self._halves_apart(weight, "head_count" if "attn_q" in name else "head_count_kv")
            yield _name(name), weight

    def _halves_apart(self, weight: Tensor, heads: str) -> Tensor:
        """Rows of a rotary projection in transformers' order: GGUF's llama interleaves the halves of each head."""
        count = self._number(f"attention.{heads}")
        return weight.view(count, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)

    def _number(self, name: str) -> int:
        return int(self._field(f"{self.architecture}.{name}"))

    def _field(self, name: str) -> str | int | float:
        value = self.reader.fields[name].contents()
        assert isinstance(value, (str, int, float)), name
        return value


def _name(gguf_name: str) -> str:
    if gguf_name in ("token_embd.weight", "output.weight"):
        return "embed_tokens.weight"
    if gguf_name == "output_norm.weight":
        return "norm.weight"
    found = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", gguf_name)
    if found is None:
        raise ValueError(f"the GGUF file has a weight {gguf_name!r}, which is neither Qwen2's nor Llama's")
    layer, part, kind = found.groups()
    return f"layers.{layer}.{_LAYER_NAMES[part]}.{kind}"
