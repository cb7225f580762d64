"""How much memory a training step takes with a large vocabulary, as the number of action tokens grows.

    python benchmarks/logprob_memory.py [--vocabulary 150000] [--tokens 512 4096] [--plain]

Each step, forward and backward of a tiny Qwen2.5-VL with a large vocabulary, runs in a process of its own; what counts
is how far it lifts the peak of that process's resident memory. ``--plain`` takes the logits of all tokens at once
instead, as ``log_softmax`` over a model's whole output does. Prints one JSON line per measurement. Linux only.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import torch

from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.logprobs import action_tokens, logits_at_once
from saccade.learner.sequences import TrainingSequence
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel

PROMPT_TOKENS = 64


def large_vocabulary_model(vocabulary: int) -> VisionLanguageModel:
    """A tiny model whose head has so many rows; ids beyond its tokenizer are forbidden, as in any padded vocabulary."""
    media = MediaStore()
    small = tiny_model(["Which plate is red?"] * 9, media, family="qwen2_5_vl", size=TinySize(hidden=32, mlp=64))
    small.hf.resize_token_embeddings(vocabulary, mean_resizing=False)
    return VisionLanguageModel(small.hf, small.tokenizer, small.image_processor, media)


def group(action_count: int) -> list[TrainingSequence]:
    """Eight trajectories after one prompt, with so many action tokens in all."""
    count = action_count // 8
    one = TrainingSequence(
        ids=tuple(100 + i % 50 for i in range(PROMPT_TOKENS + count)),
        is_action=(False,) * PROMPT_TOKENS + (True,) * count,
        images=(),
        prompt_tokens=PROMPT_TOKENS,
        prompt_images=0,
        sampled_logprobs=(0.0,) * count,
        advantages=(1.0,) * count,
        token_weight=1.0 / action_count,
    )
    return [replace(one, ids=(*one.ids[:-1], 100 + index)) for index in range(8)]


def step(model: VisionLanguageModel, action_count: int, *, plain: bool) -> None:
    """Forward and backward. Frozen embeddings would hide the gradient of the head, so all weights are trained."""
    model.hf.zero_grad()
    if plain:
        ids = torch.tensor([one.ids for one in group(action_count)])
        logits = model.hf(input_ids=ids).logits[:, PROMPT_TOKENS - 1 : -1].float()
        logprobs = logits.log_softmax(dim=-1).gather(-1, ids[:, PROMPT_TOKENS:, None])
        (-logprobs.sum() / action_count).backward()
    else:
        negative_log_likelihood(action_tokens(model, group(action_count), temperature=1.0)).value.backward()


def peak_bytes() -> int:
    """Peak of this process's resident memory so far."""
    # Not getrusage: its peak is that of the process before exec, which may be a large one.
    status = Path("/proc/self/status").read_text()
    [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(kilobytes) * 1024


def lifted_bytes(vocabulary: int, action_count: int, *, plain: bool) -> int:
    """Bytes by which a step lifts the peak over that of a step of eight tokens, which has the weights' gradients."""
    model = large_vocabulary_model(vocabulary)
    step(model, 8, plain=plain)
    before = peak_bytes()
    step(model, action_count, plain=plain)
    return peak_bytes() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=int, default=150_000)
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 4096])
    parser.add_argument("--plain", action="store_true", help="all logits at once")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    if len(chosen.tokens) > 1:
        for tokens in chosen.tokens:
            # A peak never falls again, so every measurement has a process of its own.
            options = [
                "--vocabulary",
                str(chosen.vocabulary),
                "--tokens",
                str(tokens),
                "--threads",
                str(chosen.threads),
            ]
            subprocess.run([sys.executable, __file__, *options, *["--plain"] * chosen.plain], check=True)
        return
    [tokens] = chosen.tokens
    lifted = lifted_bytes(chosen.vocabulary, tokens, plain=chosen.plain)
    print(
        json.dumps(
            {
                "vocabulary": chosen.vocabulary,
                "action_tokens": tokens,
                "plain": chosen.plain,
                "lifted_mib": round(lifted / 2**20, 1),
                "all_logits_mib": round(tokens * chosen.vocabulary * 4 / 2**20, 1),
                "chunk_mib": round(logits_at_once(on_gpu=False) * 4 / 2**20, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
