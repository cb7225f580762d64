"""LanceDB behind the protocol of a page index: its table finds candidates, exact MaxSim over our store ranks them.

Its own multivector search is an estimate once it has an index, and takes no other measure than cosine.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow

from saccade.errors import UserError, missing_extra
from saccade.retrieval.corpus import PageHit
from saccade.retrieval.late_interaction import Vectors
from saccade.retrieval.store import PageStore
from saccade.retrieval.two_stage import OverExact

if TYPE_CHECKING:
    import lancedb

_TABLE = "pages"
_PAGES_AT_ONCE = 256
CANDIDATES = 100


def build_lance(exact: PageStore, path: Path) -> "LanceIndex":
    """A table of all pages of an index in the LanceDB database at ``path``, made anew."""
    schema = pyarrow.schema(
        [
            ("place", pyarrow.int64()),
            ("document", pyarrow.string()),
            ("vectors", pyarrow.list_(pyarrow.list_(pyarrow.float32(), exact.header.dimension))),
        ]
    )
    table = _connect(path).create_table(_TABLE, _batches(exact, schema), schema=schema, mode="overwrite")
    return LanceIndex(exact, table)


def open_lance(exact: PageStore, path: Path) -> "LanceIndex":
    """The table that ``build_lance`` made; UserError when it is not there, or behind the index."""
    database = _connect(path)
    if _TABLE not in database.list_tables().tables:
        raise UserError(f"{path} has no table of pages; make one with build_lance")
    return LanceIndex(exact, database.open_table(_TABLE))


class LanceIndex(OverExact):
    """A page index whose candidates come from LanceDB."""

    def __init__(self, exact: PageStore, table: "lancedb.table.Table", *, candidates: int = CANDIDATES) -> None:
        if table.count_rows() != len(exact):
            raise UserError(f"the table has {table.count_rows()} pages, the index {len(exact)}; build it again")
        super().__init__(exact)
        self.table = table
        """For indices of LanceDB's own: ``table.create_index``."""
        self.candidates = candidates

    def search(self, query: Vectors, k: int, document: str | None = None) -> list[PageHit]:
        places = self.nearest(query, max(k, self.candidates), document)
        return self.exact.best_of(query, np.sort(places), k, by_reading=True)

    def nearest(self, query: Vectors, k: int, document: str | None = None) -> "np.ndarray[Any, np.dtype[np.int64]]":
        """Places of the ``k`` best pages by LanceDB's own ranking, best first, each once."""
        self.exact.places(document)
        asked = self.table.search(np.asarray(query, dtype=np.float32), vector_column_name="vectors").distance_type(
            "cosine"
        )
        if document is not None:
            quoted = document.replace("'", "''")
            asked = asked.where(f"document = '{quoted}'", prefilter=True)
        found = asked.limit(k).select(["place", "_distance"]).to_arrow()["place"].to_pylist()
        return np.array(list(dict.fromkeys(found)), dtype=np.int64)


def _batches(exact: PageStore, schema: Any) -> Iterator[Any]:
    pages = exact.pages()
    for begin in range(0, len(pages), _PAGES_AT_ONCE):
        places = range(begin, min(begin + _PAGES_AT_ONCE, len(pages)))
        vectors = [exact.rows.wide(place)[:, : exact.header.dimension] for place in places]
        flat = pyarrow.FixedSizeListArray.from_arrays(np.concatenate(vectors).ravel(), exact.header.dimension)
        offsets = np.cumsum([0, *map(len, vectors)]).astype(np.int32)
        columns = [
            list(places),
            [pages[place].document for place in places],
            pyarrow.ListArray.from_arrays(offsets, flat),
        ]
        yield pyarrow.record_batch(columns, schema=schema)


def _connect(path: Path) -> Any:
    try:
        import lancedb
    except ImportError as error:
        raise missing_extra("retrieval", "lancedb", needed_for="a LanceDB index") from error
    return lancedb.connect(str(path))
