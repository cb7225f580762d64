"""Published data sets, read from their own layouts: those that VISTA-Gym trains on and is measured by, and others.

``table.py`` lists them by name, ``reading.py`` makes tasks of one, ``duplicates.py`` finds questions that stand in
two; a data set is described in a module of its field (``charts``, ``geometry``, ``photos``, ...).
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tasks.datasets.dataset import DataSet as DataSet
    from saccade.tasks.datasets.dataset import Problem as Problem
    from saccade.tasks.datasets.duplicates import WithoutDuplicates as WithoutDuplicates
    from saccade.tasks.datasets.duplicates import drop_duplicates as drop_duplicates
    from saccade.tasks.datasets.reading import DataSetTasks as DataSetTasks
    from saccade.tasks.datasets.reading import data_set_named as data_set_named
    from saccade.tasks.datasets.reading import read_data_set as read_data_set
    from saccade.tasks.datasets.table import DATA_SETS as DATA_SETS
else:
    __getattr__, __dir__ = names_on_use(__name__)
