"""A tiny checkpoint behind ``saccade tinker`` in this process, and a plain client of its protocol."""

import asyncio
import base64
import io
import itertools
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2
import numpy as np
from PIL import Image

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.checkpoint import LoadSettings
from saccade.services.http.listening import listening, new_event_loop
from saccade.serving.tinker.server import TinkerServer, shared_models
from saccade.serving.tinker.settings import TinkerSettings
from saccade.serving.tinker.wire import WireFields, double_field, number_field, part_field

ADAM = {"learning_rate": 1e-2, "beta1": 0.9, "beta2": 0.95, "eps": 1e-12, "weight_decay": 0.0, "grad_clip_norm": 0.0}


def write_tiny(directory):
    """A checkpoint of random weights."""
    model = tiny_model(["How many circles are there?", "There are 3."] * 9, MediaStore(), size=TinySize(), seed=3)
    model.save(directory)


def png(seed=1, size=(64, 48)):
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def text_chunk(ids):
    return part_field(1, part_field(1, np.asarray(ids, "<i4").tobytes()))


def picture_chunk(raw, expected=None):
    counted = b"" if expected is None else number_field(3, expected)
    return part_field(2, part_field(1, raw) + part_field(2, "png") + counted)


def tensor(values, dtype):
    array = np.asarray(values, dtype)
    sides = b"".join(number_field(4, side) for side in array.shape)
    return part_field(1, array.tobytes()) + number_field(3, {"<f4": 1, "<i8": 2}[dtype]) + sides


def example(chunks, **inputs):
    """A Datum: chunks, and tensors by name."""
    written = b"".join(part_field(1, chunk) for chunk in chunks)
    for name, values in inputs.items():
        one = tensor(values, "<i8" if name == "target_tokens" else "<f4")
        written += part_field(2, part_field(1, name) + part_field(2, one))
    return written


def loss_body(model_id, seq_id, examples, loss, *, config=(), forward_only=False):
    body = part_field(1, model_id) + number_field(2, seq_id) + b"".join(part_field(3, one) for one in examples)
    body += part_field(4, loss) + number_field(6, int(forward_only))
    return body + b"".join(part_field(5, part_field(1, k) + double_field(2, v)) for k, v in config)


@dataclass
class PlainClient:
    """Asks as the package does, and waits for the result."""

    url: str
    server: TinkerServer
    headers: dict[str, str] = field(default_factory=dict)
    session: str = ""
    numbers: itertools.count = field(default_factory=itertools.count)

    def post(self, path, body):
        how = {"content": body} if isinstance(body, bytes) else {"json": body}
        return httpx2.post(f"{self.url}/api/v1/{path}", timeout=60, headers=self.headers, **how)

    def get(self, path):
        return httpx2.get(f"{self.url}/api/v1/{path}", timeout=60, headers=self.headers)

    def result(self, path, body):
        """The reply of a promise: the answer's fields, an object, or an error's words."""
        asked = self.post(path, body)
        if asked.status_code != 200:
            return asked.json()
        while (reply := self.post("retrieve_future", {"request_id": asked.json()["request_id"]})).status_code == 408:
            pass
        is_object = reply.headers["content-type"] == "application/json"
        return reply.json() if is_object else WireFields(reply.content)

    def begin(self):
        self.session = self.post("create_session", {"tags": [], "user_metadata": {}, "sdk_version": "0"}).json()[
            "session_id"
        ]
        return self

    def train(self, **lora):
        asked = {"session_id": self.session, "model_seq_id": next(self.numbers), "base_model": "tiny"}
        made = self.result("create_model", asked | {"lora_config": {"rank": 4, "seed": 1, **lora}})
        return PlainTraining(self, made["model_id"])

    def sampler(self, **of):
        asked = {"session_id": self.session, "sampling_session_seq_id": next(self.numbers), **of}
        return self.post("create_sampling_session", asked).json()["sampling_session_id"]

    def ask(self, sampler, chunks, *, count=1, more=(), **params):
        body = {"sampling_session_id": sampler, "seq_id": next(self.numbers), "num_samples": count}
        return self.result("asample", body | {"prompt": {"chunks": chunks}, "sampling_params": params, **dict(more)})

    def sample(self, sampler, chunks, **how):
        """Ids and log-probabilities of each sample."""
        found = [WireFields(part) for part in self.ask(sampler, chunks, **how).parts(1)]
        return [(np.frombuffer(one.part(2), "<i4"), np.frombuffer(one.part(3), "<f4")) for one in found]

    def prompt_logprobs(self, sampler, chunks):
        answer = self.ask(sampler, chunks, more={"prompt_logprobs": True}, max_tokens=1)
        return np.frombuffer(answer.part(2), "<f4")


@dataclass
class PlainTraining:
    """A training client, with its numbers in order."""

    client: PlainClient
    model_id: str
    seq: itertools.count = field(default_factory=lambda: itertools.count(1))

    def body(self, **more):
        return {"model_id": self.model_id, "seq_id": next(self.seq), **more}

    def loss(self, examples, loss="cross_entropy", **how):
        """The sum of the loss, and log-probabilities of each example; or an error's words."""
        answer = self.client.result("forward_backward", loss_body(self.model_id, next(self.seq), examples, loss, **how))
        if isinstance(answer, dict):
            return answer
        records = [WireFields(part) for part in answer.parts(2)]
        tensors = [WireFields(entry.part(2)) for record in records for _, entry in record.entries(2)]
        [(name, value)] = answer.entries(3)
        assert name == "loss:sum"
        return value.double(2), [np.frombuffer(one.part(1), "<f4").reshape(-1, *one.numbers(4)) for one in tensors]

    def step(self, **params):
        return self.client.result("optim_step", self.body(adam_params=ADAM | params))

    def snapshot(self, **how):
        asked = self.body(sampling_session_seq_id=next(self.client.numbers), **how)
        return self.client.result("save_weights_for_sampler", asked)["sampling_session_id"]


def json_text(ids):
    return {"type": "encoded_text", "tokens": [int(one) for one in ids]}


def json_picture(raw, expected=None):
    chunk = {"type": "image", "format": "png", "data": base64.b64encode(raw).decode()}
    return chunk if expected is None else chunk | {"expected_tokens": expected}


@contextmanager
def serving_tinker(checkpoint, root, *, token=None, **settings):
    base, another = shared_models(checkpoint, LoadSettings(device="cpu"))
    made = TinkerServer(base, another, TinkerSettings(name="tiny", port=0, **settings), root=root, token=token)
    with listening("127.0.0.1", 0) as listener:

        def run():
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(made.run(listener))

        thread = threading.Thread(target=run)
        thread.start()
        end = time.monotonic() + 120
        try:
            while not made.has_started:
                assert time.monotonic() < end, "the server never started"
                time.sleep(0.01)
            yield PlainClient(f"http://127.0.0.1:{listener.getsockname()[1]}", made)
        finally:
            made.stop()
            thread.join()
