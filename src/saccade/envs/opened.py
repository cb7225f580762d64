"""The tools of an environment as one episode sees them, those with a state of their own opened."""

from collections.abc import Sequence

from saccade.tools.tool import Episode, EpisodeTool, OpenTool, Tool


class OpenedTools:
    """``tools`` to call, from ``open`` to ``close``; none before and afterwards."""

    def __init__(self, offered: Sequence[Tool | EpisodeTool]) -> None:
        self.tools: tuple[Tool, ...] = ()
        self._offered = tuple(offered)
        self._opened: list[OpenTool] = []

    def open(self, episode: Episode) -> None:
        """Closes what an earlier episode left open, and opens for this one."""
        self.close()
        self.tools = tuple(tool if isinstance(tool, Tool) else self._open(tool, episode) for tool in self._offered)

    def close(self) -> None:
        self.tools = ()
        while self._opened:
            self._opened.pop().close()

    def _open(self, tool: EpisodeTool, episode: Episode) -> Tool:
        opened = tool.open(episode)
        self._opened.append(opened)
        return opened.tool
