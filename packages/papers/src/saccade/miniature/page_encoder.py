"""A tiny ColQwen2 taught on drawn pages: a real encoder of pages by late interaction, made in minutes on one core.

    python -m saccade.miniature.page_encoder --out runs/page_encoder --seed 0

It tells colours, not letters: a page is found by the colours of its head, a document by the colours of its code.
"""

import argparse
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor
from transformers import ColQwen2Config, ColQwen2ForRetrieval, ColQwen2Processor, PreTrainedTokenizerFast
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from saccade.gym.drawn.pages import SoughtPlate, asked_text, drawn_document
from saccade.seeding import generator_for, seed_for
from saccade.tasks.drawing import COLOUR_NAMES

logger = logging.getLogger(__name__)

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VISION = ("<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")
WORDS = (
    *("On", "on", "the", "page", "headed", "of", "document", "which", "mark", "marks", "is", "are", "plate", "and"),
    *("Which", "Query", "Describe", "image", "user", "assistant", "system", ",", ":", "?", "."),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EncoderLessons:
    """How long and on what a tiny encoder is taught."""

    steps: int = 900
    documents: int = 8
    """Documents in a step of which two pages each are asked for; twice as many where one page is."""
    learning_rate: float = 7e-4
    temperature: float = 0.05
    """Of the softmax over the pages of a step, of the mean MaxSim of a question's vectors."""
    mark_px: int = 28


def new_page_encoder(*, view_px: int = 128, hidden: int = 64, seed: int = 0) -> tuple[Any, Any]:
    """A randomly initialised ColQwen2ForRetrieval and its processor; pages are seen at ``view_px`` squared."""
    tokenizer = _tokenizer()
    image, video, start, end = tokenizer.convert_tokens_to_ids(list(VISION))
    # A box filter: a view is the exact mean of the pixels under it.
    pixels = Qwen2VLImageProcessorPil(
        patch_size=8, temporal_patch_size=2, merge_size=2, min_pixels=view_px**2, max_pixels=view_px**2, resample=4
    )
    half = hidden // 4 // 2
    text_config = {
        "hidden_size": hidden,
        "intermediate_size": 3 * hidden,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.1,
        "bos_token_id": None,
        "eos_token_id": None,
        "rope_scaling": {"type": "mrope", "mrope_section": [half - 2 * (half // 3), half // 3, half // 3]},
        "vocab_size": len(tokenizer),
    }
    vision_config = {
        "depth": 1,
        "embed_dim": hidden,
        "hidden_size": hidden,
        "num_heads": 4,
        "mlp_ratio": 2,
        "patch_size": 8,
        "initializer_range": 0.1,
    }
    config = ColQwen2Config(
        vlm_config={
            "model_type": "qwen2_vl",
            "text_config": text_config,
            "vision_config": vision_config,
            "image_token_id": image,
            "video_token_id": video,
            "vision_start_token_id": start,
            "vision_end_token_id": end,
        },
        embedding_dim=32,
        initializer_range=0.1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = ColQwen2ForRetrieval(config)
    return model, ColQwen2Processor(pixels, tokenizer)


def taught_page_encoder(folder: Path, lessons: EncoderLessons = EncoderLessons(), *, seed: int = 0) -> list[float]:
    """Teaches a new encoder and saves it in transformers' layout; the loss of each step."""
    model, processor = new_page_encoder(seed=seed_for(seed, "weights"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=lessons.learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, lessons.learning_rate, total_steps=lessons.steps, pct_start=0.1
    )
    losses = []
    for step, (questions, pages) in zip(range(lessons.steps), lesson_batches(lessons, seed)):
        asked, asked_mask = vectors(model, processor.process_queries(text=questions))
        seen, seen_mask = vectors(model, processor.process_images(images=pages))
        scores = mean_maxsim(asked, asked_mask, seen, seen_mask) / lessons.temperature
        # Where documents are not named, a head may stand in two of them: neither page is wrong then.
        same = [
            [one == other and place != at for at, other in enumerate(questions)] for place, one in enumerate(questions)
        ]
        scores = scores.masked_fill(torch.tensor(same), -torch.inf)
        loss = torch.nn.functional.cross_entropy(scores, torch.arange(len(questions)))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 0:
            logger.info("step %d: loss %.3f", step, losses[-1])
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return losses


def lesson_batches(lessons: EncoderLessons, seed: int) -> Iterator[tuple[list[str], list[Image.Image]]]:
    """Questions without an end and the page of each.

    Every third step is about two pages of each document, with each other's head turned round, and names no document;
    the others are about one page each of twice as many documents, which they name.
    """
    step = 0
    while True:
        questions, pages = [], []
        names_document = step % 3 > 0
        for place in range(lessons.documents * (2 if names_document else 1)):
            rng = generator_for(seed, "lessons", step, place)
            document = drawn_document(rng)
            first = int(rng.integers(len(document.pages)))
            turned = document.pages[first].head[::-1]
            second = next(index for index, page in enumerate(document.pages) if page.head == turned)
            for page in (first,) if names_document else (first, second):
                plates = document.pages[page].plates[: int(rng.integers(1, 3))]
                sought = [SoughtPlate(page=page, plate=plate) for plate in plates]
                questions.append(asked_text(document, sought, names_document=names_document))
                pages.append(document.picture(page, lessons.mark_px))
        yield questions, pages
        step += 1


def vectors(model: Any, inputs: Any) -> tuple[Tensor, Tensor]:
    """Vectors (row, token, dimension), and which of them are there."""
    tensors = {name: value for name, value in inputs.items() if name not in ("labels", "token_type_ids")}
    embeddings: Tensor = model(**tensors).embeddings
    return embeddings, inputs["attention_mask"].bool()


def mean_maxsim(asked: Tensor, asked_mask: Tensor, seen: Tensor, seen_mask: Tensor) -> Tensor:
    """MaxSim of each question with each page, as the mean over the question's vectors: (question, page)."""
    products = torch.einsum("qtd,psd->qpts", asked, seen).masked_fill(~seen_mask[None, :, None, :], -1.0)
    best = products.amax(dim=3) * asked_mask[:, None, :]
    return best.sum(dim=2) / asked_mask.sum(dim=1, keepdim=True)


def _tokenizer() -> PreTrainedTokenizerFast:
    """A token for each word."""
    special = [*SPECIAL, *VISION]
    known = dict.fromkeys([*special, "[UNK]", *WORDS, *COLOUR_NAMES])
    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(known)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token="<|endoftext|>", additional_special_tokens=special
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=EncoderLessons().steps)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(given.threads)
    losses = taught_page_encoder(given.out, EncoderLessons(steps=given.steps), seed=given.seed)
    logger.info("loss %.3f at last, %s", sum(losses[-20:]) / 20, given.out)


if __name__ == "__main__":
    main()
