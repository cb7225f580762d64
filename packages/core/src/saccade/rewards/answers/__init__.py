"""Answer metrics: rules that compare an answer with what was expected, by kind of answer and by data set.

Start in ``kinds.py`` (``right_by_kind``), then ``metrics_by_set.py``. No rule looks for a substring.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.rewards.answers.kinds import right_by_kind as right_by_kind
    from saccade.rewards.answers.metrics_by_set import METRICS as METRICS
    from saccade.rewards.answers.metrics_by_set import answer_is_right as answer_is_right
    from saccade.rewards.answers.metrics_by_set import credit as credit
    from saccade.rewards.answers.rules import exact_match as exact_match
    from saccade.rewards.answers.rules import math_equal as math_equal
    from saccade.rewards.answers.rules import multiple_choice as multiple_choice
    from saccade.rewards.answers.rules import relaxed_accuracy as relaxed_accuracy
    from saccade.rewards.answers.vqa import vqa_soft_accuracy as vqa_soft_accuracy
else:
    __getattr__, __dir__ = names_on_use(__name__)
