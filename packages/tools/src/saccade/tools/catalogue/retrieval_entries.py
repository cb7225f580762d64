"""Retrieval in the catalogue: pages of an index, found by what is said about them, and recorded searches of the web."""

from collections.abc import Callable

from saccade.errors import UserError
from saccade.retrieval.layout import IndexPaths, read_header
from saccade.retrieval.recorded_web import RecordedWeb, recording_in
from saccade.retrieval.retriever import PageRetriever
from saccade.tools.catalogue.entries import Entry, Make, Unconfigured
from saccade.tools.catalogue.models import shared_model
from saccade.tools.catalogue.settings import Options
from saccade.tools.page_search import DEADLINE_S, MAX_PAGES, finding_tool, search_tool
from saccade.tools.tool import MAX_RESULT_IMAGES, Tool
from saccade.tools.web_search import MAX_PAGE_CHARS, web_page_tool, web_search_tool


def _search_pages(options: Options) -> Make:
    folder = options.path("index", example="indexes/reports")
    try:
        header = read_header(IndexPaths(folder))
    except UserError as error:
        raise options.error(f"index: {error}") from error
    where = options.place("encoder", header.where or None, example="checkpoints/colqwen2")
    stage, corpus = options.optional_text("first_stage"), options.optional_text("corpus")
    max_pages = options.whole("max_pages", MAX_PAGES, high=MAX_RESULT_IMAGES)
    deadline_s = options.number("deadline_s", DEADLINE_S, low=0.1)
    placement, threads = options.placement(), options.whole("threads", 1, high=256)

    def load() -> PageRetriever:
        from saccade.models.checkpoint import LoadSettings
        from saccade.retrieval.first_stage import FirstStage
        from saccade.retrieval.store import open_index
        from saccade.retrieval.two_stage import TwoStageIndex
        from saccade.vision_models.page_encoders import open_page_encoder

        exact = open_index(folder, threads=threads)
        index = exact if stage is None else TwoStageIndex(exact, FirstStage.read(stage))
        return PageRetriever(index, open_page_encoder(where, LoadSettings(**placement)))

    def make() -> Tool:
        key = ("pages", folder, where, stage, threads, *placement.values())
        try:
            return search_tool(shared_model(key, load), corpus=corpus, max_pages=max_pages, deadline_s=deadline_s)
        except UserError as error:
            raise options.error(str(error)) from error

    return make


def _search_outline() -> Tool:
    return finding_tool(Unconfigured().search)


def _recording(options: Options) -> Callable[[], RecordedWeb]:
    """Reads it once for both tools."""
    folder = options.path("recording", example="recordings/agentic-mme")
    try:
        read = recording_in(folder)
    except UserError as error:
        raise options.error(f"recording: {error}") from error
    return lambda: shared_model(("recording", folder), read)


def _search_web(options: Options) -> Make:
    web = _recording(options)
    return lambda: web_search_tool(web())


def _read_web_page(options: Options) -> Make:
    web, max_chars = _recording(options), options.whole("max_chars", MAX_PAGE_CHARS)
    return lambda: web_page_tool(web(), max_chars=max_chars)


RETRIEVAL = (
    Entry(
        name="search_pages",
        family="retrieval",
        summary="Finds the pages of documents that match a query, and shows them",
        source="Lang2Act section 4.1 (retrieval), VRAG-RL (search); models ColPali, ColQwen2, ColModernVBERT, others",
        makers={"transformers": _search_pages},
        outline=_search_outline,
        example={"query": "a red circle", "k": 2},
    ),
    Entry(
        name="search_web",
        family="retrieval",
        summary="Searches the web as it was recorded for a question",
        source="Agentic-MME (google_search), MMSearch (requery); recordings in their own layouts",
        makers={"recorded": _search_web},
        outline=lambda: web_search_tool(Unconfigured()),
        example={"query": "when is the final"},
    ),
    Entry(
        name="read_web_page",
        family="retrieval",
        summary="Reads the text of a web page that was recorded for a question",
        source="Agentic-MME (fetch_webpage), MMSearch (summarization); recordings in their own layouts",
        makers={"recorded": _read_web_page},
        outline=lambda: web_page_tool(Unconfigured()),
        example={"address": "https://example.org/final"},
    ),
)
