"""Pages for questions in words: an index and the encoder that made it."""

from pathlib import Path

from saccade.errors import UserError
from saccade.retrieval.corpus import PageHit, PageIndex
from saccade.retrieval.store import open_index
from saccade.vision_models.kinds import PageEncoder


class PageRetriever:
    """Searches an index by questions; safe to use from many threads."""

    def __init__(self, index: PageIndex, encoder: PageEncoder) -> None:
        if index.encoder != encoder.identity:
            raise UserError(
                f"the index was made by the encoder {index.encoder}, not by {encoder.identity}: their vectors cannot "
                "be compared; give the checkpoint that made it"
            )
        self.index = index
        self.encoder = encoder

    def search(self, question: str, k: int = 3, document: str | None = None) -> list[PageHit]:
        """The ``k`` best pages of the corpus, or of one document, best first; fewer where there are fewer.

        A page whose very picture a better one has is left out: copies of a page cannot fill all places.
        """
        (query,) = self.encoder.encode_questions([question])
        asked = k
        while True:
            found = self.index.search(query, asked, document)
            by_picture: dict[Path, PageHit] = {}
            for hit in found:
                by_picture.setdefault(self.index.picture_file(hit.page), hit)
            if len(by_picture) >= k or len(found) < asked:
                return list(by_picture.values())[:k]
            asked *= 4


def open_retriever(path: Path, encoder: PageEncoder, *, threads: int | None = None) -> PageRetriever:
    """The index in a directory with its encoder; UserError when another encoder made it."""
    return PageRetriever(open_index(path, threads=threads), encoder)
