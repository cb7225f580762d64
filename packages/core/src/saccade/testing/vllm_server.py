"""A server that speaks vLLM's wire on loopback, with a local engine behind it, for tests of what can go wrong there.

It reads pictures from the wire and refuses those whose pixels are not the model's own, changes weights only while it is
paused, and loses, hangs and lies as a test wants it. vLLM itself is tried by the tests marked ``vllm``.
"""

import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import msgspec
import torch
from torch import Tensor

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.weights import WeightsFile
from saccade.models.vlm import VisionLanguageModel
from saccade.models.weights_by_name import load_weights
from saccade.types import ImageRef, Json
from saccade.waiting import run_to_end

BORN_WITH = "default"
WEIGHTS_WITHIN_S = 60.0

Reply = tuple[int, Json]


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


class FakeVllm:
    """Serves while it is entered; ``model`` is its own and changes with every update."""

    def __init__(self, model: VisionLanguageModel) -> None:
        self.model = model
        self.posted: list[str] = []
        """Paths of requests, in their order."""
        self.version = BORN_WITH
        self.pixels_received: list[str] = []
        """Hashes of pictures that came with pixels."""
        self.is_down = False
        """Connections end without an answer."""
        self.ignores_updates = False
        """Says that it has new weights, and has the old ones."""
        self.fails_at = ""
        """The path that is answered with status 500."""
        self.lies: Callable[[dict[str, Json]], dict[str, Json]] = lambda reply: reply
        """What becomes of the reply to a request for tokens."""
        self.waits_at: int | None = None
        """The next request for tokens waits at this token until new weights come, while it is paused with ``keep``."""
        self.ends = 0
        """How often it was told to end, upon which it began anew."""
        self.held: set[str] = set()
        self._engine = LocalEngine(model)
        self._born = {name: weight.clone() for name, weight in model.named_weights()}
        self._is_paused = False
        self._lock = threading.Lock()
        self._generating = threading.Lock()
        self._waits = threading.Event()
        """Set while a request waits for weights."""
        self._coming: _Loaded | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                body = json.loads(self.rfile.read(length) or b"null")
                if outer._hangs_up():
                    self.close_connection = True
                    return
                status, reply = outer._reply_to(self.path, body)
                if outer._hangs_up():
                    self.close_connection = True
                    return
                sent = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                # A client that gave the request up has gone.
                with suppress(OSError):
                    self.wfile.write(sent)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
                """Nothing: a test reads ``posted``."""

        self._server = _HttpServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def begin_anew(self) -> None:
        """As a process that was started again: with the weights of its checkpoint, and nothing in memory."""
        load_weights(self.model, self._born.items())
        self._engine.reset()
        self.version, self._is_paused = BORN_WITH, False
        self.held.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _hangs_up(self) -> bool:
        return self.is_down

    def wait_for_the_waiting(self) -> None:
        """Returns when a request for tokens waits at ``waits_at``, or is on its way there."""
        if not self._waits.wait(WEIGHTS_WITHIN_S):
            raise TimeoutError(f"no request for tokens came within {WEIGHTS_WITHIN_S:g} s")

    def _reply_to(self, path: str, body: Json) -> Reply:
        fields = body if isinstance(body, dict) else {}
        self.posted.append(path)
        if path == self.fails_at:
            return 500, {"error": "Internal server error"}
        if path == "/inference/v1/generate":
            with self._generating:
                return self._generate(fields)
        # With "keep" what is sampled waits; otherwise it is waited for.
        if "mode=keep" in path and self.waits_at is not None:
            self._waits.wait(WEIGHTS_WITHIN_S)
        with self._lock if self._waits.is_set() else self._generating:
            match path.partition("?")[0]:
                case "/health" | "/init_weight_transfer_engine":
                    return 200, None
                case "/weight_info":
                    return 200, {"weight_version": self.version}
                case "/pause":
                    self._is_paused = True
                case "/resume":
                    self._is_paused = False
                    self._go_on()
                case "/update_weight_version":
                    self.version = str(fields["new_version"])
                case "/finish_weight_update":
                    self.version = str(fields["weight_version"])
                case "/start_weight_update":
                    return (200, None) if self._is_paused else (400, "the engine is not paused")
                case "/update_weights":
                    self._update(fields)
                case "/reset_prefix_cache":
                    pass
                case "/reset_mm_cache":
                    self.held.clear()
                case "/reset_encoder_cache":
                    # What is sampled in flight forgets its pictures when it takes the weights.
                    if not self._waits.is_set():
                        self._engine.reset()
                case "/collective_rpc":
                    self.ends += 1
                    self.begin_anew()
                case _:
                    return 404, {"detail": "Not Found"}
        return 200, None

    @torch.no_grad()
    def _update(self, fields: Mapping[str, Json]) -> None:
        info = fields["update_info"]
        assert isinstance(info, dict)
        loaded = dict(WeightsFile(Path(str(info["path"]))).named_weights())
        if self._waits.is_set():
            self._coming = _Loaded(loaded)
        elif not self.ignores_updates:
            load_weights(self.model, loaded.items())

    def _go_on(self) -> None:
        """The request that waits goes on with the weights that came, which have their name by now."""
        if self._coming is not None:
            self._waits.clear()
            self._engine.update_weights(self._coming, self._engine.policy_version + 1)
            self._coming = None

    def _generate(self, body: Mapping[str, Json]) -> Reply:
        if self._is_paused:
            return 503, {"error": "paused"}
        ids, params = body["token_ids"], body["sampling_params"]
        assert isinstance(ids, list)
        assert isinstance(params, dict)
        tokens = [int(str(token)) for token in ids]
        try:
            images = self._pictures(body.get("features"))
        except KeyError:
            # As vLLM answers to a picture that it holds no more.
            return 500, {"error": "Internal server error"}
        except ValueError as error:
            return 400, {"error": str(error)}
        reply = (
            self._score_reply(tokens, images, int(str(params["prompt_logprobs"])))
            if "prompt_logprobs" in params
            else self._sample_reply(tokens, images, params)
        )
        return 200, self.lies(reply)

    def _sample_reply(self, ids: list[int], images: list[ImageRef], params: Mapping[str, Json]) -> dict[str, Json]:
        stop = params.get("stop", [])
        assert isinstance(stop, list)
        sampling = Sampling(
            seed=int(str(params.get("seed", 0))),
            max_tokens=int(str(params["max_tokens"])),
            temperature=float(str(params["temperature"])),
            stop=tuple(map(str, stop)),
        )

        began_with, was_told, waits_at = self.version, self._engine.policy_version, self.waits_at
        if waits_at is not None:
            self._engine.expect_weights(waits_at)
            self._waits.set()
            self.waits_at = None

        async def sample() -> dict[str, Json]:
            async with self._engine.sequences(["asked"]) as [slot]:
                done = await slot.sample(ids, images, sampling)
            content: list[Json] = [
                {"token_id": token, "logprob": logprob} for token, logprob in zip(done.ids, done.logprobs, strict=True)
            ]
            reply = self._choice(list(done.ids), {"content": content})
            if done.versions:
                names = {was_told: began_with}
                reply["weight_versions"] = [
                    {"version": names.get(span.version, self.version), "start": span.start, "end": span.end}
                    for span in done.versions
                ]
            return {"choices": [reply]}

        return run_to_end(sample())

    def _score_reply(self, ids: list[int], images: list[ImageRef], top: int) -> dict[str, Json]:
        starts = [place for place in range(1, len(ids)) if ids[place] != self.model.image_token_id]
        first = max(place for place in range(len(ids)) if ids[place] == self.model.image_token_id) + 1 if images else 1
        scores = run_to_end(self._engine.score(ids, images, first))
        rows: list[Json] = [None, *({str(token): {"logprob": -1.0}} for token in ids[1:])]
        likely = self._most_likely(ids, images, top) if top else {}
        for place in starts:
            if place >= first:
                rows[place] = {**likely.get(place, {}), str(ids[place]): self._entry(ids[place], scores[place - first])}
        return {"choices": [self._choice([0], None)], "prompt_logprobs": rows}

    def _entry(self, token: int, logprob: float) -> dict[str, Json]:
        return {"logprob": logprob, "decoded_token": self.model.tokenizer.decode([token])}

    @torch.no_grad()
    def _most_likely(self, ids: list[int], images: list[ImageRef], top: int) -> dict[int, dict[str, Json]]:
        """By place the likeliest tokens, of the whole vocabulary as vLLM has it."""
        positions = self.model.positions(ids, images)[:, None]
        embedded = self.model.embed(torch.tensor([ids]), self.model.encode_images(images))
        logprobs = self.model.head_logits(self.model.hidden(embedded, positions))[0].float().log_softmax(dim=-1)
        values, tokens = logprobs.topk(top, dim=-1)
        return {
            place + 1: {str(token): self._entry(token, value) for token, value in zip(of_tokens, of_values)}
            for place, (of_tokens, of_values) in enumerate(zip(tokens.tolist(), values.tolist()))
        }

    def _choice(self, ids: list[Json], logprobs: Json) -> dict[str, Json]:
        spans: list[Json] = [{"version": self.version, "start": 0, "end": len(ids)}]
        return {"index": 0, "token_ids": ids, "logprobs": logprobs, "finish_reason": "stop", "weight_versions": spans}

    def _pictures(self, features: Json) -> list[ImageRef]:
        """KeyError for one that is not held; ValueError for pixels that are not the model's."""
        if not isinstance(features, dict):
            return []
        hashes, sent = _of_images(features, "mm_hashes"), _of_images(features, "kwargs_data")
        for name, data in zip(hashes, sent or [None] * len(hashes), strict=True):
            if data is not None:
                self._check_pixels(str(name), str(data))
                self.held.add(str(name))
                self.pixels_received.append(str(name))
        if not self.held.issuperset(map(str, hashes)):
            raise KeyError("a picture is not held")
        return [self._image(str(name)) for name in hashes]

    def _image(self, name: str) -> ImageRef:
        picture = self.model.media.get(ImageRef(hash=name, width=0, height=0))
        return ImageRef(hash=name, width=picture.width, height=picture.height)

    def _check_pixels(self, name: str, data: str) -> None:
        item = msgspec.msgpack.decode(base64.b64decode(data))
        kind, shape, raw = item["pixel_values"]["data"]
        values = torch.frombuffer(bytearray(raw.data), dtype=getattr(torch, kind)).view(*shape)
        [expected] = self.model.patches.get([self._image(name)])
        # The tiny models have one frame, so that their patches are the whole of it.
        if not torch.equal(values, expected.values):
            raise ValueError("the pixels are not those that the model sees")


class _Loaded:
    """Weights of a file, as an engine takes them over."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._weights = weights

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        yield from self._weights.items()


def _of_images(features: Mapping[str, Json], field: str) -> list[Json]:
    by_kind = features.get(field)
    of_images = by_kind.get("image") if isinstance(by_kind, dict) else None
    return list(of_images) if isinstance(of_images, list) else []
