"""A policy that answers in texts, a server's model say: it plays the same episodes by turns, without tokens."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from saccade.chat.chat_model import ChatModel
from saccade.chat.wire import ChatReply, RefusedRequestError
from saccade.errors import MachineError, UserError
from saccade.media.resize import ViewRule
from saccade.rollout.batch import PlayedAs
from saccade.rollout.conversation import ORIGINAL_VIEW, play
from saccade.rollout.episodes import RolloutRequest
from saccade.rollout.players import OnPlayed, PlayedSample, SampleCost, TimedEnvironment
from saccade.rollout.trajectory import Result, RunBlocking, attempt
from saccade.types import Answer, Trajectory, TrajectoryStatus, Turn
from saccade.waiting import run_to_end

FAILURES_IN_A_ROW = 16
"""So many trajectories that the machine fails one after another end a run at a server: it is gone."""


@dataclass(frozen=True, kw_only=True)
class ChatPlayer:
    """A policy that answers in texts: a server's model, with pictures as they are.

    Its trajectories have turns and no tokens. It is asked at the temperature of the episodes; how long a reply may be
    is the chat model's own setting.
    """

    model: ChatModel
    view: ViewRule = ORIGINAL_VIEW
    at_once: int = 8

    def play(self, requests: Sequence[RolloutRequest], how: PlayedAs, on_played: OnPlayed) -> list[PlayedSample]:
        return run_to_end(self._play(requests, how, on_played))

    async def _play(self, requests: Sequence[RolloutRequest], how: PlayedAs, on_played: OnPlayed) -> list[PlayedSample]:
        """MachineError when many trajectories in a row fail, UserError where the server refuses all it is asked."""
        finished: dict[int, PlayedSample] = {}
        left = iter(enumerate(requests))
        in_a_row = 0
        pool = ThreadPoolExecutor(max_workers=how.settings.tool_threads, thread_name_prefix="environment")

        def run_blocking(operation: Callable[[], Result], /) -> Awaitable[Result]:
            return asyncio.get_running_loop().run_in_executor(pool, operation)

        async def work() -> None:
            nonlocal in_a_row
            for index, request in left:
                played = await Conversation(request=request, env=TimedEnvironment(how.make_env())).play(
                    self.model, how, run_blocking
                )
                finished[index] = played
                on_played(index, played)
                in_a_row = in_a_row + 1 if played.trajectory.status == "failed" else 0
                if in_a_row >= FAILURES_IN_A_ROW:
                    raise MachineError(
                        f"{in_a_row} trajectories in a row failed, the last one because: {played.trajectory.failure}. "
                        "Played trajectories are kept: fix the cause, then continue with --resume --retry-failed"
                    )

        workers = [asyncio.create_task(work()) for _ in range(min(self.at_once, len(requests)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            pool.shutdown(wait=False, cancel_futures=True)
        return [finished[index] for index in range(len(requests))]


@dataclass(kw_only=True, slots=True)
class Conversation:
    """One request under way at a chat model."""

    request: RolloutRequest
    env: TimedEnvironment
    replies: list[ChatReply] = field(default_factory=list)

    async def play(self, model: ChatModel, how: PlayedAs, run_blocking: RunBlocking) -> PlayedSample:
        status: TrajectoryStatus
        failure = ""
        try:
            turns = await self._turns(model, how, run_blocking)
            status = self._status(turns)
        except RefusedRequestError as error:
            if not error.is_about_one_request:
                raise
            # Its own turns have filled the context: the end that an engine would have given it.
            is_full = bool(self.replies) and error.is_about_length
            status, failure = ("token_limit", "") if is_full else ("failed", str(error))
        except (MachineError, UserError) as error:
            status, failure = "failed", str(error)
        finally:
            self.env.close()
        request = self.request
        trajectory = Trajectory(
            task_id=request.task.id,
            family=request.task.family,
            stream=request.stream,
            sample=request.sample,
            seed=request.seed,
            policy_version=0,
            segments=(),
            turns=self.env.turns,
            status=status,
            failure=failure,
            cut_turns=sum(any(reply.cut_off) for reply in self.replies[:-1]),
        )
        tokens_in = sum(reply.prompt_tokens for reply in self.replies)
        tokens_out = sum(reply.completion_tokens for reply in self.replies)
        cost = SampleCost(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            wall_s=self.env.wall_s,
            tool_s=self.env.tool_s,
            refused=bool(self.replies) and any(self.replies[-1].refused),
        )
        return PlayedSample(trajectory=trajectory, cost=cost)

    async def _turns(self, model: ChatModel, how: PlayedAs, run_blocking: RunBlocking) -> Sequence[Turn]:
        def persistently(operation: Callable[[], Result], /) -> Awaitable[Result]:
            before = len(self.env.turns)
            return attempt(
                operation,
                what="turn",
                label=self.request.label,
                settings=how.settings,
                run_blocking=run_blocking,
                is_repeatable=lambda: len(self.env.turns) == before,
            )

        return await play(
            model,
            self.env,
            self.request.task,
            temperature=how.settings.temperature,
            seed=self.request.seed,
            run_blocking=persistently,
            fault=lambda _: "the reply was cut off" if self._is_cut_off and not how.settings.corrects_cut_turns else "",
            on_reply=self.replies.append,
        )

    @property
    def _is_cut_off(self) -> bool:
        return bool(self.replies) and any(self.replies[-1].cut_off)

    def _status(self, turns: Sequence[Turn]) -> TrajectoryStatus:
        if turns and isinstance(turns[-1].action, Answer):
            return "answered"
        return "token_limit" if self._is_cut_off else "turn_limit"
