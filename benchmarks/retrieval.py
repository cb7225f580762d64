"""Search of pages beside its peers, in one run: seconds a question, what is found, time and space of the index.

    python benchmarks/retrieval.py --pages 10000
    python benchmarks/retrieval.py --pages 0 --large 100000 --large-vectors 64

Pages are drawn: each is about a few of many topics, and a question's vectors are about topics of one page, all with
noise. The first part asks every way of searching in turn, so that a busy machine slows all of them. LanceDB takes part
where it is installed. The second part searches a large corpus in two stages, in a process whose memory is told.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.retrieval import FirstStage, IndexSettings, PageStore, build_first_stage, open_index, open_two_stage
from saccade.retrieval.building import IndexWriter
from saccade.retrieval.layout import IndexEntry, IndexPaths, Precision
from saccade.retrieval.sources import DraftedPage
from saccade.vision_models.kinds import PageVectors

Vectors = NDArray[np.float32]
Search = Callable[[Vectors], Sequence[int]]

TOPICS, PER_PAGE, NOISE = 20_000, 24, 0.6
BLOCK = 256


def unit(vectors: NDArray[np.float64] | Vectors) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


class TopicEncoder:
    """A page's vectors are topics with noise; ``of_page`` says which."""

    identity = "topics"

    def __init__(self, vectors: int, dimension: int) -> None:
        self.dimension, self.vectors = dimension, vectors
        self._rng = np.random.default_rng(0)
        self._topics = unit(self._rng.standard_normal((TOPICS, dimension), dtype=np.float32))
        self.of_page: list[NDArray[np.int64]] = []

    def encode_pages(self, images: Sequence[Image.Image]) -> list[PageVectors]:
        return [PageVectors(vectors=self._page()) for _ in images]

    def _page(self) -> Vectors:
        about = self._rng.integers(0, TOPICS, PER_PAGE)
        self.of_page.append(about)
        return self._noisy(about[np.arange(self.vectors) * PER_PAGE // self.vectors])

    def question(self, page: int, count: int) -> Vectors:
        return self._noisy(self._rng.choice(self.of_page[page], count))

    def _noisy(self, topics: NDArray[np.int64]) -> Vectors:
        noise = self._rng.standard_normal((len(topics), self.dimension), dtype=np.float32)
        return unit(self._topics[topics] + NOISE * unit(noise))


def build(out: Path, encoder: TopicEncoder, pages: int, precision: Precision, threads: int) -> PageStore:
    """An index of drawn pages; says what it took, drawing included."""
    started = time.perf_counter()
    out.mkdir(parents=True)
    writer = IndexWriter(IndexPaths(out), encoder, IndexSettings(precision=precision))
    dot = Image.new("RGB", (1, 1))
    for begin in range(0, pages, BLOCK):
        numbers = range(begin, min(begin + BLOCK, pages))
        names = [f"d{number // 20}" for number in numbers]
        entries = [
            IndexEntry(file=name, sha256="0", document=name, number=number % 20 + 1, picture="dot.png")
            for name, number in zip(names, numbers)
        ]
        writer.write([DraftedPage(entry=entry, image=dot) for entry in entries])
    shape = f"{pages} pages of {encoder.vectors} x {encoder.dimension}"
    print(
        f"{shape}, {precision}: written in {time.perf_counter() - started:.1f} s, {megabytes(out):.0f} MB", flush=True
    )
    return open_index(out, threads=threads)


def megabytes(root: Path) -> float:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 1e6


def found_by(index: PageStore, hits: Sequence[object]) -> list[int]:
    places = {page: place for place, page in enumerate(index.pages())}
    return [places[hit.page] for hit in hits]  # type: ignore[attr-defined]


def beside_peers(root: Path, arguments: argparse.Namespace) -> None:
    # Threads that spin while they wait would slow the peers down on a machine with other work.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OMP_NUM_THREADS", str(arguments.threads))
    import torch
    from transformers.models.colqwen2.processing_colqwen2 import ColQwen2Processor

    torch.set_num_threads(arguments.threads)
    encoder = TopicEncoder(arguments.vectors, arguments.dimension)
    exact = build(root / "int8", encoder, arguments.pages, "int8", arguments.threads)
    same = TopicEncoder(arguments.vectors, arguments.dimension)
    halves = build(root / "fp16", same, arguments.pages, "fp16", arguments.threads)
    pages = [torch.from_numpy(halves.rows.wide(place)) for place in range(arguments.pages)]

    def by_transformers(query: Vectors) -> list[int]:
        scores = ColQwen2Processor.score_retrieval(None, [torch.from_numpy(query)], pages)  # type: ignore[arg-type]
        return [int(place) for place in scores[0].topk(3).indices]

    ways: dict[str, Search] = {
        "ours, int8": lambda query: found_by(exact, exact.search(query, 3)),
        "ours, fp16": lambda query: found_by(halves, halves.search(query, 3)),
        "transformers score_retrieval": by_transformers,
    }
    if importlib.util.find_spec("lancedb") and not arguments.without_lance:
        from saccade.retrieval.lance import build_lance

        started = time.perf_counter()
        lance = build_lance(halves, root / "lance")
        print(f"LanceDB table written in {time.perf_counter() - started:.1f} s, {megabytes(root / 'lance'):.0f} MB")
        ways["LanceDB, flat, its own ranking"] = lambda query: [int(place) for place in lance.nearest(query, 3)]
    questions = [encoder.question(7 * n % arguments.pages, arguments.query_vectors) for n in range(arguments.questions)]
    times: dict[str, list[float]] = {name: [] for name in ways}
    best: dict[str, list[list[int]]] = {name: [] for name in ways}
    for search in ways.values():
        search(questions[0])
    for query in questions:
        for name, search in ways.items():
            started = time.perf_counter()
            best[name].append(list(search(query)))
            times[name].append(time.perf_counter() - started)
    ours = float(np.median(times["ours, int8"]))
    for name in ways:
        same = np.mean([len(set(a) & set(b)) / 3 for a, b in zip(best[name], best["ours, fp16"])])
        first = np.mean([a[0] == b[0] for a, b in zip(best[name], best["ours, fp16"])])
        print(
            f"{name:32} median {np.median(times[name]):7.3f} s  p95 {np.quantile(times[name], 0.95):7.3f} s  "
            f"x {np.median(times[name]) / ours:5.1f}  top 3 of fp16 {same:.3f}, first {first:.3f}"
        )
    many = [encoder.question(n % arguments.pages, arguments.query_vectors) for n in range(64)]
    started = time.perf_counter()
    with ThreadPoolExecutor(64) as asking:
        list(asking.map(lambda query: exact.search(query, 3), many))
    seconds = time.perf_counter() - started
    print(f"64 questions at once, int8: {seconds:.2f} s, {64 / seconds:.1f} a second")


def large(root: Path, arguments: argparse.Namespace) -> None:
    out = root / "large"
    encoder = TopicEncoder(arguments.large_vectors, arguments.dimension)
    exact = build(out, encoder, arguments.large, "int8", arguments.threads)
    questions = [
        encoder.question(997 * n % arguments.large, arguments.query_vectors) for n in range(arguments.questions)
    ]
    np.save(root / "questions.npy", np.stack(questions))
    started = time.perf_counter()
    wanted = [[str(hit.page) for hit in exact.search(query, 3)] for query in questions]
    print(f"exact: {(time.perf_counter() - started) / len(questions):.3f} s a question")
    for name in arguments.stages:
        stage = FirstStage.read(name)
        started = time.perf_counter()
        build_first_stage(exact, stage)
        seconds = time.perf_counter() - started
        command = [
            sys.executable,
            __file__,
            "--ask",
            str(out),
            str(root / "questions.npy"),
            name,
            str(arguments.threads),
        ]
        said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        recall = np.mean([len(set(a) & set(b)) / 3 for a, b in zip(said["found"], wanted)])
        size = sum(path.stat().st_size for path in stage.files(out, exact.header.width)) / 1e6
        print(
            f"two stages, {name}: built in {seconds:.0f} s, {size:.0f} MB; median {np.median(said['times']):.3f} s, "
            f"p95 {np.quantile(said['times'], 0.95):.3f} s, {said['memory'] / 2**30:.2f} GiB, "
            f"recall of the exact top 3 {recall:.3f}"
        )


def ask(out: str, questions: str, name: str, threads: str) -> None:
    """The child: prints what it found, how long each question took, and its greatest size."""
    index = open_two_stage(Path(out), FirstStage.read(name), threads=int(threads))
    found, times = [], []
    for query in np.load(questions):
        started = time.perf_counter()
        found.append([str(hit.page) for hit in index.search(query, 3)])
        times.append(time.perf_counter() - started)
    # What getrusage says would be the parent's where that is larger.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    memory = int(status.split("VmHWM:")[1].split()[0]) * 1024
    print(json.dumps({"found": found, "times": times, "memory": memory}))


def main() -> None:
    if sys.argv[1:2] == ["--ask"]:
        return ask(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--vectors", type=int, default=750)
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--query-vectors", type=int, default=20)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--without-lance", action="store_true")
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--large-vectors", type=int, default=64)
    parser.add_argument("--stages", nargs="*", default=["32-int8", "16-int8", "32-signs", "all-signs"])
    parser.add_argument("--out", type=Path, help="Directory for the indexes; by default one that is deleted.")
    arguments = parser.parse_args()
    root = arguments.out or Path(tempfile.mkdtemp(prefix="retrieval-"))
    root.mkdir(parents=True, exist_ok=True)
    print(f"{os.cpu_count()} cores, {arguments.threads} threads, {arguments.query_vectors} vectors a question")
    try:
        if arguments.pages:
            beside_peers(root, arguments)
        if arguments.large:
            large(root, arguments)
    finally:
        if arguments.out is None:
            shutil.rmtree(root)


if __name__ == "__main__":
    main()
