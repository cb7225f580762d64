"""Drawn charts, triangles and tables, with solutions by VISTA's tools, for a model that hardly sees.

``python -m studies.real_model.tooled --out tooled`` writes ``train.jsonl`` and ``held_out.jsonl``, questions of the
three kinds in turn, ``examples.jsonl``, solutions that read by a tool and reckon by themselves, and ``tools.toml``. The
tools run for the solutions, and a picture that they misread is left out of these.
"""

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from saccade.media import MediaStore
from saccade.miniature.gym import VistaQuestions, gym_tools
from saccade.types import Example

KINDS = ("chart", "geometry", "document")
READS: Mapping[str, tuple[str, str, dict[str, object]]] = {
    "chart": ("I read the values of the chart.", "chart_to_table", {}),
    "geometry": ("I read the angles of the diagram.", "image_cdl", {}),
    "document": ("I read the rows of the table.", "read_text", {"layout": "rows"}),
}
"""By kind what is thought first, the tool that is called and its arguments."""
TOOLS = ("chart_to_table", "answer_chart", "image_cdl", "solve_geometry", "read_text", "algebra")
SEED = 42
FIRST = {"train": 0, "examples": 10**5, "held_out": 0}
"""Number of the first question of each file."""


def solved(kind: str, question: str, said: str) -> tuple[str, str] | None:
    """The thought and the answer after a tool's words; None where they do not tell."""
    try:
        return {"chart": _chart, "geometry": _geometry, "document": _document}[kind](question, said)
    except (KeyError, ValueError, StopIteration, IndexError):
        return None


def _chart(question: str, said: str) -> tuple[str, str]:
    values = {name: round(float(value)) for name, value in re.findall(r"\| (\w+) \| ([\d.]+) \|", said)}
    named = [name for name in re.findall(r"\w+", question) if name in values]
    if "much higher" in question:
        one, other = named
        return _difference(values[one], values[other], f"{one} has {values[one]} and {other} {values[other]}")
    if found := re.search(r"value (above|below) (\d+)", question):
        edge = int(found[2])
        those = [one for one, value in values.items() if (value > edge if found[1] == "above" else value < edge)]
        listed = ", ".join(f"{one} {values[one]}" for one in those) or "none"
        return f"{found[1].capitalize()} {edge}: {listed}. Together {len(those)}.", str(len(those))
    if "tallest" in question or "shortest" in question:
        most = (max if "tallest" in question else min)(values, key=lambda one: values[one])
        return f"The {'largest' if 'tallest' in question else 'smallest'} value is {values[most]}, of {most}.", most
    [name] = named
    return f"The table says {values[name]} for {name}.", str(values[name])


def _difference(one: int, other: int, told: str) -> tuple[str, str]:
    return f"{told}: {one} - {other} = {one - other}.", str(one - other)


def _geometry(_: str, said: str) -> tuple[str, str]:
    first, second = (int(value) for value in re.findall(r"MeasureOfAngle\(\w+\),(\d+)\)", said))
    third = 180 - first - second
    return f"The angles are {first} and {second}: 180 - {first} - {second} = {third}.", str(third)


def _document(question: str, said: str) -> tuple[str, str]:
    head, *rows = ([cell.strip() for cell in line.split("|")] for line in said.splitlines() if line.strip())
    item = re.search(r"(?:add up to|of (\w+))\?|of (\w+) add", question)
    assert item is not None
    name = item[1] or item[2]
    row = next(row for row in rows if row[0] == name)
    columns = [head.index(word) for word in re.findall(r"\w+", question) if word in head[1:]]
    if len(columns) == 1:
        return f"The {head[columns[0]]} of {name} is {row[columns[0]]}.", str(int(row[columns[0]]))
    one, other = (int(row[column]) for column in columns)
    return f"{head[columns[0]]} {one} and {head[columns[1]]} {other}: {one} + {other} = {one + other}.", str(
        one + other
    )


def solution(example: Example, kind: str, media: MediaStore) -> list[dict[str, object]] | None:
    """The turns of a solution; None where the tool misreads the picture."""
    thought, name, arguments = READS[kind]
    tool = gym_tools()[name]
    defaults = {one.name: one.default for one in tool.parameters if one.kind != "image"}
    given = tool.function(image=media.get(example.task.images[0]), **{**defaults, **arguments})
    said = given if isinstance(given, str) else given.text
    found = solved(kind, example.task.question, said)
    if found is None or found[1] != example.task.answer:
        return None
    return [
        {"thought": thought, "call": {"name": name, "arguments": arguments}},
        {"thought": found[0], "answer": found[1]},
    ]


def write_rows(out: Path, name: str, count: int, *, is_solved: bool = False) -> None:
    """Write ``NAME.jsonl`` with ``count`` questions, the kinds in turn, and their pictures."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    media = MediaStore()
    questions = VistaQuestions(seed=SEED, media=media, types=KINDS)
    split = "held_out" if name == "held_out" else "train"
    rows: list[str] = []
    number = FIRST[name]
    while len(rows) < count:
        kind, example = KINDS[number % len(KINDS)], questions.example(split, number)
        number += 1
        turns = solution(example, kind, media) if is_solved else None
        if is_solved and turns is None:
            continue
        picture = f"images/{name}-{number}.png"
        media.get(example.task.images[0]).save(out / picture)
        task = example.task
        row: dict[str, object] = {"id": f"{kind}-{name}-{number}", "category": kind, "question": task.question}
        row |= {"answer": task.answer, "images": [picture]}
        rows.append(json.dumps(row | ({"turns": turns} if is_solved else {})))
    (out / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--train", type=int, default=600)
    parser.add_argument("--held-out", type=int, default=96)
    parser.add_argument("--examples", type=int, default=96)
    options = parser.parse_args(arguments)
    write_rows(options.out, "train", options.train)
    write_rows(options.out, "held_out", options.held_out)
    write_rows(options.out, "examples", options.examples, is_solved=True)
    (options.out / "tools.toml").write_text("".join(f"[tools.{name}]\n" for name in TOOLS), encoding="utf-8")


if __name__ == "__main__":
    main()
