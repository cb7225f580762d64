"""Questions about images, with their answers: drawn from a seed, read from files or from published data sets.

Start in ``procedural.py`` (``generate`` draws tasks of a family, with exact answers and an expert), ``files.py`` (your
own) or ``datasets/`` (published ones). ``curriculum.py`` says which question is asked next. A family of your own is
drawn with what ``saccade.tasks.families`` offers.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tasks.adaptive import ByLearnability, CurriculumSettings, HeldDifficulty
    from saccade.tasks.curriculum import (
        HARD_OF_EIGHT,
        HARD_OF_FIVE,
        Band,
        ByPassRate,
        Epochs,
        InOrder,
        Mixture,
        Question,
        Share,
        Shuffled,
        StreamedSource,
        TaskSampler,
        mixed,
    )
    from saccade.tasks.datasets.duplicates import drop_duplicates
    from saccade.tasks.datasets.reading import read_data_set
    from saccade.tasks.datasets.table import DATA_SETS
    from saccade.tasks.files import TaskFile, read_tasks
    from saccade.tasks.procedural import FAMILIES, LESSON_FAMILIES, READING_FAMILIES, generate, vocabulary_texts
    from saccade.tasks.question_sources import drawn_questions
    from saccade.tasks.rows.tasks import BadRow
    from saccade.tasks.tail_patch import TailPatch
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "DATA_SETS",
    "FAMILIES",
    "HARD_OF_EIGHT",
    "HARD_OF_FIVE",
    "LESSON_FAMILIES",
    "READING_FAMILIES",
    "BadRow",
    "Band",
    "ByLearnability",
    "ByPassRate",
    "CurriculumSettings",
    "Epochs",
    "HeldDifficulty",
    "InOrder",
    "Mixture",
    "Question",
    "Share",
    "Shuffled",
    "StreamedSource",
    "TailPatch",
    "TaskFile",
    "TaskSampler",
    "drawn_questions",
    "drop_duplicates",
    "generate",
    "mixed",
    "read_data_set",
    "read_tasks",
    "vocabulary_texts",
]
