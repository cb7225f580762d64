"""Pages for LlamaIndex: a retriever over a page index, whose nodes are pictures of pages."""

import base64

from saccade.errors import missing_extra
from saccade.media.encode import png_bytes
from saccade.retrieval.corpus import PageHit
from saccade.retrieval.retriever import PageRetriever

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import ImageNode, NodeWithScore, QueryBundle
except ImportError as error:
    raise missing_extra("retrieval", "llama-index-core", needed_for="a LlamaIndex retriever") from error


class PageNodeRetriever(BaseRetriever):  # type: ignore[misc]
    """Finds the ``k`` best pages of the corpus, or of one document, best first, each with its score.

    A node's id and text are the page's name, "reports/a.pdf#3"; its picture is a PNG in base64.
    """

    def __init__(self, pages: PageRetriever, k: int = 3, document: str | None = None) -> None:
        self._pages, self._k, self._document = pages, k, document
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [self._node(hit) for hit in self._pages.search(query_bundle.query_str, self._k, self._document)]

    def _node(self, hit: PageHit) -> NodeWithScore:
        picture = base64.b64encode(png_bytes(self._pages.index.picture(hit.page))).decode("ascii")
        facts = {"document": hit.page.document, "page": hit.page.number}
        node = ImageNode(
            id_=str(hit.page), text=str(hit.page), image=picture, image_mimetype="image/png", metadata=facts
        )
        return NodeWithScore(node=node, score=hit.score)
