"""Marks of readers, drawn: one mark, and the page of all marks of a run."""

from collections.abc import Mapping, Sequence

from saccade.types import Json
from saccade.viewer.drawn import count_text, draw, number, table
from saccade.viewer.store.annotations import Annotation
from saccade.viewer.words import percent_text, readable, visible

SUBJECTS: Mapping[str, str] = {
    "verdict": "verdict",
    "gold": "gold answer",
    "reward": "reward",
    "judge": "judge",
    "box": "correct box",
    "note": "note",
}
FORMATS = {
    "jsonl": "JSONL",
    "csv": "CSV",
    "coco": "COCO",
    "label-studio": "Label Studio tasks",
    "imitate": "examples to imitate",
}


def mark_words(item: Annotation) -> list[Json]:
    """What a mark says, by whom and when."""
    says = f" is {item.verdict}" if item.verdict and item.subject != "box" else ""
    sides = () if item.box is None else (item.box.x1, item.box.y1, item.box.x2, item.box.y2)
    return [
        draw("b", f"{SUBJECTS[item.subject]}{says}"),
        f": {visible(item.value)}" if item.value else None,
        f" at {', '.join(map(number, sides))}" if sides else None,
        draw("span.block", visible(item.text)) if item.text else None,
        draw("span.small", f" {visible(item.name, 80)}, {item.time} "),
    ]


def marks_page(run: str, items: Sequence[Annotation], counts: Mapping[str, Json], agreement: Sequence[Json]) -> Json:
    """All marks of a run: counts, agreement with rules and judges, files to take along."""
    chips = [draw("span.chip", f"{SUBJECTS.get(name, name)}: {count}") for name, count in counts.items()]
    kappa = [
        [readable(str(one["against"])), _percent(one["agree"]), _number(one["kappa"]), str(one["n"])]
        for one in agreement
        if isinstance(one, Mapping)
    ]
    heads = ["With", "Agree", "Cohen’s kappa", "Marks"]
    address = f"/api/runs/{run}/annotations/export?format="
    files = [draw("a.chip", words, href=f"{address}{name}") for name, words in FORMATS.items()]
    return draw(
        "div.page",
        draw("h1", "Marks of readers"),
        None
        if items
        else draw(
            "p", "This run has no marks yet. To add one, open a trajectory and use the form at the end of its page."
        ),
        draw("p.row", *chips),
        draw("h2", "Agreement between readers, rules and judges") if kappa else None,
        table("agreement", heads, kappa) if kappa else None,
        draw("p.row", "Export as ", *files) if items else None,
        draw(
            "ul.annotations",
            *(
                draw("li", draw("a", "open", href=f"#/run/{run}/t/{item.trajectory}"), " ", *mark_words(item))
                for item in items
            ),
            aria_label=count_text(len(items), "mark"),
        ),
    )


def _percent(value: Json) -> str:
    return percent_text(value if isinstance(value, int | float) else None)


def _number(value: Json) -> str:
    return number(value if isinstance(value, int | float) else None)
