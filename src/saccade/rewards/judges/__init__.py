"""Judges: language models and rules that compare texts, and what guards them against texts that address the judge.

Start in ``consistency.py`` (the rubric, ``ConsistencyJudge``), then ``llm_judge.py``, whose ``JudgeClient`` reads
verdicts strictly. ``addressing.py`` guards them, ``settings.py`` opens the judges that a run's settings name.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.rewards.judges.addressing import quoted
    from saccade.rewards.judges.consistency import (
        NO_VERDICT,
        RUBRIC,
        ConsistencyJudge,
        Ensemble,
        Reference,
        Verdict,
        graded,
    )
    from saccade.rewards.judges.llm_judge import AnswerJudge, JudgeClient, LlmJudge
    from saccade.rewards.judges.settings import Judges, JudgeSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "NO_VERDICT",
    "RUBRIC",
    "AnswerJudge",
    "ConsistencyJudge",
    "Ensemble",
    "JudgeClient",
    "JudgeSettings",
    "Judges",
    "LlmJudge",
    "Reference",
    "Verdict",
    "graded",
    "quoted",
]
