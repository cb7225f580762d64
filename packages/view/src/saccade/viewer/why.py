"""Why pages were found, drawn: the parts of MaxSim over each page, and by the tokens of the question."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.geometry import Box
from saccade.retrieval.why import MatchedToken, PageMatch, Patch
from saccade.types import Attempt, ImageRef
from saccade.viewer.outcomes import page_words
from saccade.viewer.pictures import Album, Overlay
from saccade.viewer.why_record import WhyRecord, searches_of
from saccade.viewer.words import visible

MAX_PAGES_SHOWN = 8
STRONGEST = 0.7
"""Opacity of the patch that gives most of any page's score."""
MAX_NUMBERS = 2
"""Tokens whose numbers are written over a patch; more are said where the pointer rests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WhyView:
    """A search as it is shown; texts are made visible but not escaped, figures are safe markup."""

    question: str
    pages: tuple[tuple[str, str], ...]
    """Figure and caption of each page, in the order in which it was shown."""
    columns: tuple[str, ...]
    """Each page in a word."""
    rows: tuple[tuple[str, str, tuple[tuple[str, str, bool], ...]], ...]
    """Number and text of each token, and on each page: its part, where that is, and whether no page gives more."""
    totals: tuple[str, ...]


def why_views(attempt: Attempt, record: WhyRecord | None, album: Album) -> tuple[WhyView, ...]:
    """The searches of a trajectory that the record explains."""
    if record is None:
        return ()
    found = []
    for query, images in searches_of(attempt):
        known = [(place, image, record.matches.get((query, image.hash))) for place, image in enumerate(images)]
        pages = [
            (image, page_words(attempt.task, place) if images is attempt.task.images else f"page {place + 1}", match)
            for place, image, match in known
            if match is not None
        ]
        if pages:
            found.append(why_view(query, pages, album))
    return tuple(found)


def why_view(question: str, pages: Sequence[tuple[ImageRef, str, PageMatch]], album: Album) -> WhyView:
    """A search with its pages, each with its name and the parts of its score."""
    pages = pages[:MAX_PAGES_SHOWN]
    strongest = max((heat for _, _, match in pages for heat in match.heat.values()), default=0.0)
    matches = [match for _, _, match in pages]
    return WhyView(
        question=visible(question, 1200),
        pages=tuple(
            (
                album.figure(image, f"{name}, why it was found", _overlays(image, match, strongest)),
                _caption(name, match),
            )
            for image, name, match in pages
        ),
        columns=tuple(visible(name.partition(":")[0], 12) for _, name, _ in pages),
        rows=tuple(
            (str(number), _token_text(tokens[0].text), _cells(tokens))
            for number, tokens in enumerate(zip(*(match.tokens for match in matches)), 1)
        ),
        totals=tuple(f"{match.score:.3f}" for match in matches),
    )


def _overlays(image: ImageRef, match: PageMatch, strongest: float) -> list[Overlay]:
    """A box for each patch that gives a part, filled by how much."""
    if match.grid is None:
        return []
    height, width = image.height / match.grid[0], image.width / match.grid[1]
    overlays = []
    for (row, column), heat in sorted(match.heat.items()):
        numbers = [number for number, one in enumerate(match.tokens, 1) if one.patch == (row, column)]
        overlays.append(
            Overlay(
                kind="heat",
                shape=Box(column * width, row * height, (column + 1) * width, (row + 1) * height),
                label=_heat_words((row, column), heat, match),
                mark=",".join(map(str, numbers)) if len(numbers) <= MAX_NUMBERS else f"{len(numbers)}×",
                strength=STRONGEST * max(0.0, heat) / strongest if strongest > 0 else 0.0,
            )
        )
    return overlays


def _heat_words(patch: Patch, heat: float, match: PageMatch) -> str:
    parts = ", ".join(f"{_token_text(one.text)} {one.similarity:.2f}" for one in match.tokens if one.patch == patch)
    return f"row {patch[0] + 1}, column {patch[1] + 1} gives {heat:.2f}: {parts}"


def _caption(name: str, match: PageMatch) -> str:
    said = f"{visible(name, 120)}: score {match.score:.3f}"
    if match.grid is None:
        return f"{said}; where on the page is not known of this encoder"
    if match.elsewhere:
        said += f", of which {match.elsewhere:.3f} at no place on the page"
    return said


def _cells(tokens: Sequence[MatchedToken]) -> tuple[tuple[str, str, bool], ...]:
    parts = [one.similarity for one in tokens]
    return tuple(
        (
            f"{one.similarity:.3f}",
            "–" if one.patch is None else f"r{one.patch[0] + 1} c{one.patch[1] + 1}",
            one.similarity == max(parts) > min(parts),
        )
        for one in tokens
    )


def _token_text(token: str) -> str:
    return visible(token.strip(), 40) or "(white space)"
