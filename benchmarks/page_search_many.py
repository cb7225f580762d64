"""64 trajectories that search at once: seconds a search and searches a second, beside one at a time.

    python benchmarks/page_search.py --out /tmp/page_search
    python benchmarks/page_search_many.py --at /tmp/page_search --json docs/results/page_search_many.json

Searches the index that the first command made, exactly and in two stages: by ready vectors, and by the tool
``search_pages`` with its encoder and its pictures. Each way is asked one at a time, by so many threads at once as share
passes over the pages, and by as many that do not. Each row is a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import numpy as np
from page_search import PAGES, document, memory_gib, questions
from seed_runs import Row, rounded

from saccade.media import MediaStore
from saccade.retrieval import FirstStage, PageIndex, PageRetriever, TwoStageIndex, open_index, scanning
from saccade.tools.page_search import search_tool

K = 3


def asked(search: Callable[[int], object], threads: int, each: int) -> Row:
    """So many threads ask one question after the other."""

    def trajectory(number: int) -> list[float]:
        times = []
        for turn in range(each):
            begun = time.perf_counter()
            search(number * each + turn)
            times.append(time.perf_counter() - begun)
        return times

    begun, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as asking:
        times = [seconds for part in asking.map(trajectory, range(threads)) for seconds in part]
    whole = time.perf_counter() - begun
    return {
        "searches": len(times),
        "median_s": float(np.median(times)),
        "p95_s": float(np.quantile(times, 0.95)),
        "a_second": len(times) / whole,
        "cpu_s_a_search": (time.process_time() - cpu) / len(times),
    }


def ask(folder: str, way: str, by: str, threads: str, at_once: str, shares: str) -> None:
    """The child: prints a row."""
    from saccade.vision_models import load_page_encoder

    if shares == "alone":
        scanning.QUERIES_AT_ONCE = 1
    encoder = load_page_encoder(Path(folder) / "encoder")
    exact = open_index(Path(folder) / "index", threads=int(threads))
    index: PageIndex = exact if way == "exact" else TwoStageIndex(exact, FirstStage.read(way))
    drawn = [document(number) for number in range(len(exact) // PAGES)]
    texts = [one.text for one in questions(drawn, 256, names_document=True)[0]]
    tool, media = search_tool(PageRetriever(index, encoder)), MediaStore()
    vectors = encoder.encode_questions(texts)
    ways: dict[str, Callable[[int], object]] = {
        "vectors": lambda number: index.search(vectors[number % len(texts)], K),
        "tool": lambda number: tool.call({"query": texts[number % len(texts)], "k": K}, (), media),
    }
    search = ways[by]
    search(0)
    row = asked(search, int(at_once), max(2, 32 // int(at_once)))
    print(json.dumps({**row, "memory_gib": memory_gib("VmHWM")}))


def rows(arguments: argparse.Namespace) -> Sequence[Row]:
    found: list[Row] = []
    for by in ("vectors", "tool"):
        for way in arguments.ways:
            for at_once, shares in ((1, "shared"), (arguments.at_once, "alone"), (arguments.at_once, "shared")):
                load = os.getloadavg()[0]
                words = (str(arguments.at), way, by, str(arguments.threads), str(at_once), shares)
                said = subprocess.run(
                    [sys.executable, __file__, "--ask", *words], check=True, capture_output=True, text=True
                )
                about = {"way": way, "by": by, "at_once": at_once, "passes": shares, "load": load}
                found.append({**about, **json.loads(said.stdout)})
                print(json.dumps(rounded(found[-1])), flush=True)
    return found


def main() -> None:
    if sys.argv[1:2] == ["--ask"]:
        ask(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", type=Path, required=True, help="What page_search.py made.")
    parser.add_argument("--ways", nargs="+", default=["exact", "32-int8", "all-signs"])
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    measured = {"rows": rows(arguments)}
    if arguments.json:
        head = {"command": "python benchmarks/page_search_many.py", "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps(rounded({**head, **measured}), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
