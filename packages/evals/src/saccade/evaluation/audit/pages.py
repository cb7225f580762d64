"""Tables of findings, and a page for each family with samples of its tasks at every difficulty."""

import inspect
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from saccade.atomic import disk_errors, write_text_atomic
from saccade.evaluation.audit.drawn import LEVELS, DrawnFamily
from saccade.evaluation.audit.findings import Checked, FamilyAudit
from saccade.tasks.scene import FamilyFunction
from saccade.types import Answer, Example, ExpertTurn, ToolCall

SAMPLE_PX = 256
SHEET_GAP_PX = 6
MARKS = {"passes": "ok", "convicted": "NO", "reported": "", "not applicable": "-"}
SHORT = {
    "question's words": "words",
    "usual answers": "usual",
    "same evidence": "same ev.",
    "beside the evidence": "beside",
    "other picture": "other pic.",
    "evidence matters": "erased",
    "copies across splits": "across",
    "copies within": "within",
    "copies in another family": "others",
}


def finding_lines(audit: FamilyAudit) -> list[str]:
    """A line for each finding, for the terminal."""
    width = max(len(one.check) for one in audit.findings)
    lines = []
    for one in audit.findings:
        notes = "; ".join(filter(None, (one.note, f"e.g. {one.example[:160]}" if one.example else "")))
        lines.append(f"{one.check:<{width}}  {one.verdict:<14}  {_figures(one):<18}  {notes}")
    return lines


def overview(audits: Sequence[FamilyAudit]) -> str:
    """One Markdown table: a row for each family, a column for each check."""
    checks = list(dict.fromkeys(one.check for audit in audits for one in audit.findings))
    heads = [SHORT.get(check, check) for check in checks]
    lines = [f"| family | {' | '.join(heads)} |", f"|---|{'---|' * len(checks)}"]
    for audit in audits:
        by_check = {one.check: one for one in audit.findings}
        cells = [_cell(by_check[check]) if check in by_check else "" for check in checks]
        lines.append(f"| [{audit.family}]({audit.family}.md) | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write_page(drawn: DrawnFamily, audit: FamilyAudit, folder: Path) -> Path:
    """``NAME.md`` and a sheet of samples ``NAME.webp`` in the folder."""
    samples = [drawn.at_level(level)[0] for level in LEVELS if drawn.at_level(level)]
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        sheet = _sheet(samples, drawn)
        if sheet is not None:
            sheet.save(folder / f"{audit.family}.webp", quality=80, method=6)
    page = folder / f"{audit.family}.md"
    write_text_atomic(page, _page(drawn, audit, samples, has_sheet=sheet is not None))
    return page


def _figures(one: Checked) -> str:
    if one.figure is None:
        return ""
    figure = f"{one.figure:.3g}"
    return figure if one.bound is None else f"{figure} ({'>=' if one.is_least else '<='} {one.bound:.3g})"


def _cell(one: Checked) -> str:
    if one.figure is None:
        return MARKS[one.verdict]
    mark = MARKS[one.verdict]
    return f"**{one.figure:.2g} {mark}**" if one.verdict == "convicted" else f"{one.figure:.2g}"


def _sheet(samples: Sequence[Example], drawn: DrawnFamily) -> Image.Image | None:
    """The first picture of each sample side by side, each within a square."""
    shown = [drawn.media.get(one.task.images[0]) for one in samples if one.task.images]
    if not shown:
        return None
    step = SAMPLE_PX + SHEET_GAP_PX
    sheet = Image.new("RGB", (step * len(shown) - SHEET_GAP_PX, SAMPLE_PX), "white")
    for place, picture in enumerate(shown):
        small = picture.copy()
        small.thumbnail((SAMPLE_PX, SAMPLE_PX))
        sheet.paste(small, (place * step, 0))
    return sheet


def _page(drawn: DrawnFamily, audit: FamilyAudit, samples: Sequence[Example], *, has_sheet: bool) -> str:
    lines = [f"# {audit.family}", "", _plain(_docstrings(drawn.draw)), ""]
    if has_sheet:
        lines += [f"![Samples from easy to hard]({audit.family}.webp)", ""]
    lines += ["| difficulty | question | answer | expert |", "|---|---|---|---|"]
    for one in samples:
        task = one.task
        options = f" ({', '.join(task.choices)})" if task.choices else ""
        turns = "; ".join(map(_turn, one.turns))
        cells = (f"{task.difficulty:g}", task.question + options, task.answer, turns)
        lines.append(f"| {' | '.join(map(_cell_text, cells))} |")
    lines += ["", f"{audit.tasks} tasks were audited, all difficulties in turn.", ""]
    lines += ["| check | verdict | figure | note | example |", "|---|---|---|---|---|"]
    for found in audit.findings:
        row = (found.check, str(found.verdict), _figures(found), found.note, found.example[:200])
        lines.append(f"| {' | '.join(map(_cell_text, row))} |")
    return "\n".join(lines) + "\n"


def _docstrings(draw: FamilyFunction) -> str:
    """The docstrings of the family's module and its function."""
    module = inspect.getmodule(draw)
    texts = [inspect.getdoc(module) if module else None, inspect.getdoc(draw)]
    return "\n\n".join(text for text in texts if text)


def _turn(turn: ExpertTurn) -> str:
    if isinstance(turn.action, Answer):
        return f"{turn.thought} -> {turn.action.text}"
    assert isinstance(turn.action, ToolCall)
    return f"{turn.thought}: {turn.action.name}"


def _plain(text: str) -> str:
    return text.replace("<", "&lt;")


def _cell_text(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")
