"""Section of a report on evidence: whether what calls returned held what the answer depended on."""

from collections.abc import Sequence

from markupsafe import escape

from saccade.evaluation.evidence import EvidenceUse
from saccade.types import Attempt, ImageRef, Turn
from saccade.viewer.evidence import Evidence
from saccade.viewer.pictures import Album
from saccade.viewer.scene.returned import evidence_texts
from saccade.viewer.section import Section, Tell
from saccade.viewer.templates import page_template
from saccade.viewer.words import percent_text, readable, visible

EvidenceRow = tuple[str, ...]
"""An evaluation: its name, then a cell for each column."""


def _read(evidence: Evidence, _: Tell) -> list[EvidenceRow] | None:
    found = [
        (visible(readable(one.name), 80), *_cells(measured.value))
        for one in evidence.evaluations
        if (measured := one.summary.figures.get("evidence")) is not None and isinstance(measured.value, EvidenceUse)
    ]
    return found or None


def _cells(use: EvidenceUse) -> tuple[str, ...]:
    low, high = use.faithful.ci95
    return (
        f"{use.faithful.n:,} of {use.trajectories:,}",
        percent_text(use.recall),
        percent_text(use.precision),
        f"{percent_text(use.faithful.mean)} ({percent_text(low)} to {percent_text(high)})",
        percent_text(use.faithful_of_all.mean),
        *(f"{percent_text(one.mean)} of {one.n:,}" for one in (use.right_without_evidence, use.wrong_with_evidence)),
        f"{use.untraced:,}",
    )


def _html(rows: list[EvidenceRow]) -> str:
    return page_template("evidence.html.jinja").render(rows=rows)


def _turn(turn: Turn, attempt: Attempt, _: Sequence[ImageRef], __: Album) -> str:
    text = evidence_texts(attempt).get(turn.index, "")
    return f'<p class="small">evidence: {escape(text)}</p>' if text else ""


SECTION = Section(read=_read, rows=lambda _: {}, html=_html, turn=_turn)
