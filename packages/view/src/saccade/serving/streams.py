"""A reply as server-sent events: each turn as it ends, then the reply, then the sums of its tokens."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from saccade.serving import replies
from saccade.serving.agent import PlayedEpisode
from saccade.serving.episodes import EpisodesOfRequests, Request
from saccade.serving.questions import AskedWrongError
from saccade.serving.settings import ReplyForm
from saccade.types import Turn

_QUIET_S = 10.0
"""After which a comment is sent, so that nothing between here and the client takes the connection for dead."""


_SampleTurn = tuple[int, Turn | None]
_Turns = asyncio.Queue[_SampleTurn | None]
"""Each with its sample's number; None when there are no more."""


async def events(episodes: EpisodesOfRequests, request: Request) -> AsyncGenerator[bytes]:
    """The events of a request until ``[DONE]``; an error after the beginning is an event too.

    Closing it, as a server does whose client has left, ends the episodes.
    """
    name, form, asked = episodes.settings.name, episodes.settings.reply, request.asked
    turns: _Turns = asyncio.Queue()
    playing = asyncio.ensure_future(episodes.play(request, lambda sample, turn: turns.put_nowait((sample, turn))))
    try:
        for sample in range(asked.samples):
            yield replies.sse(replies.chunk(request.ident, name, choices=replies.delta(sample, "", role="assistant")))
        async with contextlib.aclosing(_until_done(turns, playing)) as coming:
            async for sample, turn in coming:
                yield b": at work\n\n" if turn is None else _turn_event(request, name, form, sample, turn)
        played = playing.result()
    except AskedWrongError as error:
        yield replies.sse(replies.error_object(error.status, str(error), param=error.param, code=error.code))
        yield b"data: [DONE]\n\n"
        return
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError, AskedWrongError):
            await playing
    for event in _ending(request, name, form, played):
        yield event


def _turn_event(request: Request, name: str, form: ReplyForm, sample: int, turn: Turn) -> bytes:
    said = "\n".join(filter(None, [turn.text, replies.observation_text(turn)])) + "\n" if form == "transcript" else None
    step = replies.step_event(sample, turn)
    return replies.sse(replies.chunk(request.ident, name, choices=replies.delta(sample, said), saccade=step))


def _ending(request: Request, name: str, form: ReplyForm, played: list[PlayedEpisode]) -> list[bytes]:
    """The replies, and the sums where they are wanted."""
    chunks = []
    for sample, one in enumerate(played):
        text, finish = replies.reply_of(one, form, request.asked.stop)
        if form == "answer":
            chunks.append(replies.chunk(request.ident, name, choices=replies.delta(sample, text)))
        chunks.append(replies.chunk(request.ident, name, choices=replies.delta(sample, finish=finish)))
    if request.asked.wants_usage:
        trace = replies.trace_of(request.ident, played)
        chunks.append(replies.chunk(request.ident, name, choices=[], usage=replies.usage(played), saccade=trace))
    return [*map(replies.sse, chunks), b"data: [DONE]\n\n"]


async def _until_done(turns: _Turns, playing: "asyncio.Future[list[PlayedEpisode]]") -> AsyncGenerator[_SampleTurn]:
    """Turns as they come until the play is over; one that is None after each while without any."""
    # Behind all of its turns, so that nothing else is waited for: a task for each wait could be left behind.
    playing.add_done_callback(lambda _: turns.put_nowait(None))
    while True:
        try:
            async with asyncio.timeout(_QUIET_S):
                coming = await turns.get()
        except TimeoutError:
            yield 0, None
            continue
        if coming is None:
            return
        yield coming
