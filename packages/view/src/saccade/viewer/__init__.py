"""The viewer: the report of a run as one HTML file and as JSON, and a reward explained in the terminal.

Start in ``report.py``; ``evidence.py`` reads what a run left on disk, ``explained.py`` is ``saccade show``.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.viewer.evidence import Evidence as Evidence
    from saccade.viewer.evidence import collect as collect
    from saccade.viewer.report import report_values as report_values
    from saccade.viewer.report import write_report as write_report
else:
    __getattr__, __dir__ = names_on_use(__name__)
