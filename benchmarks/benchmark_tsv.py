"""Reading a VLMEvalKit TSV of 5 GB: bytes a second, and how much memory it takes.

The file is made here of random bytes in the form of PNG files (the reader decodes base64, not pixels), with lists of
pictures, rows that refer to later rows, and fields of more than the csv module's limit; it is deleted at the end.

    python benchmarks/benchmark_tsv.py --gigabytes 5 --json docs/results/tsv.json
"""

import argparse
import base64
import datetime
import json
import os
import platform
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from saccade.evaluation.benchmarks.tsv import TsvFile, read_span

PICTURES = 64
PNG_START = b"\x89PNG\r\n\x1a\n"


def write_file(path: Path, size: int, picture_bytes: int) -> int:
    """Rows until the file has ``size`` bytes; how many."""
    pictures = [base64.b64encode(PNG_START + os.urandom(picture_bytes)).decode() for _ in range(PICTURES)]
    rows, written = 0, 0
    with path.open("w", encoding="utf-8", newline="") as file:
        written += file.write("index\tquestion\tA\tB\tanswer\tcategory\timage\n")
        while written < size:
            one = pictures[rows % PICTURES]
            image = f"\"['{one}', '{pictures[(rows + 1) % PICTURES]}']\"" if rows % 5 == 1 else one
            image = str(rows + 1) if rows % 5 == 4 else image
            written += file.write(f'{rows}\t"What is ""here"",\nin row {rows}?"\tred\tblue\tA\tc{rows % 3}\t{image}\n')
            rows += 1
        file.write(f"{rows}\tlast\tred\tblue\tB\tc0\t{pictures[0]}\n")
    return rows + 1


def read_all(path: Path) -> dict[str, float]:
    """Every row, then every picture's bytes by where they lie; seconds of the clock and of the processor."""
    started, cpu = time.perf_counter(), time.process_time()
    file = TsvFile(path)
    rows = list(file.rows())
    parsed, parsed_cpu = time.perf_counter() - started, time.process_time() - cpu
    pictures = 0
    with path.open("rb") as raw:
        for row in rows:
            for span in row.spans:
                pictures += read_span(raw, span).startswith(PNG_START)
    return {
        "rows": len(rows),
        "pictures": pictures,
        "references": sum(row.same_as != "" for row in rows),
        "parse_s": parsed,
        "parse_cpu_s": parsed_cpu,
        "all_s": time.perf_counter() - started,
        "all_cpu_s": time.process_time() - cpu,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--picture-mb", type=float, default=1.5)
    parser.add_argument("--folder", type=Path, help="Where the file is made; by default the system's folder.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder, "Made.tsv")
        rows = write_file(path, int(options.gigabytes * 1e9), int(options.picture_mb * 1e6))
        size = path.stat().st_size
        # In a process of its own, so that the peak is that of reading alone.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as reader:
            found = reader.submit(read_all, path).result()
    assert found["rows"] == rows
    found |= {
        "bytes": size,
        "parse_mb_per_s": size / 1e6 / found["parse_s"],
        "all_mb_per_s": size / 1e6 / found["all_s"],
        "all_mb_per_cpu_s": size / 1e6 / found["all_cpu_s"],
    }
    record = {"date": str(datetime.date.today()), "machine": f"{platform.machine()}, {os.cpu_count()} cores", **found}
    print(json.dumps(record, indent=2))
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
