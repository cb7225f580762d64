"""Tables of evaluations: every sample as CSV or Parquet, figures with intervals as LaTeX or Markdown."""

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.evaluation.figures import EvaluationFigures, figures
from saccade.evaluation.samples import SampleSet, StoredSample
from saccade.types import Json

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    mark: "\\" + mark for mark in "&%$#_{}"
}


def write_csv(sets: Sequence[SampleSet], path: Path) -> None:
    """One line for each sample of all evaluations; lists and counts as text."""
    rows = [_flat(found.header.name, sample) for found in sets for sample in found.samples]
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Half a surrogate pair, which a model may write, is in no UTF-8 file.
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]) if rows else ["evaluation"])
            writer.writeheader()
            writer.writerows(rows)


def write_parquet(sets: Sequence[SampleSet], path: Path) -> None:
    """The same as columns with types."""
    rows = [_flat(found.header.name, sample) for found in sets for sample in found.samples]
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), path)


def write_markdown(sets: Sequence[SampleSet], path: Path) -> None:
    """A table with a line for each evaluation and each of its categories."""
    lines = ["| evaluation | accuracy | 95 % interval | n | failed |", "|---|---|---|---|---|"]
    for name, cells in _figures(sets):
        lines.append("| " + " | ".join([name.replace("|", "\\|"), *cells]) + " |")
    write_bytes_atomic(path, ("\n".join(lines) + "\n").encode())


def write_latex(sets: Sequence[SampleSet], path: Path) -> None:
    """A ``tabular`` for booktabs; intervals beside the figures."""
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"evaluation & accuracy (\%) & 95\,\% interval & $n$ & failed \\",
        r"\midrule",
    ]
    for name, cells in _figures(sets):
        lines.append(" & ".join([_tex(name), *map(_tex, cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    write_bytes_atomic(path, ("\n".join(lines) + "\n").encode())


def _figures(sets: Sequence[SampleSet]) -> list[tuple[str, list[str]]]:
    rows: list[tuple[str, list[str]]] = []
    for found in map(figures, sets):
        rows.append((found.header.name, _cells(found)))
        for category, mean in found.categories.items():
            low, high = mean.ci95
            accuracy = "" if mean.mean is None else f"{100 * mean.mean:.1f}"
            interval = f"{100 * low:.1f} to {100 * high:.1f}"
            rows.append((f"{found.header.name}: {category}", [accuracy, interval, str(mean.n), ""]))
    return rows


def _cells(found: EvaluationFigures) -> list[str]:
    mean, (low, high) = found.accuracy.mean, found.accuracy.ci95
    accuracy = "" if mean is None else f"{100 * mean:.1f}"
    return [accuracy, f"{100 * low:.1f} to {100 * high:.1f}", str(found.accuracy.n), str(found.failed)]


def _flat(evaluation: str, sample: StoredSample) -> dict[str, Json]:
    values: dict[str, Json] = {"evaluation": evaluation}
    for name, value in asdict(sample).items():
        if isinstance(value, dict):
            values[name] = "; ".join(f"{key}={count}" for key, count in value.items())
        elif isinstance(value, tuple | list):
            values[name] = "; ".join(map(str, value))
        elif isinstance(value, str):
            values[name] = value.encode("utf-8", errors="replace").decode("utf-8")
        else:
            values[name] = value
    return values


def _tex(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text)
