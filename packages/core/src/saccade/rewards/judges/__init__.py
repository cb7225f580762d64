"""Judges: language models and rules that compare texts, and what guards them against texts that address the judge.

Start in ``consistency.py`` (the rubric, ``ConsistencyJudge``), then ``llm_judge.py``, whose ``JudgeClient`` reads
verdicts strictly. ``addressing.py`` guards them, ``settings.py`` opens the judges that a run's settings name.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.rewards.judges.addressing import quoted as quoted
    from saccade.rewards.judges.consistency import NO_VERDICT as NO_VERDICT
    from saccade.rewards.judges.consistency import RUBRIC as RUBRIC
    from saccade.rewards.judges.consistency import ConsistencyJudge as ConsistencyJudge
    from saccade.rewards.judges.consistency import Ensemble as Ensemble
    from saccade.rewards.judges.consistency import Reference as Reference
    from saccade.rewards.judges.consistency import Verdict as Verdict
    from saccade.rewards.judges.consistency import graded as graded
    from saccade.rewards.judges.evidence_judge import EvidenceJudge as EvidenceJudge
    from saccade.rewards.judges.evidence_judge import WithEvidenceJudge as WithEvidenceJudge
    from saccade.rewards.judges.llm_judge import AnswerJudge as AnswerJudge
    from saccade.rewards.judges.llm_judge import JudgeClient as JudgeClient
    from saccade.rewards.judges.llm_judge import LlmJudge as LlmJudge
    from saccade.rewards.judges.settings import Judges as Judges
    from saccade.rewards.judges.settings import JudgeSettings as JudgeSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)
