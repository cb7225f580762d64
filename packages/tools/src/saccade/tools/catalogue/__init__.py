"""The catalogue: all tools by name, what each needs, and how a ``tools.toml`` makes them.

Start in ``catalogue.py`` (``toolset`` makes the tools of a file), then ``settings.py`` (what the file says) and
``entries.py``; the entries of a field are in a module of their own.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tools.catalogue.catalogue import CATALOGUE as CATALOGUE
    from saccade.tools.catalogue.catalogue import build_tool as build_tool
    from saccade.tools.catalogue.catalogue import entry_of as entry_of
    from saccade.tools.catalogue.catalogue import toolset as toolset
    from saccade.tools.catalogue.catalogue import why_not as why_not
    from saccade.tools.catalogue.entries import Entry as Entry
    from saccade.tools.catalogue.entries import ToolFamily as ToolFamily
    from saccade.tools.catalogue.settings import ToolSettings as ToolSettings
    from saccade.tools.catalogue.settings import ToolsFile as ToolsFile
    from saccade.tools.catalogue.settings import read_tools_file as read_tools_file
else:
    __getattr__, __dir__ = names_on_use(__name__)
