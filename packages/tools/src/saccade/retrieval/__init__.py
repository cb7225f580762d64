"""Pages of PDFs and pictures, found by what is asked about them: late interaction over an index on disk.

Start in ``corpus.py`` (what a page, a hit and an index are), then ``store.py``. ``building.py`` makes an index of a
folder. Nothing here needs torch but the encoder that is passed in.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.retrieval.building import BuildReport as BuildReport
    from saccade.retrieval.building import build_index as build_index
    from saccade.retrieval.corpus import PageHit as PageHit
    from saccade.retrieval.corpus import PageIndex as PageIndex
    from saccade.retrieval.first_stage import FirstStage as FirstStage
    from saccade.retrieval.first_stage import build_first_stage as build_first_stage
    from saccade.retrieval.late_interaction import MaxSimParts as MaxSimParts
    from saccade.retrieval.late_interaction import maxsim as maxsim
    from saccade.retrieval.late_interaction import maxsim_parts as maxsim_parts
    from saccade.retrieval.layout import IndexSettings as IndexSettings
    from saccade.retrieval.metrics import hit_at as hit_at
    from saccade.retrieval.metrics import mrr_at as mrr_at
    from saccade.retrieval.metrics import ndcg_at as ndcg_at
    from saccade.retrieval.metrics import recall_at as recall_at
    from saccade.retrieval.retriever import PageRetriever as PageRetriever
    from saccade.retrieval.retriever import open_retriever as open_retriever
    from saccade.retrieval.store import PageStore as PageStore
    from saccade.retrieval.store import open_index as open_index
    from saccade.retrieval.task_pages import oracle_pages as oracle_pages
    from saccade.retrieval.task_pages import retrieved_pages as retrieved_pages
    from saccade.retrieval.two_stage import TwoStageIndex as TwoStageIndex
    from saccade.retrieval.two_stage import open_two_stage as open_two_stage
    from saccade.retrieval.why import MatchedToken as MatchedToken
    from saccade.retrieval.why import PageMatch as PageMatch
    from saccade.retrieval.why import named_query as named_query
    from saccade.retrieval.why import page_match as page_match
    from saccade.types import Page as Page
else:
    __getattr__, __dir__ = names_on_use(__name__)
