"""Search for pages as a tool: a query in words brings the best pages of an index as images.

    tools = (search_tool(open_retriever(index, encoder)), *IMAGE_TOOLS)

In an episode the tool stays in the document or corpus of the question, whatever the model asks for, and a page that
was shown before is named with the number of its image, not shown again. The same holds for such a tool from afar
(``bounded_search``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from saccade.errors import MachineError, ToolError, UserError, nearest
from saccade.media.store import MediaStore
from saccade.retrieval.corpus import PageHit
from saccade.retrieval.retriever import PageRetriever
from saccade.tools.schema import spec_of
from saccade.tools.tool import MAX_RESULT_IMAGES, BoundCall, Episode, Tool, ToolOutput, tool_from
from saccade.types import ImageRef, Json, ToolResult

MAX_QUERY_CHARS = 500
MAX_PAGES = 10
DEADLINE_S = 60.0

_NO_DOCUMENT = "the argument document names no document of the index"
_MANY_DOCUMENTS = 1000
"""With more, none is proposed for a wrong name: it would take long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCall(BoundCall):
    """A search that passed its checks."""

    search: BoundCall
    seen: tuple[ImageRef, ...]
    """Images shown so far."""
    is_bound: bool
    """The document is the question's, not the model's choice."""

    def run(self, media: MediaStore) -> ToolResult:
        """As ``BoundCall.run``, without the images that were seen; the question's document missing is the machine's
        failure, not the policy's."""
        try:
            found = self.search.run(media)
        except ToolError as error:
            if self.is_bound and str(error).startswith(_NO_DOCUMENT):
                raise MachineError(f"{self.tool.name} cannot find the question's document: {error}") from error
            raise
        return _without_seen(found, self.seen)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchTool(Tool):
    """A search for pages; made by ``search_tool`` and ``bounded_search``."""

    search: Tool
    """The search itself, local or remote; it knows nothing of the episode."""
    corpus: str | None = None
    """The corpus that is searched, where it has a name."""
    document: str | None = None
    """The one document that may be searched; None for all."""
    has_document: Callable[[str], bool] | None = None
    """None where that is not known here."""

    def within(self, episode: Episode) -> "SearchTool":
        """The tool limited to the question's corpus and document; UserError where that is not searched."""
        if self.corpus is not None and episode.corpus not in (None, self.corpus):
            raise UserError(f"the question needs the corpus {episode.corpus!r}, but {self.name} has {self.corpus!r}")
        wanted = episode.document
        if wanted is not None and self.has_document is not None and not self.has_document(wanted):
            raise UserError(f"the question needs the document {wanted!r}, which the index of {self.name} does not have")
        return replace(self, document=wanted)

    def bind(self, arguments: Mapping[str, Json], images: Sequence[ImageRef]) -> SearchCall:
        bound = Tool.bind(self, arguments, images)
        asked = dict(arguments)
        if self.document is not None:
            if asked.get("document", "") not in ("", self.document):
                raise ToolError(f"the argument document may only be {printable(self.document)} here; leave it out")
            asked["document"] = self.document
        search = replace(self.search, function=self.function).bind(asked, ())
        return SearchCall(
            tool=self,
            values=bound.values,
            image=None,
            search=search,
            seen=tuple(images),
            is_bound=self.document is not None,
        )


Find = Callable[[str, int, str | None], ToolOutput]
"""The pages for a query, so many at most, in all documents or in one."""


def search_tool(
    pages: PageRetriever, *, corpus: str | None = None, max_pages: int = MAX_PAGES, deadline_s: float = DEADLINE_S
) -> SearchTool:
    """A tool ``search_pages(query, k, document)`` over an index; ``max_pages`` is the greatest ``k``.

    The data of a result list its pages, best first: ``page``, ``score``, the number of its ``image``, ``is_new``. The
    encoder is called once here, so that a broken one is an error now.
    """
    documents = frozenset(pages.index.documents)
    if documents:
        pages.search("?", 1)

    def find(query: str, k: int, document: str | None) -> ToolOutput:
        if document is not None and document not in documents:
            meant = nearest(document, list(documents)) if len(documents) <= _MANY_DOCUMENTS else None
            raise ToolError(_NO_DOCUMENT + (f"; did you mean {printable(meant)}?" if meant else ""))
        return _output(pages, _search(pages, query, k, document))

    made = bounded_search(finding_tool(find, max_pages=max_pages, deadline_s=deadline_s))
    return replace(made, corpus=corpus, has_document=documents.__contains__)


def finding_tool(find: Find, *, max_pages: int = MAX_PAGES, deadline_s: float = DEADLINE_S) -> Tool:
    """The tool by whatever finds pages; it knows nothing of episodes."""
    if not 1 <= max_pages <= MAX_RESULT_IMAGES:
        raise UserError(f"max_pages={max_pages} is out of range; use 1 to {MAX_RESULT_IMAGES}")

    def search_pages(
        query: Annotated[str, "what the pages should tell about, in words"],
        k: Annotated[int, f"so many pages, from 1 to {max_pages}"] = 3,
        document: Annotated[str, "the one document to search; all when left out"] = "",
    ) -> ToolOutput:
        """Find the pages of documents that match a query best, and show them, best first."""
        if not query.strip():
            raise ToolError("the argument query is empty; say what to look for")
        if not 1 <= k <= max_pages:
            raise ToolError(f"the argument k is {k}, but it must be from 1 to {max_pages}")
        return find(query, k, document or None)

    plain = tool_from(search_pages, deadline_s)
    limits = {"query": MAX_QUERY_CHARS}
    parameters = tuple(replace(one, max_chars=limits.get(one.name, one.max_chars)) for one in plain.parameters)
    return replace(plain, parameters=parameters, spec=spec_of(search_pages, parameters))


def bounded_search(tool: Tool) -> SearchTool:
    """A remote search for pages, limited in episodes like a local one."""
    return SearchTool(
        spec=tool.spec,
        parameters=tool.parameters,
        function=tool.function,
        deadline_s=tool.deadline_s,
        origin=tool.origin,
        search=tool,
    )


def printable(name: str) -> str:
    """A document's name as a model is shown it: names of files may hold line ends."""
    return name if name.isprintable() else ascii(name)[1:-1]


def _search(pages: PageRetriever, query: str, k: int, document: str | None) -> list[PageHit]:
    try:
        return pages.search(query, k, document)
    # The encoder was tried with a plain question: what it refuses now is this one.
    except ValueError as error:
        raise ToolError("the argument query cannot be searched for; say it in plain words") from error


def _output(pages: PageRetriever, hits: Sequence[PageHit]) -> ToolOutput:
    found: list[Json] = [{"page": str(hit.page), "score": hit.score} for hit in hits]
    return ToolOutput(images=tuple(pages.index.picture(hit.page) for hit in hits), data={"pages": found})


def _without_seen(found: ToolResult, seen: Sequence[ImageRef]) -> ToolResult:
    """The result with each picture once, each page with the number of its image in the episode."""
    shown = list(seen)
    lines: list[str] = []
    listed: list[Json] = []
    pages = found.data.get("pages")
    described = pages if isinstance(pages, Sequence) and not isinstance(pages, str) else ()
    if len(described) != len(found.images):
        raise MachineError(f"a search returned {len(found.images)} images for {len(described)} pages")
    for about, image in zip(described, found.images):
        if not isinstance(about, Mapping) or "page" not in about:
            raise MachineError(f"a search returned a page without a name: {about!r}")
        is_new = image not in shown
        if is_new:
            shown.append(image)
        number = shown.index(image) + 1
        lines.append(f"{printable(str(about['page']))}: image {number}{'' if is_new else ', shown before'}")
        listed.append({"page": about["page"], "score": about.get("score"), "image": number, "is_new": is_new})
    return ToolResult(
        text="\n".join(lines) or "no page was found", images=tuple(shown[len(seen) :]), data={"pages": listed}
    )
