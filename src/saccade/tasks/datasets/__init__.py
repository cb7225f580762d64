"""Published data sets, read from their own layouts: those that VISTA-Gym trains on and is measured by, and others.

``table.py`` lists them by name, ``reading.py`` makes tasks of one, ``duplicates.py`` finds questions that stand in
two; a data set is described in a module of its field (``charts``, ``geometry``, ``photos``, ...).
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tasks.datasets.dataset import DataSet, Problem
    from saccade.tasks.datasets.duplicates import WithoutDuplicates, drop_duplicates
    from saccade.tasks.datasets.reading import DataSetTasks, data_set_named, read_data_set
    from saccade.tasks.datasets.table import DATA_SETS
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "DATA_SETS",
    "DataSet",
    "DataSetTasks",
    "Problem",
    "WithoutDuplicates",
    "data_set_named",
    "drop_duplicates",
    "read_data_set",
]
