"""Answer metrics: rules that compare an answer with what was expected, by kind of answer and by data set.

Start in ``kinds.py`` (``right_by_kind``), then ``metrics_by_set.py``. No rule looks for a substring.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.rewards.answers.kinds import right_by_kind
    from saccade.rewards.answers.metrics_by_set import METRICS, answer_is_right, credit
    from saccade.rewards.answers.rules import (
        exact_match,
        math_equal,
        multiple_choice,
        relaxed_accuracy,
    )
    from saccade.rewards.answers.vqa import vqa_soft_accuracy
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "METRICS",
    "answer_is_right",
    "credit",
    "exact_match",
    "math_equal",
    "multiple_choice",
    "relaxed_accuracy",
    "right_by_kind",
    "vqa_soft_accuracy",
]
