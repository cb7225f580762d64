"""Annotations as JSON: counts, agreement with rules and judges, and exports for other programs."""

import csv
import io
import itertools
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from saccade.entry_points import part
from saccade.errors import UserError
from saccade.evaluation.statistics import cohens_kappa
from saccade.plain_files import plain_bytes
from saccade.strict_json import strict_json
from saccade.types import Answer, Attempt, Example, ExpertTurn, ImageRef, Json, Malformed
from saccade.viewer.app.marks_page import mark_words, marks_page
from saccade.viewer.app.media import media_file
from saccade.viewer.store.annotations import Annotation
from saccade.viewer.store.marks import rows_of
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.table import Array
from saccade.viewer.words import visible

MAX_EXAMPLES = 5000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, kw_only=True, slots=True)
class Download:
    """A file for the browser to keep."""

    name: str
    media_type: str
    content: bytes


def annotations_json(run: Run, trajectory: str | None) -> dict[str, Json]:
    told = run.annotations.read()
    items = [item for item in told.standing if trajectory in (None, item.trajectory)]
    kappa = agreement(run, told.standing) if trajectory is None else []
    return {
        "items": [shown_mark(item) for item in items],
        "counts": told.counts(),
        "names": told.names,
        "kappa": kappa,
        "page": marks_page(run.id, items, told.counts(), kappa) if trajectory is None else None,
        "can_annotate": run.annotations.is_writable,
        "notes": [visible(note, 500) for note in told.notes],
    }


def shown_mark(item: Annotation) -> Json:
    return {
        **item.as_json(),
        "drawn": mark_words(item),
        "value": None if item.value is None else visible(item.value),
        "text": visible(item.text),
        "name": visible(item.name, 80),
    }


def agreement(run: Run, items: Sequence[Annotation]) -> list[Json]:
    """Verdicts of people against the rules, against each part of the reward that says yes or no, and each other.

    The last verdict of a person on a trajectory counts; ``unclear`` counts for nothing.
    """
    verdicts = {
        (item.name, item.trajectory): str(item.verdict)
        for item in items
        if item.subject == "verdict" and item.verdict in ("right", "wrong")
    }
    by_trajectory = {trajectory: verdict for (_, trajectory), verdict in verdicts.items()}
    view = run.table.view()
    rows = rows_of(run, view, dict.fromkeys(by_trajectory, 1))
    placed = {row: run.id_of(int(view.columns["file"][row]), int(view.columns["ordinal"][row])) for row in rows}
    told: list[Json] = []

    def against(name: str, says: Callable[[int], bool | None]) -> None:
        pairs = [
            (by_trajectory[trajectory], "right" if said else "wrong")
            for row, trajectory in placed.items()
            if (said := says(row)) is not None
        ]
        if pairs:
            told.append(_agreement(name, pairs))

    right = view.columns["right"]
    against("rules", lambda row: None if right[row] < 0 else bool(right[row]))
    for name, column in view.columns.items():
        if name.startswith("term.") and _is_yes_or_no([float(column[row]) for row in placed]):
            against(f"reward, {name.removeprefix('term.')}", partial(_sign_at, column))
    people = sorted({name for name, _ in verdicts})
    for left, other in itertools.combinations(people[:8], 2):
        shared = [
            (verdict, verdicts[other, trajectory])
            for (name, trajectory), verdict in verdicts.items()
            if name == left and (other, trajectory) in verdicts
        ]
        if shared:
            told.append(_agreement(f"{visible(left, 80)} and {visible(other, 80)}", shared))
    return told


def _sign_at(column: Array, row: int) -> bool | None:
    value = float(column[row])
    return None if math.isnan(value) else value > 0


def _is_yes_or_no(values: Sequence[float]) -> bool:
    """At most one value beside 0: the weight of a part that holds or does not."""
    return len({value for value in values if value == value} - {0.0}) == 1


def _agreement(name: str, pairs: Sequence[tuple[str, str]]) -> Json:
    agree = sum(left == right for left, right in pairs)
    return {"against": name, "kappa": cohens_kappa(pairs), "agree": agree / len(pairs), "n": len(pairs)}


def export_download(run: Run, kind: str) -> Download:
    """UserError for a kind that is none."""
    makers: Mapping[str, Callable[[Run, Sequence[Annotation]], Download]] = {
        "jsonl": _as_lines,
        "csv": _as_table,
        "coco": _as_coco,
        "label-studio": _as_label_studio,
        "imitate": _as_examples,
    }
    if kind not in makers:
        raise UserError(f"format={kind[:40]!r} is none of {', '.join(makers)}")
    return makers[kind](run, run.annotations.read().standing)


def _file_name(run: Run, ending: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', run.source.name)[:60] or 'run'}-annotations{ending}"


def _as_lines(run: Run, items: Sequence[Annotation]) -> Download:
    content = "".join(strict_json(item.as_json()) + "\n" for item in items)
    return Download(name=_file_name(run, ".jsonl"), media_type="application/jsonl", content=content.encode("ascii"))


def _as_table(run: Run, items: Sequence[Annotation]) -> Download:
    out = io.StringIO()
    columns = ("id", "trajectory", "task", "subject", "verdict", "value", "text", "name", "time")
    writer = csv.writer(out)
    writer.writerow([*columns, "image", "x1", "y1", "x2", "y2"])
    for item in items:
        box = item.box
        corners = ("", "", "", "", "") if box is None else (box.image, box.x1, box.y1, box.x2, box.y2)
        told = item.as_json()
        writer.writerow([*(_cell(told[name]) for name in columns), *corners])
    content = out.getvalue().encode("utf-8", "replace")
    return Download(name=_file_name(run, ".csv"), media_type="text/csv; charset=utf-8", content=content)


def _cell(value: Json) -> str:
    """A spreadsheet takes a text that begins so for a formula; an apostrophe keeps it text."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _boxes_on_pictures(run: Run, items: Sequence[Annotation]) -> Iterator[tuple[Annotation, ImageRef, str]]:
    """Boxes with the picture that they are on, and the question's words."""
    for item in items:
        if item.box is None:
            continue
        try:
            attempt = run.open(item.trajectory).attempt
        except (GoneError, UserError):
            continue
        found = next((image for image in _images(attempt) if image.hash == item.box.image), None)
        if found is not None:
            yield item, found, attempt.task.question


def _images(attempt: Attempt) -> Iterator[ImageRef]:
    yield from attempt.task.images
    for turn in attempt.trajectory.turns:
        yield from turn.observation.images if turn.observation else ()


def _as_coco(run: Run, items: Sequence[Annotation]) -> Download:
    images: dict[str, dict[str, Json]] = {}
    boxes: list[Json] = []
    categories: dict[str, int] = {}
    for item, image, _ in _boxes_on_pictures(run, items):
        assert item.box is not None
        entry = images.setdefault(
            image.hash,
            {
                "id": len(images) + 1,
                "file_name": f"media/{image.hash}.png",
                "width": image.width,
                "height": image.height,
            },
        )
        label = (item.value or "target")[:200]
        width, height = item.box.x2 - item.box.x1, item.box.y2 - item.box.y1
        boxes.append(
            {
                "id": len(boxes) + 1,
                "image_id": entry["id"],
                "category_id": categories.setdefault(label, len(categories) + 1),
                "bbox": [item.box.x1, item.box.y1, width, height],
                "area": width * height,
                "iscrowd": 0,
                "attributes": {"task": item.task, "trajectory": item.trajectory, "by": item.name, "why": item.text},
            }
        )
    told: Json = {
        "images": list(images.values()),
        "annotations": boxes,
        "categories": [{"id": place, "name": name} for name, place in categories.items()],
    }
    content = strict_json(told, indent=1).encode("ascii")
    return Download(name=_file_name(run, "-coco.json"), media_type="application/json", content=content)


def _as_label_studio(run: Run, items: Sequence[Annotation]) -> Download:
    """Tasks with results for ``<Image name="image"/>``, ``<RectangleLabels name="box">``; sizes in per cent."""
    tasks: list[Json] = []
    for item, image, question in _boxes_on_pictures(run, items):
        assert item.box is not None
        value: dict[str, Json] = {
            "x": 100 * item.box.x1 / image.width,
            "y": 100 * item.box.y1 / image.height,
            "width": 100 * (item.box.x2 - item.box.x1) / image.width,
            "height": 100 * (item.box.y2 - item.box.y1) / image.height,
            "rotation": 0,
            "rectanglelabels": [(item.value or "target")[:200]],
        }
        result: dict[str, Json] = {
            "id": item.id,
            "type": "rectanglelabels",
            "from_name": "box",
            "to_name": "image",
            "original_width": image.width,
            "original_height": image.height,
            "image_rotation": 0,
            "value": value,
        }
        tasks.append(
            {
                "data": {
                    "image": f"/data/local-files/?d=media/{image.hash}.png",
                    "question": question[:2000],
                    "task": item.task,
                    "trajectory": item.trajectory,
                },
                "annotations": [{"result": [result], "was_cancelled": False, "ground_truth": False}],
                "meta": {"by": item.name, "why": item.text, "time": item.time},
            }
        )
    content = strict_json(tasks, indent=1).encode("ascii")
    return Download(name=_file_name(run, "-label-studio.json"), media_type="application/json", content=content)


def _as_examples(run: Run, items: Sequence[Annotation]) -> Download:
    """What people marked as right, as a folder that ``--set sft.examples`` or ``--data`` takes, packed.

    A trajectory with a malformed turn, and one that someone else marked as wrong, is left out.
    """
    example_row = part("a download of examples")
    last = {(item.name, item.trajectory): item.verdict for item in items if item.subject == "verdict"}
    wrong = {trajectory for (_, trajectory), verdict in last.items() if verdict != "right"}
    chosen = dict.fromkeys(trajectory for (_, trajectory), verdict in last.items() if verdict == "right")
    out = io.BytesIO()
    images: dict[str, bytes] = {}
    lines: list[str] = []
    for trajectory in [one for one in chosen if one not in wrong][:MAX_EXAMPLES]:
        try:
            attempt = run.open(trajectory).attempt
        except (GoneError, UserError):
            continue
        example = _example(attempt)
        pictures = {image.hash: media_file(run, image.hash) for image in attempt.task.images}
        if example is None or None in pictures.values():
            continue
        row = example_row(example, [f"images/{image.hash}.png" for image in attempt.task.images])
        lines.append(strict_json(row) + "\n")
        images |= {f"images/{name}.png": plain_bytes(path) for name, path in pictures.items() if path is not None}
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("examples.jsonl", "".join(lines), zipfile.ZIP_DEFLATED)
        for name, content in images.items():
            packed.writestr(name, content)
    return Download(name=_file_name(run, "-examples.zip"), media_type="application/zip", content=out.getvalue())


def _example(attempt: Attempt) -> Example | None:
    turns = attempt.trajectory.turns
    if not turns or not isinstance(turns[-1].action, Answer):
        return None
    played = [
        ExpertTurn(thought=turn.thought, action=turn.action) for turn in turns if not isinstance(turn.action, Malformed)
    ]
    return Example(task=attempt.task, turns=tuple(played)) if len(played) == len(turns) else None
