"""What a server's status means: try again, or tell the user what to change."""

from collections.abc import Mapping

from saccade.chat.pacing import asked_wait_s
from saccade.errors import UserError

WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})
"""Besides everything from 500 on."""

ABOUT_ONE_REQUEST = frozenset({400, 413, 422})

SHOWN_CHARACTERS = 300


class RefusedRequestError(UserError):
    """The server will not answer this request, however often it is asked."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_about_one_request(self) -> bool:
        """Another request may well be taken: this one was too long, say."""
        return self.status in ABOUT_ONE_REQUEST


class TryAgainError(Exception):
    """What went wrong this time, and how long the server asks to be left alone."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


def refusal(
    status: int, body: str, headers: Mapping[str, str], *, base_url: str, model: str
) -> TryAgainError | RefusedRequestError:
    """The error to raise for a status that is no success."""
    said = " ".join(body.split())[:SHOWN_CHARACTERS]
    # A quota that is used up comes as 429 too, and no waiting brings it back.
    is_quota = "insufficient_quota" in body
    if (status in WORTH_ANOTHER_TRY or status >= 500) and not is_quota:
        return TryAgainError(f"status {status}: {said}", asked_wait_s(headers))
    if is_quota:
        advice = "the quota of this key is used up; raise it, or choose another key"
    elif status in (401, 403):
        advice = "give the server's key in OPENAI_API_KEY or as api_key"
    elif status in (404, 405):
        advice = (
            f"see that the address ends before /chat/completions, and that {model!r} is one of the models in "
            f"{base_url}/models"
        )
    else:
        advice = (
            "see that the model takes images, that the texts fit into its context, and that the server knows every "
            "field of the request (extra_body changes them)"
        )
    return RefusedRequestError(f"{base_url} refuses the request with status {status}: {said}\n{advice}", status)
