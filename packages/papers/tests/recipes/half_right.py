"""The recipe of one's own questions with a policy that is right in every other trajectory, as ``replies.json`` says."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.config import RecipeContext, read_own_tasks
from saccade.engines.engine import Completion, Engine, EngineContext, Sampling, ScoreRequest, WeightSource
from saccade.engines.local import LocalEngine, limited_engine
from saccade.recipes.questions import questions
from saccade.testing.scripted import ScriptedEngine, ScriptedSequence
from saccade.train import Plan
from saccade.types import ImageRef


@dataclass(kw_only=True)
class ScoredSequence(ScriptedSequence):
    """A scripted slot whose tokens have the model's own log-probabilities, so that the model can learn from them."""

    scorer: LocalEngine

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        said = await super().sample(ids, images, sampling)
        request = ScoreRequest(ids=(*ids, *said.ids), images=tuple(images), start=len(ids))
        [logprobs] = await self.scorer.score_batch([request], temperature=sampling.temperature or 1.0)
        return replace(said, logprobs=logprobs)


@dataclass(kw_only=True)
class HalfRight(ScriptedEngine):
    """Says the right reply in each trajectory with an even sample, a wrong one in the others."""

    scorer: LocalEngine

    def update_weights(self, source: WeightSource, version: int) -> None:
        super().update_weights(source, version)
        self.scorer.update_weights(source, version)

    async def aclose(self) -> None:
        await self.scorer.aclose()

    def _slot(self, label: str, index: int) -> ScriptedSequence:
        say = self._sayer(label, index)
        return ScoredSequence(label=label, say=say, chat=self.chat, asked=self.asked, scorer=self.scorer)


def half_right(context: RecipeContext) -> Plan:
    """``questions`` on ``--data``, with the replies of ``replies.json`` beside it: question, right and wrong reply."""
    assert context.data is not None
    written = json.loads((Path(context.data).parent / "replies.json").read_text())
    replies = {task.id: written[task.question] for task in read_own_tasks(context.data, context)}

    def said(label: str, turn: int) -> str:
        task_id, _, sample = label.rsplit("/", 2)
        right, wrong = replies[task_id]
        return f"<think>I looked.</think><answer>{wrong if int(sample) % 2 else right}</answer>"

    def engine(run: EngineContext) -> Engine:
        scorer = limited_engine(run.model, run.load.engine, policy_version=run.policy_version)
        return HalfRight(script=said, chat=run.model.chat, scorer=scorer)

    return replace(questions(context), engine=engine)
