"""A tiny text model of Qwen2's architecture, trained on the very prompts that judges of answers are sent.

    python benchmarks/judge_checkpoint.py FOLDER [--steps 400] [--seed 0] [--orders right-first | both]

The prompts are recorded from ``AnswerJudge`` and from CharXiv's rules, asked about drawn questions of
``visual_search`` with right and wrong answers. The tokenizer is a byte-level BPE trained on them. Without a step of
training the weights are random, and the model writes nonsense. ``--orders right-first`` shows it the right answer
before the answer given alone, so that it has never seen the two swapped.
"""

import argparse
import asyncio
import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from saccade.evaluation.benchmarks import BENCHMARKS, judge_replies
from saccade.evaluation.benchmarks.rows import row_of
from saccade.media import MediaStore
from saccade.rewards.judges.llm_judge import AnswerJudge, JudgeClient
from saccade.tasks import generate
from saccade.types import Message, Task

WORDS = ("rows", "columns", "checks", "plain")
END = "<|im_end|>"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
BATCH = 12
WARM_UP = 30


class Recorder:
    """A chat model that keeps the prompts it is sent."""

    def __init__(self, reply: str) -> None:
        self.prompts: list[str] = []
        self._reply = reply

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        self.prompts += ["".join(str(part) for part in message.parts) for message in messages]
        return [self._reply] * samples


def questions() -> list[Task]:
    """One drawn task of each question of the family's training split."""
    media = MediaStore()
    drawn = (
        generate("visual_search", split="train", index=at, seed=0, media=media, difficulty=0.5) for at in range(99)
    )
    return list({one.task.question: one.task for one in drawn}.values())


def answer_prompts(orders: str) -> list[tuple[str, str]]:
    """The prompts of ``AnswerJudge`` with the word that is right to say."""
    found: list[tuple[str, str]] = []
    for task, right, given in itertools.product(questions(), WORDS, WORDS):
        for is_swapped in (False, True) if orders == "both" else (False,):
            recorder = Recorder("YES")
            judge = AnswerJudge(asking=JudgeClient(model=recorder))
            asyncio.run(judge.verdict(with_answer(task, right), given, is_swapped=is_swapped))
            found += [(prompt, "YES" if right == given else "NO") for prompt in recorder.prompts]
    return found


def chart_prompts() -> list[tuple[str, str]]:
    """The prompts of CharXiv's rules with the JSON that is right to say."""
    found: list[tuple[str, str]] = []
    benchmark = BENCHMARKS["charxiv-reasoning"]
    for (name, key), task, right, given in itertools.product(KEYS.items(), questions(), WORDS, WORDS):
        verdict = json.dumps({key: given, "score": int(right == given)})
        recorder = Recorder(verdict)
        row = row_of(benchmark, {"index": "0", "question": task.question, "answer": right}, ())
        asyncio.run(judge_replies(benchmark, name, [row], [given], recorder))
        found += [(prompt, verdict) for prompt in recorder.prompts]
    return found


KEYS = {"vlmevalkit": "extract_answer", "lmms-eval": "extracted_answer"}


def with_answer(task: Task, answer: str) -> Task:
    return replace(task, answer=answer)


def tokenizer_of(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on the texts."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", END]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=700, special_tokens=special, initial_alphabet=alphabet)
    )
    found = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=END, pad_token="<|endoftext|>")
    found.chat_template = TEMPLATE
    return found


def tiny_qwen2(tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    config = Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=4096, tie_word_embeddings=False, bos_token_id=None,
        eos_token_id=tokenizer.convert_tokens_to_ids(END), pad_token_id=0,
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def train(
    model: Qwen2ForCausalLM, tokenizer: PreTrainedTokenizerFast, pairs: Sequence[tuple[str, str]], steps: int, seed: int
) -> None:
    """Cross-entropy on the tokens of the verdicts alone; each batch has as many that agree as that do not."""
    chooser = random.Random(seed)
    encoded = [encoded_pair(tokenizer, prompt, verdict) for prompt, verdict in pairs]
    agrees = [verdict == "YES" or verdict.endswith("1}") for _, verdict in pairs]
    sides = [[one for one, is_yes in zip(encoded, agrees) if is_yes is wanted] for wanted in (True, False)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1.0, (step + 1) / WARM_UP)
        batch = [chooser.choice(side) for side in sides for _ in range(BATCH // 2)]
        longest = max(len(ids) for ids, _ in batch)
        ids = torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in batch])
        labels = torch.full_like(ids, -100)
        for row, (tokens, verdict_tokens) in enumerate(batch):
            labels[row, len(tokens) - verdict_tokens : len(tokens)] = ids[
                row, len(tokens) - verdict_tokens : len(tokens)
            ]
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)


def encoded_pair(tokenizer: PreTrainedTokenizerFast, prompt: str, verdict: str) -> tuple[list[int], int]:
    """The ids of a prompt and its verdict, and how many of them are the verdict's."""
    asked = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=True, return_dict=False
    )
    said = tokenizer.encode(verdict + END, add_special_tokens=False)
    return [*asked, *said], len(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--orders", choices=("right-first", "both"), default="right-first")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    pairs = [*answer_prompts(given.orders), *chart_prompts()]
    tokenizer = tokenizer_of([*(prompt for prompt, _ in pairs), *(verdict for _, verdict in pairs)])
    model = tiny_qwen2(tokenizer)
    print(f"{len(pairs)} prompts, {len(tokenizer)} words, {sum(one.numel() for one in model.parameters()):,} weights")
    train(model, tokenizer, pairs, given.steps, given.seed)
    model.save_pretrained(given.folder)
    tokenizer.save_pretrained(given.folder)


if __name__ == "__main__":
    main()
