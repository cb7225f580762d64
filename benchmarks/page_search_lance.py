"""LanceDB's own ranking held against exact MaxSim, on the vectors of a taught encoder.

    python benchmarks/page_search.py --out /tmp/page_search
    python benchmarks/page_search_lance.py --at /tmp/page_search --json docs/results/page_search_lance.json

Takes the first pages of the index that the first command made, and writes them to a table (extra ``lance``): searched
flat, and by LanceDB's own index of vectors (IVF_PQ). Its distance is the cosine; vectors have length 1. Reported for
each: the share of the exact top 3 and 10 in its own top 3 and 10, whether the first page is the same, the same of
``LanceIndex.search``, which ranks LanceDB's candidates exactly, and seconds.
"""

import argparse
import json
import os
import shutil
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
from lancedb.index import IvfPq
from page_search import PAGES, document, questions
from seed_runs import Row, rounded

from saccade.retrieval import PageStore, open_index
from saccade.retrieval.lance import LanceIndex, build_lance
from saccade.retrieval.late_interaction import Vectors, best_first
from saccade.vision_models import load_page_encoder


def part_of(folder: Path, pages: int, out: Path) -> PageStore:
    """An index of the first pages of another, by the same files."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name in ("index.json", "vectors.bin", "scales.bin"):
        if (folder / name).exists():
            os.link(folder / name, out / name)
    lines = (folder / "journal.jsonl").read_text(encoding="ascii").splitlines(keepends=True)
    whole = [entry for line in lines for entry in json.loads(line)][:pages]
    (out / "journal.jsonl").write_text(json.dumps(whole) + "\n", encoding="ascii")
    return open_index(out, threads=2)


def compared(lance: LanceIndex, queries: Sequence[Vectors], **how: int) -> Row:
    """Own and exact ranking of each query."""
    exact = lance.exact
    own, again, times = [], [], []
    wanted = []
    places = {page: place for place, page in enumerate(exact.pages())}
    for query in queries:
        begun = time.perf_counter()
        own.append(own_ranking(lance, query, 10, **how))
        times.append(time.perf_counter() - begun)
        candidates = np.sort(np.array(own_ranking(lance, query, 100, **how)))
        again.append([places[hit.page] for hit in exact.best_of(query, candidates, 10)])
        wanted.append(list(best_first(exact.scanner.scores(exact.rows, exact.checked(query)), 10)))
    return {
        "median_s": float(np.median(times)),
        "p95_s": float(np.quantile(times, 0.95)),
        **{f"own top {k}": shared(own, wanted, k) for k in (1, 3, 10)},
        **{f"100 candidates ranked exactly, top {k}": shared(again, wanted, k) for k in (1, 3, 10)},
    }


def own_ranking(lance: LanceIndex, query: Vectors, k: int, **how: int) -> list[int]:
    """As ``LanceIndex.nearest``, with LanceDB's settings of its index."""
    asked = lance.table.search(query, vector_column_name="vectors").distance_type("cosine")
    for name, value in how.items():
        asked = getattr(asked, name)(value)
    found = asked.limit(k).select(["place", "_distance"]).to_arrow()["place"].to_pylist()
    return [int(place) for place in dict.fromkeys(found)]


def shared(found: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]], k: int) -> float:
    return float(np.mean([len(set(a[:k]) & set(b[:k])) / k for a, b in zip(found, wanted, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", type=Path, required=True, help="What page_search.py made.")
    parser.add_argument("--pages", type=int, default=10_080)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    exact = part_of(arguments.at / "index", arguments.pages, arguments.at / "part")
    drawn = [document(number) for number in range(arguments.pages // PAGES)]
    texts = [one.text for one in questions(drawn, arguments.questions, names_document=True)[0]]
    queries = load_page_encoder(arguments.at / "encoder").encode_questions(texts)
    begun = time.perf_counter()
    lance = build_lance(exact, arguments.at / "lance")
    rows: list[Row] = [{"way": "flat", "built_s": time.perf_counter() - begun, **compared(lance, queries)}]
    print(json.dumps(rounded(rows[-1])), flush=True)
    begun = time.perf_counter()
    lance.table.create_index("vectors", config=IvfPq(distance_type="cosine"))
    built_s = time.perf_counter() - begun
    for name, how in (
        ("IVF_PQ, as it comes", {}),
        ("IVF_PQ, 20 probes", {"nprobes": 20}),
        ("IVF_PQ, 20 probes, refined 10 times", {"nprobes": 20, "refine_factor": 10}),
    ):
        rows.append({"way": name, "built_s": built_s, **compared(lance, queries, **how)})
        print(json.dumps(rounded(rows[-1])), flush=True)
    begun = time.perf_counter()
    for query in queries:
        exact.search(query, 3)
    ours = {"ours_exact_s": (time.perf_counter() - begun) / len(queries), "load": os.getloadavg()[0]}
    if arguments.json:
        head = {"command": "python benchmarks/page_search_lance.py", "date": date.today().isoformat()}
        measured = {**head, "pages": len(exact), "questions": len(queries), **ours, "rows": rows}
        arguments.json.write_text(json.dumps(rounded(measured), indent=1) + "\n", encoding="utf-8")
    print(json.dumps(rounded(ours)))


if __name__ == "__main__":
    main()
