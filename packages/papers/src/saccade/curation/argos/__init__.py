"""Argos' data: reasoning that points, by a teacher that sees where things are, kept when the verifier lets it pass.

Start in ``pipeline.py``; ``traces.py`` has what is made: traces, their files, and their selection by the verifier.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.argos.marks import Mark as Mark
    from saccade.curation.argos.marks import MarkFinder as MarkFinder
    from saccade.curation.argos.marks import PointerMarks as PointerMarks
    from saccade.curation.argos.marks import RegionMarks as RegionMarks
    from saccade.curation.argos.pipeline import Tracing as Tracing
    from saccade.curation.argos.run import ArgosRequest as ArgosRequest
    from saccade.curation.argos.run import curate_argos as curate_argos
    from saccade.curation.argos.settings import TracingSettings as TracingSettings
    from saccade.curation.argos.traces import PointedTrace as PointedTrace
    from saccade.curation.argos.traces import TraceFilter as TraceFilter
    from saccade.curation.argos.traces import equal_sets as equal_sets
    from saccade.curation.argos.traces import read_pointed_examples as read_pointed_examples
    from saccade.curation.argos.traces import read_traces as read_traces
    from saccade.curation.argos.traces import select as select
    from saccade.curation.argos.traces import traces_of as traces_of
    from saccade.curation.argos.traces import write_traces as write_traces
else:
    __getattr__, __dir__ = names_on_use(__name__)
