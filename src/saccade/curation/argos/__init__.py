"""Argos' data: reasoning that points, by a teacher that sees where things are, kept when the verifier lets it pass.

Start in ``pipeline.py``; ``traces.py`` has what is made: traces, their files, and their selection by the verifier.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.argos.marks import Mark, MarkFinder, PointerMarks, RegionMarks
    from saccade.curation.argos.pipeline import Tracing
    from saccade.curation.argos.run import ArgosRequest, curate_argos
    from saccade.curation.argos.settings import TracingSettings
    from saccade.curation.argos.traces import (
        PointedTrace,
        TraceFilter,
        equal_sets,
        read_pointed_examples,
        read_traces,
        select,
        traces_of,
        write_traces,
    )
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "ArgosRequest",
    "Mark",
    "MarkFinder",
    "PointedTrace",
    "PointerMarks",
    "RegionMarks",
    "TraceFilter",
    "Tracing",
    "TracingSettings",
    "curate_argos",
    "equal_sets",
    "read_pointed_examples",
    "read_traces",
    "select",
    "traces_of",
    "write_traces",
]
