"""A tiny ColQwen2 taught on drawn pages: whether it finds the page of a question, in documents and among all pages.

    python -m studies.retrieval.page_encoder --seeds 0 1 2 --json studies/retrieval/page_encoder.json

For each seed an encoder is taught, saved, and loaded as any checkpoint is. Held-out documents are drawn from another
seed. Inside a document the question names a head alone, among all pages the document's code too. Reported: recall at
1, 3 and 5 and MRR@5 by the measures of ``saccade.retrieval``, and seconds.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import torch
from studies.seed_runs import Row, rounded

from saccade.gym.drawn.pages import DrawnDocument, SoughtPlate, asked_text, drawn_document
from saccade.miniature.page_encoder import EncoderLessons, taught_page_encoder
from saccade.retrieval import mrr_at, recall_at
from saccade.seeding import generator_for
from saccade.types import Page
from saccade.vision_models import load_page_encoder

HELD_OUT = 1_000_003
KS = (1, 3, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=EncoderLessons().steps)
    parser.add_argument("--documents", type=int, default=84, help="Held-out documents of twelve pages.")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--out", type=Path, help="Keep the encoders here.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for seed in arguments.seeds:
            folder = (arguments.out or Path(temporary)) / f"encoder-{seed}"
            rows.append(measured(folder, seed, arguments.steps, arguments.documents, arguments.questions))
            print(json.dumps(rounded(rows[-1])), flush=True)
    if arguments.json:
        head = {"command": "python -m studies.retrieval.page_encoder", "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps(rounded({**head, "runs": rows}), indent=1) + "\n", encoding="utf-8")


def measured(folder: Path, seed: int, steps: int, documents: int, questions: int) -> Row:
    """One encoder: taught, and asked."""
    start = time.monotonic()
    if not (folder / "config.json").exists():
        taught_page_encoder(folder, EncoderLessons(steps=steps), seed=seed)
    taught_s = time.monotonic() - start
    encoder = load_page_encoder(folder)
    drawn = [drawn_document(generator_for(HELD_OUT, "document", index)) for index in range(documents)]
    start = time.monotonic()
    pages = [page.vectors for one in drawn for page in encoder.encode_pages(pictures(one))]
    encoded_s = time.monotonic() - start
    names = [
        Page(document=f"{index}", number=number)
        for index, one in enumerate(drawn)
        for number in range(1, len(one.pages) + 1)
    ]
    rng = generator_for(HELD_OUT, "questions")
    asked = [(int(rng.integers(documents)), int(rng.integers(12))) for _ in range(questions)]
    inside, among = [], []
    for document, page in asked:
        sought = [SoughtPlate(page=page, plate=drawn[document].pages[page].plates[0])]
        gold = [Page(document=f"{document}", number=page + 1)]
        for found, of in ((inside, False), (among, True)):
            [query] = encoder.encode_questions([asked_text(drawn[document], sought, names_document=of)])
            first, beyond = (0, len(pages)) if of else (12 * document, 12 * document + 12)
            found.append((ranked(query, pages[first:beyond], names[first:beyond]), gold))
    return {
        "seed": seed,
        "steps": steps,
        "taught_s": taught_s,
        "pages": len(pages),
        "encoded_s": encoded_s,
        "in documents": measures(inside),
        "among all pages": measures(among),
    }


def pictures(document: DrawnDocument) -> list:
    return [document.picture(index, EncoderLessons().mark_px) for index in range(len(document.pages))]


def ranked(query: np.ndarray, pages: Sequence[np.ndarray], names: Sequence[Page]) -> list[Page]:
    scores = [float((query @ page.T).max(axis=1).sum()) for page in pages]
    return [names[place] for place in np.argsort(scores, kind="stable")[::-1][: max(KS)]]


def measures(found: Sequence[tuple[list[Page], list[Page]]]) -> Row:
    def mean(values: Sequence[float | None]) -> float:
        return statistics.mean(value for value in values if value is not None)

    recalls = {f"recall@{k}": mean([recall_at(pages, gold, k) for pages, gold in found]) for k in KS}
    return {**recalls, "mrr@5": mean([mrr_at(pages, gold, 5) for pages, gold in found])}


if __name__ == "__main__":
    main()
