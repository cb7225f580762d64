"""One request for a chat completion as it is sent: in one piece or as a stream, with errors as ours."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from saccade.characters import whole_characters
from saccade.chat.wire import refusal
from saccade.errors import UserError
from saccade.retries import TryAgainError
from saccade.types import Json

_PATH = "/chat/completions"


def check_answering(base_url: str, *, timeout_s: float = 10.0) -> None:
    """UserError where no connection to the server can be made; what it answers, or how late, does not matter."""
    try:
        httpx2.get(f"{base_url.rstrip('/')}/models", timeout=timeout_s)
    except httpx2.TimeoutException:
        return
    except httpx2.TransportError as error:
        raise UserError(f"no server answers at {base_url} ({error}); start it, or correct the address") from None
    except httpx2.HTTPError:
        return


@dataclass(frozen=True, kw_only=True, slots=True)
class Sender:
    """Sends bodies to one server. TryAgainError where another try may help, RefusedRequestError where none will."""

    base_url: str
    model: str
    timeout_s: float

    async def send(self, body: bytes, client: httpx2.AsyncClient) -> str:
        """The body of the reply. The time is that of the whole request: a server that drips is silent too."""
        async with self._answer(body, client) as answer:
            await answer.aread()
            return answer.text

    async def stream(self, body: bytes, client: httpx2.AsyncClient, on_text: Callable[[str], None]) -> str:
        """The pieces of a stream as the body of a reply in one piece; ``on_text`` is told of all that has come."""
        said, finish = "", None
        on_text(said)
        async with self._answer(body, client) as answer:
            async for line in answer.aiter_lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                text, ended = _piece(json.loads(data)) if data not in ("", "[DONE]") else ("", None)
                if text or ended:
                    said, finish = said + text, ended or finish
                    on_text(whole_characters(said))
        return json.dumps({"choices": [{"message": {"content": said}, "finish_reason": finish}]})

    @asynccontextmanager
    async def _answer(self, body: bytes, client: httpx2.AsyncClient) -> AsyncIterator[httpx2.Response]:
        """The answer to a request, whose body is read inside."""
        try:
            async with asyncio.timeout(self.timeout_s), client.stream("POST", _PATH, content=body) as answer:
                if answer.is_success:
                    yield answer
                    return
                await answer.aread()
        except TimeoutError:
            raise TryAgainError(f"no reply within {self.timeout_s:g} s") from None
        except httpx2.TransportError as error:
            raise TryAgainError(f"no connection ({error or type(error).__name__})") from None
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            # A stream whose pieces are no JSON, or tell of an error.
            raise TryAgainError(f"the stream broke ({error})") from None
        raise refusal(answer.status_code, answer.text, answer.headers, base_url=self.base_url, model=self.model)


def _piece(event: Json) -> tuple[str, str | None]:
    """What an event of a stream adds to the text, and why the text ended; ValueError for one that tells of an error."""
    match event:
        case {"error": error} if error:
            raise ValueError(str(error)[:200])
        case {"choices": [{"delta": {**delta}, **choice}, *_]}:
            text, finish = delta.get("content") or delta.get("refusal"), choice.get("finish_reason")
            return text if isinstance(text, str) else "", finish if isinstance(finish, str) else None
    return "", None
