"""A teacher at a vLLM server: what it says of the policy's tokens, by their own ids and the policy's own pixels."""

from collections.abc import Sequence

from saccade.engines.vllm.scorer import ListedScores, PlaceRequest, VllmScorer
from saccade.heartbeat import phase
from saccade.learner.sequences import TopTokens, TrainingSequence
from saccade.models.vlm import VisionLanguageModel
from saccade.waiting import run_to_end


class ServerJudge:
    """A ``TokenJudge``; UserError where the server reads other tokens."""

    def __init__(self, model: VisionLanguageModel, url: str, *, top_k: int) -> None:
        self._scorer = VllmScorer(model, url)
        self._top_k = top_k
        run_to_end(self._scorer.check_tokens())

    def __call__(self, sequences: Sequence[TrainingSequence]) -> Sequence[tuple[tuple[float, ...], TopTokens]]:
        """For each sequence log-probabilities of its action tokens, and the ``top_k`` most likely at each."""
        with phase(lambda: "asking the teacher"):
            found: list[ListedScores] = run_to_end(self._scorer.scores(list(map(_request, sequences)), top=self._top_k))
        return [(one.logprobs, one.listed) for one in found]


def _request(one: TrainingSequence) -> PlaceRequest:
    return PlaceRequest(
        ids=one.ids, images=one.images, places=tuple(at for at, is_action in enumerate(one.is_action) if is_action)
    )
