"""Pages of PDFs and pictures, found by what is asked about them: late interaction over an index on disk.

Start in ``corpus.py`` (what a page, a hit and an index are), then ``store.py``. ``building.py`` makes an index of a
folder. Nothing here needs torch but the encoder that is passed in.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.retrieval.building import BuildReport, build_index
    from saccade.retrieval.corpus import PageHit, PageIndex
    from saccade.retrieval.first_stage import FirstStage, build_first_stage
    from saccade.retrieval.late_interaction import MaxSimParts, maxsim, maxsim_parts
    from saccade.retrieval.layout import IndexSettings
    from saccade.retrieval.metrics import hit_at, mrr_at, ndcg_at, recall_at
    from saccade.retrieval.retriever import PageRetriever, open_retriever
    from saccade.retrieval.store import PageStore, open_index
    from saccade.retrieval.task_pages import oracle_pages, retrieved_pages
    from saccade.retrieval.two_stage import TwoStageIndex, open_two_stage
    from saccade.retrieval.why import MatchedToken, PageMatch, named_query, page_match
    from saccade.types import Page
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "BuildReport",
    "FirstStage",
    "IndexSettings",
    "MatchedToken",
    "MaxSimParts",
    "Page",
    "PageHit",
    "PageIndex",
    "PageMatch",
    "PageRetriever",
    "PageStore",
    "TwoStageIndex",
    "build_first_stage",
    "build_index",
    "hit_at",
    "maxsim",
    "maxsim_parts",
    "mrr_at",
    "named_query",
    "ndcg_at",
    "open_index",
    "open_retriever",
    "open_two_stage",
    "oracle_pages",
    "page_match",
    "recall_at",
    "retrieved_pages",
]
