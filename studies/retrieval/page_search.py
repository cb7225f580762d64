"""Search of 100,008 drawn pages by a taught encoder: what is found, and at what time, memory and space.

    python -m studies.retrieval.page_search --out /tmp/page_search --json studies/retrieval/page_search.json

A tiny ColQwen2 is taught as in ``page_encoder.py``, drawn pages are encoded in a stream into an index, with their
pictures as ``saccade index`` keeps them. What is in ``--out`` is not made again. Questions name a head, and the
document's code where more than the document is searched; those that fit two pages there are left out. Each way of
searching is asked in a process of its own, encoder and all, whose memory is told with the mapped files in it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from studies.retrieval.page_encoder import HELD_OUT, measures
from studies.seed_runs import Row, rounded

from saccade.gym.drawn.pages import PAGES, DrawnDocument, SoughtPlate, asked_text, drawn_document
from saccade.media.store import image_hash
from saccade.retrieval import FirstStage, IndexSettings, PageStore, TwoStageIndex, build_first_stage, open_index
from saccade.retrieval.building import IndexWriter
from saccade.retrieval.layout import IndexEntry, IndexPaths
from saccade.retrieval.sources import DraftedPage
from saccade.seeding import generator_for
from saccade.types import Page
from saccade.vision_models.kinds import PageEncoder, PageVectors

SMALL = 84
"""Documents of the small corpus, which are the first of the large one: 1,008 pages."""
MARK_PX = 28
WAYS = ["all-int8:400", "32-int8:400", "32-int8:1000", "32-int8:0", "32-signs:0", "all-signs:400", "all-signs:0"]
"""First stages and numbers of candidates; 0 takes the default."""


class Question(NamedTuple):
    text: str
    gold: Page


class KeptVectors:
    """An encoder that keeps its pages' vectors as they are, too, to hold what is found by rounded ones against."""

    def __init__(self, encoder: PageEncoder, file: Path) -> None:
        self.identity, self.dimension = encoder.identity, encoder.dimension
        self._encoder, self._file = encoder, file

    def encode_pages(self, images: Sequence[Image.Image]) -> list[PageVectors]:
        pages = list(self._encoder.encode_pages(images))
        with self._file.open("ab") as file:
            file.write(np.concatenate([page.vectors for page in pages]).tobytes())
        return pages

    def encode_questions(self, texts: Sequence[str]) -> Sequence[NDArray[np.float32]]:
        return self._encoder.encode_questions(texts)


def document(number: int) -> DrawnDocument:
    return drawn_document(generator_for(HELD_OUT, "document", number))


def questions(drawn: Sequence[DrawnDocument], count: int, *, names_document: bool) -> tuple[list[Question], int]:
    """So many that fit one page of these documents, and how many were left out since they fit two."""
    fitting = Counter((one.code, page.head) for one in drawn for page in one.pages)
    rng = generator_for(HELD_OUT, "questions", len(drawn), int(names_document))
    found: list[Question] = []
    left_out = 0
    while len(found) < count:
        number, place = int(rng.integers(len(drawn))), int(rng.integers(PAGES))
        page = drawn[number].pages[place]
        if names_document and fitting[drawn[number].code, page.head] > 1:
            left_out += 1
            continue
        sought = [SoughtPlate(page=place, plate=page.plates[0])]
        text = asked_text(drawn[number], sought, names_document=names_document)
        found.append(Question(text, Page(document=f"{number}", number=place + 1)))
    return found, left_out


def build(folder: Path, encoder: PageEncoder, documents: int, settings: IndexSettings) -> Row:
    """The index, drawn, encoded and written in a stream; what that took."""
    (folder / "index").mkdir()
    writer = IndexWriter(IndexPaths(folder / "index"), KeptVectors(encoder, folder / "vectors.fp32"), settings)
    started, cpu = time.perf_counter(), time.process_time()
    for block in blocks(documents, settings.block_pages):
        writer.write(block)
    took: Row = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
    took |= {"pages": documents * PAGES, "precision": settings.precision}
    return {**took, "peak_memory_gib": memory_gib("VmHWM"), "load": os.getloadavg()[2]}


def blocks(documents: int, pages: int) -> Iterator[list[DraftedPage]]:
    block: list[DraftedPage] = []
    for number in range(documents):
        drawn = document(number)
        for place in range(PAGES):
            image = drawn.picture(place, MARK_PX)
            picture = f"{image_hash(image)}.png"
            entry = IndexEntry(
                file=f"{number}", sha256="drawn", document=f"{number}", number=place + 1, picture=picture
            )
            block.append(DraftedPage(entry=entry, image=image))
            if len(block) == pages:
                yield block
                block = []
    if block:
        yield block


def found_pages(index: PageStore, encoder: PageEncoder, drawn: Sequence[DrawnDocument], count: int) -> Row:
    """Recall and MRR of the exact search in documents, among the first pages and among all."""
    rows: Row = {}
    for name, documents, of in (
        ("in documents", len(drawn), False),
        (f"among {SMALL * PAGES} pages", SMALL, True),
        (f"among {len(index)} pages", len(drawn), True),
    ):
        asked, left_out = questions(drawn[:documents], count, names_document=of)
        found = []
        for one in asked:
            [query] = encoder.encode_questions([one.text])
            places = index.places(None if of else one.gold.document)
            hits = index.best_of(query, places[: documents * PAGES], 5)
            found.append(([hit.page for hit in hits], [one.gold]))
        rows[name] = {**measures(found), "questions": count, "left_out": left_out}
    return rows


def unrounded_best(folder: Path, index: PageStore, queries: Sequence[NDArray[np.float32]]) -> list[list[str]]:
    """The three best pages of each query by the vectors as the encoder gave them."""
    rows, pages = index.rows, index.pages()
    vectors = np.memmap(folder / "vectors.fp32", dtype=np.float32, mode="r").reshape(-1, index.header.dimension)
    scores = np.empty((len(queries), len(pages)), dtype=np.float32)
    for begin in range(0, len(pages), 200):
        end = min(begin + 200, len(pages))
        block = vectors[rows.first[begin] : rows.beyond[end - 1]]
        starts = rows.first[begin:end] - rows.first[begin]
        for number, query in enumerate(queries):
            scores[number, begin:end] = np.maximum.reduceat(block @ query.T, starts, axis=0).sum(axis=1)
    return [[str(pages[place]) for place in np.argsort(-line, kind="stable")[:3]] for line in scores]


def ask(folder: str, way: str, candidates: str, threads: str, texts: str) -> None:
    """The child: prints what it found, how long encoding and searching took, and its size."""
    from saccade.vision_models import load_page_encoder

    encoder = load_page_encoder(Path(folder) / "encoder")
    exact = open_index(Path(folder) / "index", threads=int(threads))
    index = exact if way == "exact" else TwoStageIndex(exact, FirstStage.read(way), candidates=int(candidates) or None)
    asked = json.loads(texts)
    index.search(encoder.encode_questions(asked[:1])[0], 3)
    found, encoding, searching, cpu = [], [], [], []
    for text in asked:
        begun = time.perf_counter()
        [query] = encoder.encode_questions([text])
        encoded, cpu_before = time.perf_counter(), time.process_time()
        found.append([str(hit.page) for hit in index.search(query, 3)])
        searching.append(time.perf_counter() - encoded)
        encoding.append(encoded - begun)
        cpu.append(time.process_time() - cpu_before)
    memory: Row = {
        "candidates": getattr(index, "candidates", None),
        "memory_gib": memory_gib("VmHWM"),
        "of_it_mapped_files_gib": memory_gib("RssFile"),
    }
    print(json.dumps({"found": found, "encoding": encoding, "searching": searching, "cpu": cpu, **memory}))


def memory_gib(field: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split(f"{field}:")[1].split()[0]) / 2**20


def way_of_searching(
    folder: Path, way: str, candidates: int, arguments: argparse.Namespace, texts: Sequence[str]
) -> Row:
    load = os.getloadavg()[0]
    command = [
        *(sys.executable, "-m", "studies.retrieval.page_search", "--ask"),
        str(folder),
        way,
        str(candidates),
        str(arguments.threads),
    ]
    said = json.loads(subprocess.run([*command, json.dumps(texts)], check=True, capture_output=True, text=True).stdout)
    times = said.pop("searching")
    return {
        "way": way,
        "median_s": statistics.median(times),
        "p95_s": float(np.quantile(times, 0.95)),
        "cpu_s": statistics.median(said.pop("cpu")),
        "encoding_the_question_s": statistics.median(said.pop("encoding")),
        "load": load,
        **said,
    }


def overlap(found: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> float:
    return statistics.mean(len(set(a) & set(b)) / len(b) for a, b in zip(found, wanted, strict=True))


def main() -> None:
    if sys.argv[1:2] == ["--ask"]:
        ask(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--precision", choices=["fp16", "int8"], default="fp16", help="Of the index.")
    parser.add_argument("--documents", type=int, default=8334, help="Of twelve pages.")
    parser.add_argument("--questions", type=int, default=300, help="For what is found.")
    parser.add_argument("--timed", type=int, default=100, help="Questions that every way of searching is asked.")
    parser.add_argument("--ways", nargs="+", default=WAYS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="Of the encoder.")
    parser.add_argument("--json", type=Path)
    measured = scaled(parser.parse_args())
    if path := parser.parse_args().json:
        head = {"command": "python -m studies.retrieval.page_search", "date": date.today().isoformat()}
        path.write_text(json.dumps(rounded({**head, **measured}), indent=1) + "\n", encoding="utf-8")


def scaled(arguments: argparse.Namespace) -> Row:
    """All measures, said as they are made."""
    import torch

    from saccade.miniature.page_encoder import EncoderLessons, taught_page_encoder
    from saccade.vision_models import load_page_encoder

    torch.set_num_threads(1)
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "encoder/config.json").exists():
        taught_page_encoder(folder / "encoder", EncoderLessons(mark_px=MARK_PX), seed=arguments.seed)
    encoder = load_page_encoder(folder / "encoder")
    if not (folder / "build.json").exists():
        settings = IndexSettings(precision=arguments.precision)
        (folder / "build.json").write_text(json.dumps(build(folder, encoder, arguments.documents, settings)))
    index = open_index(folder / "index", threads=arguments.threads)
    measured: Row = {"built": json.loads((folder / "build.json").read_text()), "size_mb": sizes(index)}
    print(json.dumps(rounded(measured)), flush=True)
    drawn = [document(number) for number in range(len(index) // PAGES)]
    measured["found"] = found_pages(index, encoder, drawn, arguments.questions)
    print(json.dumps(rounded(measured["found"])), flush=True)
    asked, _ = questions(drawn, arguments.timed, names_document=True)
    texts = [one.text for one in asked]
    unrounded = unrounded_best(folder, index, encoder.encode_questions(texts))
    measured["ways"] = []
    exact: list[list[str]] = []
    for way in ("exact:0", *arguments.ways):
        name, candidates = way.split(":")
        stage_s = stage_mb = 0.0
        if name != "exact":
            stage, started = FirstStage.read(name), time.perf_counter()
            build_first_stage(index, stage)
            stage_s = time.perf_counter() - started
            stage_mb = sum(path.stat().st_size for path in stage.files(index.paths.root, index.header.width)) / 1e6
        row = way_of_searching(folder, name, int(candidates), arguments, texts)
        found = row.pop("found")
        exact = exact or found
        row |= {"recall_of_exact": overlap(found, exact), "recall_of_unrounded": overlap(found, unrounded)}
        row |= {"stage_mb": stage_mb} | ({"stage_built_s": stage_s} if stage_s > 0.01 else {})
        measured["ways"].append(row)
        print(json.dumps(rounded(row)), flush=True)
    return measured


def sizes(index: PageStore) -> Row:
    """Megabytes of the index' parts."""
    paths = index.paths
    files = {"vectors": [paths.vectors, paths.scales], "journal": [paths.journal]}
    files["pictures"] = [path for path in paths.pictures.rglob("*") if path.is_file()]
    return {name: sum(path.stat().st_size for path in parts if path.exists()) / 1e6 for name, parts in files.items()}


if __name__ == "__main__":
    main()
