"""An agent whose policy answers behind another server: the tool loop is run here, the texts come from there."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from saccade.chat.chat_model import ChatModel
from saccade.chat.wire import RefusedRequestError
from saccade.errors import MachineError, UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.rollout.batch import PlayedAs
from saccade.rollout.chat_player import Conversation
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest
from saccade.rollout.players import TimedEnvironment
from saccade.rollout.trajectory import Result
from saccade.serving.agent import AddGauge, PlayedEpisode, RequestSampling
from saccade.serving.live import LiveChat, LiveEpisode
from saccade.serving.watched import OnTurn, WatchedEnvironment

USUAL_TOKENS = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<image>",
    "<IMG_CONTEXT>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_image>",
    "<image_soft_token>",
    "<|turn>",
    "<turn|>",
    "<|image>",
    "<image|>",
)
"""Tokens of the families that are served most; a foreign model's own are not known here."""


class ChatAgent:
    """A chat model's agent. Tokens are those that its server counts, and replies are not cut by them."""

    def __init__(self, model: ChatModel, spec: EpisodeSpec, view: ViewRule, special_tokens: Sequence[str] = ()) -> None:
        self.spec = spec
        self.special_tokens = tuple(special_tokens)
        self._model = model
        self._view = view
        self._pool = ThreadPoolExecutor(max_workers=spec.rollout.tool_threads, thread_name_prefix="environment")

    @property
    def max_prompt_tokens(self) -> int:
        return self.spec.rollout.max_tokens

    def add_gauges(self, add: AddGauge) -> None:
        """None: what its server does is not seen here."""

    def start(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def play(
        self,
        request: RolloutRequest,
        media: MediaStore,
        sampled: RequestSampling,
        *,
        max_reply_tokens: int | None,
        on_turn: OnTurn,
        live: LiveEpisode | None = None,
    ) -> PlayedEpisode:
        """One episode; UserError for sampling that the server is not asked with."""
        if sampled.top_p is not None or sampled.top_k is not None or sampled.max_action_tokens is not None:
            raise UserError(
                "top_p, top_k and max_completion_tokens are settings of this server's own policy server; leave them out"
            )
        spec, model = (self.spec, self._model) if live is None else (live.spec, LiveChat(self._model, live))
        how = PlayedAs(
            make_env=lambda: spec.environment(media, self._view, is_timed=False), settings=sampled.over(spec.rollout)
        )
        env = TimedEnvironment(WatchedEnvironment(how.make_env(), on_turn))
        try:
            played = await Conversation(request=request, env=env).play(model, how, self._run_blocking)
        except RefusedRequestError as error:
            raise MachineError(str(error)) from error
        answer = played.trajectory.answer or ""
        return PlayedEpisode(
            trajectory=played.trajectory,
            prompt_tokens=played.cost.tokens_in,
            completion_tokens=played.cost.tokens_out,
            answer=answer,
            answer_tokens=0,
            is_cut=False,
        )

    def _run_blocking(self, operation: Callable[[], Result], /) -> Awaitable[Result]:
        return asyncio.get_running_loop().run_in_executor(self._pool, operation)
