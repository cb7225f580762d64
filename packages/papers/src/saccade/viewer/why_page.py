"""Page on one search: ``saccade search --why FILE.html``, one file without any request."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from saccade.atomic import write_text_atomic
from saccade.media.store import MediaStore
from saccade.retrieval.corpus import PageHit
from saccade.retrieval.store import PageStore
from saccade.retrieval.why import named_query, page_match
from saccade.viewer.exported import report_style, source_of
from saccade.viewer.pictures import Album
from saccade.viewer.templates import page_template
from saccade.viewer.why import why_view
from saccade.viewer.words import visible
from saccade.vision_models.kinds import PageEncoder

_TEMPLATE = "why.html.jinja"


def write_why_page(path: Path, question: str, hits: Sequence[PageHit], pages: PageStore, encoder: PageEncoder) -> None:
    """Draws the parts of each hit's score over its page, from the vectors that the index has stored."""
    vectors, tokens = named_query(encoder, question)
    media = MediaStore()
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for rank, hit in enumerate(hits, 1):
            image = media.add_file(pages.picture_file(hit.page))
            media.export(image, Path(folder))
            match = page_match(vectors, tokens, pages.page_vectors(hit.page))
            found.append((image, f"page {rank}: {hit.page}", match))
        album = Album(directory=Path(folder))
        search = why_view(question, found, album)
    source = f"{len(hits)} of {len(pages):,} pages in {pages.paths.root}, by {pages.encoder}"
    style = report_style()
    page = page_template(_TEMPLATE).render(
        search=search,
        source=visible(source, 300),
        album=album.definitions(),
        style=style,
        style_source=source_of(style),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, page)
