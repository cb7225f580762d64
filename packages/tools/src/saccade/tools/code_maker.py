"""The maker of Python tools."""

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from saccade.codec.fields import Fields
from saccade.protocols.code_words import PYTHON_TOOL
from saccade.sandbox.results import Isolation
from saccade.sandbox.sandbox import Sandbox, sandbox_for
from saccade.tools.code import PythonTool, Shows, python_tool
from saccade.tools.making import ToolBench, ToolMaker
from saccade.tools.reaches import Reach

if TYPE_CHECKING:
    from saccade.sandbox.remote import RemoteSandbox

logger = logging.getLogger(__name__)

_WEAKER = (
    "the record asks for a sandbox with isolation=%s and gets isolation=full: only your own command can weaken it "
    "(--set isolation=%s)"
)


class PythonMaker(ToolMaker):
    """Makes Python in a sandbox, which all such tools of a run share: as isolated as the user says, or fully."""

    def make(self, name: str, origin: Fields, bench: ToolBench, allowed: frozenset[str] | None = None) -> PythonTool:
        given = origin.fields("python")
        if not given.values:
            return python_tool(_sandbox(bench), evidence_runs=bench.evidence_runs)
        _warn_of_weaker(given.option("isolation", get_args(Isolation)), bench)
        return python_tool(
            _sandbox(bench),
            timeout_s=given.number("timeout_s"),
            shows=given.option("shows", get_args(Shows)),
            min_side_px=given.whole("min_side_px"),
            max_images=given.whole("max_images"),
            max_output_chars=given.whole("max_output_chars"),
            evidence_runs=bench.evidence_runs,
        )

    def reaches(self, origin: Fields) -> Iterator[Reach]:
        return iter(())

    def wished(self, wish: str, bench: ToolBench) -> Sequence[PythonTool]:
        return (python_tool(_sandbox(bench), evidence_runs=bench.evidence_runs),) if wish == PYTHON_TOOL else ()


def _sandbox(bench: ToolBench) -> "Sandbox | RemoteSandbox":
    isolation = Fields({"isolation": bench.isolation or "full"}, "the setting").option("isolation", get_args(Isolation))
    sandbox = sandbox_for(isolation, bench.sandbox_server)
    return bench.shared(type(sandbox), bench.sandbox_server, lambda: sandbox)


def _warn_of_weaker(recorded: Isolation, bench: ToolBench) -> None:
    if recorded != "full" and bench.isolation is None and _WEAKER not in bench.warnings:
        bench.warnings.add(_WEAKER)
        logger.warning(_WEAKER, recorded, recorded)
