"""Checkpoint directories before they are loaded: settings of loading, and the checkpoints that ship."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from saccade.checksums import refuse_damaged
from saccade.codec.bounds import Bounds, Positive, check_bounds
from saccade.errors import UserError
from saccade.plain_files import check_plain, plain_bytes, plain_text


def read_checkpoint_json(file: Path) -> Any:
    """A JSON file of a checkpoint directory; UserError where it cannot be read."""
    try:
        return json.loads(plain_bytes(file))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file} cannot be read: {error}; copy the checkpoint again") from error


def language_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a configuration has the sizes of its language model: in ``text_config``, or beside ``vision_config``.

    Qwen2.5-VL was published in the second form.
    """
    part = config.get("text_config")
    return part if isinstance(part, dict) and part else config


def stated_dtype(config: Mapping[str, Any]) -> str:
    """The precision that a configuration says its weights are in; float32 where it says none.

    Qwen3-VL was published with ``dtype`` in ``text_config`` alone.
    """
    said = (part.get(name) for part in (config, language_part(config)) for name in ("dtype", "torch_dtype"))
    return str(next((dtype for dtype in said if dtype), "float32"))


def is_half(config: Mapping[str, Any]) -> bool:
    """Whether a configuration says that its weights are in half precision."""
    return stated_dtype(config) in ("bfloat16", "float16")


def image_settings(directory: Path) -> tuple[Path, Mapping[str, Any]]:
    """The file with the settings of a directory's image processor, and what it says; nothing where there is none.

    transformers 5 writes them into ``processor_config.json``, beside those for videos.
    """
    for name, key in (("processor_config.json", "image_processor"), ("preprocessor_config.json", None)):
        found = read_checkpoint_json(directory / name) if (directory / name).is_file() else None
        inner = found.get(key) if key and isinstance(found, dict) else found
        if isinstance(inner, dict):
            return directory / name, inner
    return directory / "preprocessor_config.json", {}


def refuse_outside_weights(path: Path) -> None:
    """UserError where the index of a checkpoint's weights names a file elsewhere."""
    for index in path.glob("*.index.json"):
        named = read_checkpoint_json(index)
        files = named.get("weight_map") if isinstance(named, dict) else None
        for file in sorted(set(map(str, files.values()))) if isinstance(files, dict) else ():
            if Path(file).name != file:
                raise UserError(f"{index} names the weights {file}, outside the checkpoint; copy the checkpoint again")


ASKING_RECORD, TRAINED_ON_RECORD = "saccade_asking.json", "saccade_trained_on.json"
"""Records that training writes beside what transformers reads in a checkpoint's directory: how its policy is asked, and
what it was trained on. A copy of the policy in another form needs them too."""

TRAINER_PREFIX = "trainer/"
"""Below it training keeps what it needs to go on, and a model does not."""


def refuse_damaged_model(path: Path) -> None:
    """UserError where a file of the model is not what its checksum says; what is below ``trainer`` may be missing."""
    refuse_damaged(path, of=lambda name: not name.startswith(TRAINER_PREFIX))


def refuse_missing_weights(path: Path, missing: Iterable[str]) -> None:
    """UserError where weights are not there, for which transformers would make random numbers up."""
    if names := sorted(missing):
        raise UserError(
            f"{path} lacks {len(names)} of the model's weights ({', '.join(names[:3])}); copy the checkpoint again"
        )


PagedAttention = Literal["gathered", "in_place"]


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """How much the engine in this process works on at once: less takes less memory and more time."""

    max_rows: Positive = 128
    """Trajectories sampled at the same time; others wait for a row."""
    max_chunk_tokens: Positive = 8192
    """Tokens that one forward of prompts or observations has at most, with padding, unless a single one is longer."""
    cache_tokens: Positive | None = None
    """Tokens that the KV cache of all rows together may hold: as many rows are open as fit with some room to write, and
    the last ones give way where it does not last, to be forwarded anew. None for no bound, and on a GPU for what it
    has left. ``saccade plan-memory`` says what a token takes."""
    feature_mib: Positive = 1024
    """Size of the cache of image features for other turns and rows, in MiB."""
    prefix_caching: bool = True
    """Whether what prompts begin alike with, such as instructions, is forwarded once in a batch; it takes no more
    memory."""
    drafts: Annotated[int, Bounds(least=0, most=64)] = 0
    """Tokens that a decode step guesses for each row at most, from what prompts and turns went on with before; those
    that are sampled then spare a step. Tokens stay the same, log-probabilities up to rounding. 0 guesses nothing."""
    paged_attention: PagedAttention = "gathered"
    """Whether decode steps on a GPU gather a layer's keys and values before they attend to them, or read them in place,
    in half precision."""
    keep_graphs: bool = False
    """Whether an engine on a GPU keeps its recorded decode steps (CUDA graphs) and the memory of keys and values that
    they read from batch to batch, also while the learner is at work; ``saccade plan-memory`` counts it then."""

    def check(self) -> None:
        check_bounds(self)


MatmulPrecision = Literal["highest", "high", "medium"]


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    """Where a checkpoint's weights go and how large its pictures are."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """``auto`` is the GPU where torch sees one."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """``auto`` is float32 on a CPU, and on a GPU bfloat16 for a checkpoint in half precision."""
    matmul_precision: MatmulPrecision = "highest"
    """Precision of float32 matrix products, by torch's names. ``medium`` rounds their factors to bfloat16 on CPUs with
    AMX, which multiply them about four times as fast, and for native kernels on those with AVX-512's bf16 (``lscpu``:
    ``avx512_bf16``), twice as fast; ``high`` is TF32 on a GPU. Elsewhere nothing changes."""
    frozen_weights: Literal["full", "int8"] = "full"
    """``int8`` keeps the language model's projections in 8 bits, to train a LoRA adapter beside them in less memory;
    the log says how far off the model then is."""
    min_pixels: int | None = None
    """Smallest area of a view; None keeps what the checkpoint's image processor says."""
    max_pixels: int | Literal["checkpoint"] | None = None
    """Largest area of a view: fewer pixels are fewer image tokens. It is saved with every checkpoint. ``checkpoint``
    keeps what its image processor says; None does too, but at most 1,048,576 where a family takes pictures of any size
    (Qwen3-VL's own file allows 16 times that)."""
    chat_template: Path | None = None
    """A Jinja file in place of the checkpoint's own template. It is saved with every checkpoint."""
    observation_role: Literal["auto", "tool", "user"] = "auto"
    """Role of a tool's result in the chat: ``auto`` is ``tool`` where the template knows that role, else ``user``."""
    untrained_tokens: Literal["spelled", "kept"] = "spelled"
    """Tokens such as ``<tool_call>`` whose weights a checkpoint never trained (their rows of the embedding are those of
    tokens for nothing): ``spelled`` in pieces, as any text, or ``kept``, for who trains them with all weights."""
    deterministic: bool = False
    """The same seed gives the same bytes on a GPU too: deterministic kernels alone, and rows that wait for each other
    as on a CPU, where it is always so."""
    batch_invariant: bool = False
    """Engine and learner give a token the same bits (``mismatch_kl`` is exactly 0), and so does any other batch;
    several times slower."""
    engine: EngineSettings = EngineSettings()

    def check(self) -> None:
        if self.device == "cuda" and not _has_gpu():
            raise UserError("device=cuda, but torch sees no GPU here; use device=cpu or auto")
        for name, value in (("min_pixels", self.min_pixels), ("max_pixels", self.max_pixels)):
            if isinstance(value, int) and value < 1:
                raise UserError(f"{name}={value} must be 1 or more")

    @property
    def torch_device(self) -> str:
        if self.device == "auto":
            return "cuda" if _has_gpu() else "cpu"
        return self.device


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


SHIPPED: Mapping[str, Path] = MappingProxyType(
    {f"saccade:{name}": Path(__file__).parent / f"{name}_checkpoint" for name in ("base", "gym")}
)
"""Tiny checkpoints that ship, by what ``--model`` calls them: ``base``, and ``gym``, the base taught on by
``saccade train perception_words``."""


def stored_dtype(checkpoint: Path) -> str | None:
    """The precision that all weights are in by the headers of the checkpoint's files; None where they differ."""
    from safetensors import SafetensorError, safe_open

    found = set()
    try:
        for file in checkpoint.glob("*.safetensors"):
            with safe_open(check_plain(file), framework="numpy") as weights:
                found |= {weights.get_slice(name).get_dtype() for name in weights.keys()}  # noqa: SIM118
    except (OSError, SafetensorError):
        # What is wrong with the file is said where it is loaded.
        return None
    return _DTYPES.get(found.pop()) if len(found) == 1 else None


_DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}

BRIEF_BELOW_VOCABULARY = 8192
"""Tokenizers smaller than this belong to tiny models, which learn the format by example."""

TINY_BELOW_WEIGHTS = 20_000_000
"""Models smaller than this learn at rates a hundred times those of published ones."""


def base_checkpoint() -> Path:
    """The checkpoint that ``saccade train perception`` made: 1.3 M weights that see coloured things in drawings."""
    return shipped_checkpoint("saccade:base")


def shipped_checkpoint(name: str) -> Path:
    """The checkpoint of ``SHIPPED``; UserError for an unknown name, or where it is not installed."""
    if name not in SHIPPED:
        raise UserError(f"no checkpoint {name!r} ships with Saccade; there are {', '.join(SHIPPED)}")
    if not (SHIPPED[name] / "config.json").is_file():
        raise UserError(f"the checkpoint {name} is missing from this installation ({SHIPPED[name]}); pass --model PATH")
    return SHIPPED[name]


def is_tiny(checkpoint: Path) -> bool:
    """Whether the checkpoint's weights are fewer than ``TINY_BELOW_WEIGHTS``; not where they cannot be counted."""
    return 0 < weight_count(checkpoint) < TINY_BELOW_WEIGHTS


def weight_count(checkpoint: Path) -> int:
    """Numbers in the checkpoint's files, by their headers.

    0 where they cannot be read: what is wrong with the checkpoint is said where it is loaded.
    """
    from safetensors import SafetensorError, safe_open

    count = 0
    try:
        for file in checkpoint.glob("*.safetensors"):
            with safe_open(check_plain(file), framework="numpy") as weights:
                count += sum(math.prod(weights.get_slice(name).get_shape()) for name in weights.keys())  # noqa: SIM118
    except (OSError, SafetensorError):
        return 0
    return count


def instruction_style(checkpoint: Path) -> Literal["brief", "full"]:
    """``brief`` for tiny models, which cannot read instructions; ``full`` for all others."""
    try:
        config = json.loads(plain_text(checkpoint / "config.json"))
        size = int(language_part(config)["vocab_size"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # What is wrong with the checkpoint is said where it is loaded.
        return "full"
    return "brief" if size < BRIEF_BELOW_VOCABULARY else "full"
