"""Searching the web and reading a page of it as tools, answered from what was recorded (``retrieval.recorded_web``).

In an episode they answer from the recording of its question alone, whatever the model asks for.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

from saccade.errors import ToolError
from saccade.retrieval.recorded_web import RecordedWeb
from saccade.tools.tool import Episode, Tool, ToolOutput, tool_from

MAX_PAGE_CHARS = 12_000
"""Of a page, as many as Agentic-MME's tool shows."""
_NOT_RECORDED = "nothing was recorded for the argument"

OfQuestion = Callable[[str | None], Tool]
"""The tool for the question of this name in the recording; for None all questions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedTool(Tool):
    """A tool that answers from a recording."""

    of_question: OfQuestion

    def within(self, episode: Episode) -> Tool:
        """The tool limited to the recording of the episode's question; a question without a name has none."""
        name = (episode.document or "").rpartition("/")[2]
        return replace(self.of_question(name), origin=self.origin)


def web_search_tool(web: RecordedWeb) -> RecordedTool:
    """``search_web(query)``: titles, addresses and snippets."""

    def of_question(question: str | None) -> Tool:
        def search_web(query: Annotated[str, "what to search for, in words"]) -> ToolOutput:
            """Search the web for a query, and list what is found with its addresses."""
            results = web.search(question, query)
            if results is None:
                raise ToolError(f"{_NOT_RECORDED} query; ask in other words, or answer with what you know")
            lines = [
                f"{place}. {one.title}\n   {one.address}\n   {one.snippet}"
                for place, one in enumerate(results, start=1)
            ]
            return ToolOutput(text="\n".join(lines) or "nothing was found", data={"results": len(results)})

        return tool_from(search_web)

    return _recorded(of_question)


def web_page_tool(web: RecordedWeb, *, max_chars: int = MAX_PAGE_CHARS) -> RecordedTool:
    """``read_web_page(address)``: the page's text, its beginning alone where it is longer than ``max_chars``."""

    def of_question(question: str | None) -> Tool:
        def read_web_page(address: Annotated[str, "the address of a result, as the search told it"]) -> ToolOutput:
            """Read the text of a web page that a search found."""
            text = web.page(question, address)
            if text is None:
                raise ToolError(f"{_NOT_RECORDED} address; read another page, or answer with what you know")
            return ToolOutput(text=text[:max_chars] or "the page has no text", data={"characters": len(text)})

        return tool_from(read_web_page)

    return _recorded(of_question)


def _recorded(of_question: OfQuestion) -> RecordedTool:
    plain = of_question(None)
    return RecordedTool(
        spec=plain.spec,
        parameters=plain.parameters,
        function=plain.function,
        deadline_s=plain.deadline_s,
        of_question=of_question,
    )
