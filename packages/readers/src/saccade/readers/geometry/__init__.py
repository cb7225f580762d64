"""Plane geometry: its two public languages, a numeric solver, and theorems that explain its values.

Start in ``solver.py``. ``language.py`` reads logic forms (Inter-GPS), ``cdl.py`` translates FormalGeo's CDL;
``numeric.py`` finds figures, ``derivation.py`` chains theorems.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.readers.geometry.cdl import cdl_of as cdl_of
    from saccade.readers.geometry.cdl import statements_of as statements_of
    from saccade.readers.geometry.language import parse_statements as parse_statements
    from saccade.readers.geometry.solver import SolverAnswer as SolverAnswer
    from saccade.readers.geometry.solver import solve as solve
    from saccade.readers.geometry.terms import LanguageError as LanguageError
    from saccade.readers.geometry.terms import written as written
else:
    __getattr__, __dir__ = names_on_use(__name__)
