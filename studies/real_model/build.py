"""Build a small VLM in InternVL's published layout out of published weights that packages of the Python index ship.

``python -m studies.real_model.build --out coder05``: Qwen2.5-Coder-0.5B-Instruct with DINOv2-small as the tower. The
projector alone is new: it is drawn by ``--seed`` and knows nothing.
"""

import argparse
import json
import resource
from pathlib import Path

import torch
from safetensors.torch import save_file
from studies.real_model.packages import CODER, DINOV2_SMALL, SMOLLM2, weights_file
from studies.real_model.text_model import TextModel
from studies.real_model.tower import PATCH_PX, tower_weights, vision_config
from torch import Tensor
from transformers import AutoTokenizer, InternVLConfig

from saccade.errors import UserError

_SOURCES = {"coder": CODER, "smollm2": SMOLLM2}
_NEW_TOKENS = ("<img>", "</img>", "<IMG_CONTEXT>", "<quad>", "</quad>", "<ref>", "</ref>", "<box>", "</box>", "<video>")
_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for content in message['content'] %}{% if content['type'] == 'image' %}{{ '<IMG_CONTEXT>\n' }}"
    "{% elif content['type'] == 'video' %}{{ '<video>\n' }}"
    "{% elif content['type'] == 'text' %}{{ content['text'] }}{% endif %}{% endfor %}{% endif %}"
    "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def build(*, text: str, out: Path, cache: Path, tile_px: int, downsample: float, seed: int, dtype: str) -> None:
    """Write the checkpoint into ``out``: weights, configuration, tokenizer, template, processor."""
    gguf = weights_file(_SOURCES[text], cache, f"{text}.gguf")
    onnx = weights_file(DINOV2_SMALL, cache, "dinov2_small.onnx")
    out.mkdir(parents=True, exist_ok=True)
    ids = write_tokenizer(gguf, out)
    model = TextModel.open(gguf)
    tensors: dict[str, Tensor] = {}
    precision = {"bfloat16": torch.bfloat16, "float32": torch.float32}[dtype]
    for name, weight in model.weights():
        if name == "embed_tokens.weight":
            weight = _with_rows_for(weight, ids)
        tensors[f"model.language_model.{name}"] = weight.to(precision)
    vocabulary, hidden = tensors["model.language_model.embed_tokens.weight"].shape
    for name, weight in tower_weights(onnx, tile_px):
        tensors[f"model.vision_tower.{name}"] = weight.to(precision)
    config = InternVLConfig(
        text_config=model.config(vocabulary),
        vision_config=vision_config(tile_px),
        image_token_id=ids["<IMG_CONTEXT>"],
        image_seq_length=int((tile_px / PATCH_PX * downsample) ** 2),
        downsample_ratio=downsample,
        tie_word_embeddings=True,
    )
    for name, weight in _projector(config, seed).items():
        tensors[f"model.multi_modal_projector.{name}"] = weight.to(precision)
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    _write_settings(config, tile_px, dtype, out)
    count = sum(weight.numel() for weight in tensors.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{out}: {count / 1e6:.1f} M weights, hidden size {hidden}, peak memory {peak:.1f} GB")
    print(f"text: {_SOURCES[text].upstream} ({_SOURCES[text].licence})")
    print(f"tower: {DINOV2_SMALL.upstream} ({DINOV2_SMALL.licence}); the projector is new")


def write_tokenizer(gguf: Path, out: Path) -> dict[str, int]:
    """Write the language model's tokenizer with InternVL's tokens after its last; their ids."""
    AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name).save_pretrained(out)
    path = out / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    words = tokenizer["model"]["vocab"]
    for padding in [word for word in words if word.startswith("[PAD")]:
        del words[padding]
    tokenizer["added_tokens"] = [
        token for token in tokenizer["added_tokens"] if not token["content"].startswith("[PAD")
    ]
    first = 1 + max(*words.values(), *(token["id"] for token in tokenizer["added_tokens"]))
    form = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    ids = {token: first + place for place, token in enumerate(_NEW_TOKENS)}
    tokenizer["added_tokens"] += [{"id": number, "content": token, **form} for token, number in ids.items()]
    path.write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    settings_path = out / "tokenizer_config.json"
    settings = json.loads(settings_path.read_text(encoding="utf-8"))
    settings.pop("added_tokens_decoder", None)
    settings["extra_special_tokens"] = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    settings["eos_token"] = "<|im_end|>"
    settings_path.write_text(json.dumps(settings, indent=2, ensure_ascii=False), encoding="utf-8")
    (out / "chat_template.jinja").write_text(_TEMPLATE, encoding="utf-8")
    return ids


def _with_rows_for(weight: Tensor, ids: dict[str, int]) -> Tensor:
    """The embedding with a row for each new id; where the table is too short, rows are the mean of the others."""
    missing = 1 + max(ids.values()) - len(weight)
    if missing <= 0:
        return weight
    return torch.cat([weight, weight.mean(dim=0, keepdim=True).expand(missing, -1)])


def _projector(config: InternVLConfig, seed: int) -> dict[str, Tensor]:
    from transformers.models.internvl.modeling_internvl import InternVLMultiModalProjector

    torch.manual_seed(seed)
    projector = InternVLMultiModalProjector(config)
    for module in projector.modules():
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=config.text_config.initializer_range)
            torch.nn.init.zeros_(module.bias)
    return projector.state_dict()


def _write_settings(config: InternVLConfig, tile_px: int, dtype: str, out: Path) -> None:
    described = {**config.to_dict(), "architectures": ["InternVLForConditionalGeneration"], "dtype": dtype}
    files: dict[str, dict[str, object]] = {
        "config.json": described,
        "generation_config.json": {"eos_token_id": config.text_config.eos_token_id},
        "processor_config.json": {
            "image_seq_length": config.image_seq_length,
            "processor_class": "InternVLProcessor",
        },
        "preprocessor_config.json": {
            "image_processor_type": "GotOcr2ImageProcessor",
            "processor_class": "InternVLProcessor",
            "crop_to_patches": False,
            "min_patches": 1,
            "max_patches": 1,
            "size": {"height": tile_px, "width": tile_px},
            "image_mean": [0.485, 0.456, 0.406],
            "image_std": [0.229, 0.224, 0.225],
            "do_resize": True,
            "do_rescale": True,
            "do_normalize": True,
            "do_convert_rgb": True,
            "resample": 3,
            "rescale_factor": 1 / 255,
        },
    }
    if files["generation_config.json"]["eos_token_id"] is None:
        del files["generation_config.json"]
    for name, content in files.items():
        (out / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", choices=sorted(_SOURCES), default="coder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/saccade/real_model").expanduser())
    parser.add_argument("--tile-px", type=int, default=224, help="pixels a side of a tile, a multiple of 28")
    parser.add_argument("--downsample", type=float, default=0.5, help="0.5: 64 tokens a tile of 224 px; 0.25: 16")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=("bfloat16", "float32"), default="bfloat16")
    options = parser.parse_args()
    try:
        build(
            text=options.text,
            out=options.out,
            cache=options.cache,
            tile_px=options.tile_px,
            downsample=options.downsample,
            seed=options.seed,
            dtype=options.dtype,
        )
    except UserError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
