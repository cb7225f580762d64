"""One request for a chat completion as it is sent: in one piece or as a stream, with errors as ours."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from saccade.characters import whole_characters
from saccade.chat.wire import refusal
from saccade.errors import UserError, missing_extra
from saccade.retries import TryAgainError

try:
    import httpx2
    import openai
    from openai.types.chat import ChatCompletionChunk
except ImportError as error:
    raise missing_extra("http", "openai", needed_for="asking a server") from error

_PATH = "/chat/completions"


def check_answering(base_url: str, *, timeout_s: float = 10.0) -> None:
    """UserError where no connection to the server can be made; what it answers, or how late, does not matter."""
    with openai.OpenAI(base_url=base_url, api_key="none", timeout=timeout_s, max_retries=0) as client:
        client.organization = client.project = None
        try:
            client.get("/models", cast_to=httpx2.Response)
        except openai.APITimeoutError:
            return
        except openai.APIConnectionError as error:
            raise UserError(
                f"no server answers at {base_url} ({error.__cause__ or error}); start it, or correct the address"
            ) from None
        except openai.OpenAIError:
            return


@dataclass(frozen=True, kw_only=True, slots=True)
class Sender:
    """Sends bodies to one server. TryAgainError where another try may help, RefusedRequestError where none will."""

    base_url: str
    model: str
    timeout_s: float

    async def send(self, body: bytes, client: openai.AsyncOpenAI) -> str:
        """The body of the reply. The time is that of the whole request: a server that drips is silent too."""
        async with self._asking():
            response = await client.post(_PATH, cast_to=httpx2.Response, content=body)
        return response.text

    async def stream(self, body: bytes, client: openai.AsyncOpenAI, on_text: Callable[[str], None]) -> str:
        """The pieces of a stream as the body of a reply in one piece; ``on_text`` is told of all that has come."""
        said, finish = "", None
        on_text(said)
        async with self._asking():
            kind = openai.AsyncStream[ChatCompletionChunk]
            pieces = await client.post(_PATH, cast_to=ChatCompletionChunk, content=body, stream=True, stream_cls=kind)
            async with pieces:
                async for piece in pieces:
                    for choice in (piece.choices or [])[:1]:
                        said += choice.delta.content or choice.delta.refusal or ""
                        finish = choice.finish_reason or finish
                        on_text(whole_characters(said))
        return json.dumps({"choices": [{"message": {"content": said}, "finish_reason": finish}]})

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.timeout_s):
                yield
        except TimeoutError:
            raise TryAgainError(f"no reply within {self.timeout_s:g} s") from None
        except openai.APIStatusError as error:
            said = error.response
            await said.aread()
            raise refusal(
                error.status_code, said.text, said.headers, base_url=self.base_url, model=self.model
            ) from None
        except openai.APIConnectionError as error:
            raise TryAgainError(f"no connection ({error.__cause__ or error})") from None
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            # A stream that breaks off, or whose pieces are no JSON.
            raise TryAgainError(f"the stream broke ({error})") from None
