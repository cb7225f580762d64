"""Encoders of pages on a server: vLLM's ``/pooling``, with a vector for each token or one for all."""

import base64
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.media.encode import png_bytes
from saccade.retries import back_off_s
from saccade.types import Json
from saccade.vision_models.kinds import PageVectors


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedEncoderSettings:
    """How a server is asked."""

    model: str = ""
    """Its name there; empty for a server of one model."""
    page_prompt: str = "Describe the image."
    """Stands behind the picture, as the models were trained with."""
    question_prefix: str = ""
    timeout_s: float = 120.0
    tries: int = 4
    """MachineError when the server has failed so often."""


class ServedEncoder:
    """Asks a server for the vectors of one page or question at a time; safe to call from many threads."""

    def __init__(self, url: str, settings: ServedEncoderSettings = ServedEncoderSettings()) -> None:
        if not url.startswith(("http://", "https://")):
            raise UserError(f"{url!r} is no address of a server; write http://HOST:PORT")
        self._url = url.rstrip("/").removesuffix("/v1")
        self._settings = settings
        self._model = settings.model or self._only_model()
        (probe,) = self.encode_questions(["?"])
        self._dimension = int(probe.shape[1])

    @property
    def identity(self) -> str:
        """Says nothing of the weights: a server does not tell them."""
        return f"server:{self._model}:{self._settings.page_prompt}:{self._settings.question_prefix}"

    @property
    def dimension(self) -> int:
        return self._dimension

    def encode_pages(self, images: Sequence[Image.Image]) -> list[PageVectors]:
        return [PageVectors(vectors=self._page(image)) for image in images]

    def encode_questions(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [self._vectors({"input": [f"{self._settings.question_prefix}{text}"]}) for text in texts]

    def _page(self, image: Image.Image) -> NDArray[np.float32]:
        picture = base64.b64encode(png_bytes(image.convert("RGB"))).decode("ascii")
        shown: Json = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
        said: Json = {"type": "text", "text": self._settings.page_prompt}
        return self._vectors({"messages": [{"role": "user", "content": [shown, said]}]})

    def _vectors(self, request: Mapping[str, Json]) -> NDArray[np.float32]:
        """Unit vectors; a server of single vectors gives one."""
        answer = self._request("/pooling", {"model": self._model, **request})
        try:
            rows = np.atleast_2d(np.array(answer["data"][0]["data"], dtype=np.float32))  # type: ignore[index, call-overload]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise MachineError(f"{self._url}/pooling answers {str(answer)[:200]}, which are no vectors") from error
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if rows.ndim != 2 or not np.isfinite(rows).all() or not lengths.all():
            raise MachineError(f"{self._url}/pooling gives vectors that are empty, not finite or of length 0")
        unit: NDArray[np.float32] = rows / lengths
        return unit

    def _only_model(self) -> str:
        answer = self._request("/v1/models", None)
        data = answer.get("data") if isinstance(answer, dict) else None
        names = [str(one.get("id")) for one in data if isinstance(one, dict)] if isinstance(data, list) else []
        if len(names) != 1:
            raise UserError(f"{self._url} serves {', '.join(names) or 'no model'}; name one model")
        return names[0]

    def _request(self, path: str, body: Mapping[str, Json] | None) -> dict[str, Json]:
        """The answer; a busy or failing server is asked again."""
        for attempt in range(self._settings.tries):
            if attempt:
                time.sleep(back_off_s(attempt - 1, first_wait_s=0.5, seed=0))
            try:
                return self._once(path, body)
            except urllib.error.HTTPError as error:
                said = error.read(500).decode("utf-8", errors="replace")
                why = f"{self._url}{path} answers {error.code}: {said[:200]}"
                if error.code < 500 and error.code not in (408, 429):
                    raise UserError(f"{why}; check the model and how it is served") from error
            except (OSError, ValueError) as error:
                why = f"{self._url}{path} gives no usable answer ({error})"
        raise MachineError(f"{why}; tried {self._settings.tries} times")

    def _once(self, path: str, body: Mapping[str, Json] | None) -> dict[str, Json]:
        request = urllib.request.Request(
            self._url + path,
            data=None if body is None else json.dumps(body).encode("utf-8"),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=self._settings.timeout_s) as response:
            answer = json.loads(response.read())
        if not isinstance(answer, dict):
            raise ValueError(f"an answer that is no object: {str(answer)[:100]}")
        return answer
