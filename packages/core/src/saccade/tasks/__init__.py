"""Questions about images, with their answers: drawn from a seed, read from files or from published data sets.

Start in ``procedural.py`` (``generate`` draws tasks of a family, with exact answers and an expert), ``files.py`` (your
own) or ``datasets/`` (published ones). ``curriculum.py`` says which question is asked next. A family of your own is
drawn with what ``saccade.tasks.families`` offers.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.tasks.adaptive import ByLearnability as ByLearnability
    from saccade.tasks.adaptive import CurriculumSettings as CurriculumSettings
    from saccade.tasks.adaptive import HeldDifficulty as HeldDifficulty
    from saccade.tasks.curriculum import HARD_OF_EIGHT as HARD_OF_EIGHT
    from saccade.tasks.curriculum import HARD_OF_FIVE as HARD_OF_FIVE
    from saccade.tasks.curriculum import Band as Band
    from saccade.tasks.curriculum import ByPassRate as ByPassRate
    from saccade.tasks.curriculum import Epochs as Epochs
    from saccade.tasks.curriculum import InOrder as InOrder
    from saccade.tasks.curriculum import Mixture as Mixture
    from saccade.tasks.curriculum import Question as Question
    from saccade.tasks.curriculum import Share as Share
    from saccade.tasks.curriculum import Shuffled as Shuffled
    from saccade.tasks.curriculum import StreamedSource as StreamedSource
    from saccade.tasks.curriculum import TaskSampler as TaskSampler
    from saccade.tasks.curriculum import mixed as mixed
    from saccade.tasks.datasets.duplicates import drop_duplicates as drop_duplicates
    from saccade.tasks.datasets.reading import read_data_set as read_data_set
    from saccade.tasks.datasets.table import DATA_SETS as DATA_SETS
    from saccade.tasks.files import TaskFile as TaskFile
    from saccade.tasks.files import read_tasks as read_tasks
    from saccade.tasks.procedural import FAMILIES as FAMILIES
    from saccade.tasks.procedural import LESSON_FAMILIES as LESSON_FAMILIES
    from saccade.tasks.procedural import READING_FAMILIES as READING_FAMILIES
    from saccade.tasks.procedural import generate as generate
    from saccade.tasks.procedural import vocabulary_texts as vocabulary_texts
    from saccade.tasks.question_sources import drawn_questions as drawn_questions
    from saccade.tasks.rows.tasks import BadRow as BadRow
    from saccade.tasks.tail_patch import TailPatch as TailPatch
else:
    __getattr__, __dir__ = names_on_use(__name__)
