"""Documents of several pages (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.documents import DOCUMENT
from saccade.gym.looks.degraded import worn_looks
from saccade.gym.looks.documents import COLUMNS, PAGES
from saccade.gym.programs.documents import DOCUMENT_PROGRAMS

FAMILIES = (
    GymFamily(
        name="document_pages",
        about="a document of several pages: single facts, and what two pages tell together",
        domain="documents",
        grammar=DOCUMENT,
        renderers=(PAGES,),
        more_renderers=(COLUMNS, *worn_looks(PAGES, COLUMNS)),
        programs=DOCUMENT_PROGRAMS,
        is_split_by_state=True,
        needs_closer=True,
    ),
)
