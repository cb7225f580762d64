"""Encoders of pages that others run: sentence-transformers, and a server with vLLM's way of asking."""

import base64
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sentence_transformers import MultiVectorEncoder

from saccade.errors import MachineError, UserError
from saccade.media import decode_image
from saccade.retrieval import maxsim
from saccade.testing.color_encoder import ColorEncoder
from saccade.vision_models import load_page_encoder, open_page_encoder
from saccade.vision_models.sentence_encoders import SentenceEncoder
from saccade.vision_models.served_encoders import ServedEncoder, ServedEncoderSettings


def test_sentence_transformers_gives_the_scores_of_transformers_own_classes(checkpoints, picture: Image.Image) -> None:
    ours, theirs = load_page_encoder(checkpoints("colpali")), SentenceEncoder(checkpoints("colpali"))
    scores = []
    for encoder in (ours, theirs):
        (question,), (page,) = encoder.encode_questions(["Is it blue?"]), encoder.encode_pages([picture])
        scores.append(maxsim(question, page.vectors))
        assert question.shape[1] == encoder.dimension
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)
    assert ours.identity != theirs.identity


def test_a_directory_in_their_layout_is_loaded_by_them(checkpoints, tmp_path: Path, picture: Image.Image) -> None:
    MultiVectorEncoder(str(checkpoints("colpali")), local_files_only=True, device="cpu").save(str(tmp_path / "saved"))
    # transformers' own classes come first.
    assert type(load_page_encoder(tmp_path / "saved")) is type(load_page_encoder(checkpoints("colpali")))
    (tmp_path / "saved" / "config.json").rename(tmp_path / "config.json")
    with pytest.raises(UserError, match="cannot be loaded by sentence-transformers"):
        load_page_encoder(tmp_path / "saved")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "modules.json").write_text("[]")
    with pytest.raises(UserError, match="cannot be loaded by sentence-transformers"):
        load_page_encoder(tmp_path / "broken")


class Pooling(BaseHTTPRequestHandler):
    """What vLLM answers, by an encoder that needs no model."""

    encoder, models, status, is_single, asked = ColorEncoder(), ["colors"], [200], False, 0

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": name} for name in type(self).models]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked += 1
        status = type(self).status
        if (code := status.pop(0) if len(status) > 1 else status[0]) != 200:
            self.send_error(code)
            return
        if "messages" in request:
            shown, said = request["messages"][0]["content"]
            assert said == {"type": "text", "text": "Describe the image."}
            raw = base64.b64decode(shown["image_url"]["url"].removeprefix("data:image/png;base64,"))
            vectors = self.encoder.encode_pages([decode_image(raw, "a request")])[0].vectors
        else:
            (vectors,) = self.encoder.encode_questions(request["input"])
        found = (3 * vectors).tolist()
        self._answer({"data": [{"index": 0, "object": "pooling", "data": found[0] if type(self).is_single else found}]})

    def _answer(self, body: object) -> None:
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def served() -> Iterator[tuple[str, type[Pooling]]]:
    handler = type("Handler", (Pooling,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", handler
        server.shutdown()


def test_a_server_gives_unit_vectors_for_pages_and_questions(served, picture: Image.Image) -> None:
    url, handler = served
    encoder = open_page_encoder(url)
    local = ColorEncoder()
    assert (encoder.dimension, encoder.identity) == (6, "server:colors:Describe the image.:")
    assert encoder.encode_pages([picture])[0].vectors == pytest.approx(
        local.encode_pages([picture])[0].vectors, abs=1e-6
    )
    assert encoder.encode_questions(["red?"])[0] == pytest.approx(local.encode_questions(["red?"])[0])
    handler.is_single = True
    assert encoder.encode_pages([picture])[0].vectors.shape == (1, 6)
    assert np.linalg.norm(encoder.encode_questions(["red and blue"])[0]) == pytest.approx(1)


def test_a_failing_server_is_asked_again_and_a_mistake_is_told(served) -> None:
    url, handler = served
    handler.status = [503, 200]
    encoder = ServedEncoder(url, ServedEncoderSettings(model="colors", tries=2))
    assert handler.asked == 2
    handler.status = [404]
    with pytest.raises(UserError, match="answers 404"):
        encoder.encode_questions(["red?"])
    handler.status = [500]
    with pytest.raises(MachineError, match="tried 2 times"):
        encoder.encode_questions(["red?"])
    handler.models = ["a", "b"]
    with pytest.raises(UserError, match="serves a, b; name one model"):
        ServedEncoder(url)
    with pytest.raises(UserError, match="no address of a server"):
        ServedEncoder("ftp://here")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]),
        ("0_Part/modules.json", [{"idx": 0, "name": "0", "path": "", "type": "os.system"}]),
        ("router_config.json", {"types": {"query": "evil.Evil"}, "structure": {"query": ["query"]}, "parameters": {}}),
    ],
)
def test_a_directory_of_theirs_brings_no_classes(
    checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: object
) -> None:
    path = tmp_path / "theirs"
    shutil.copytree(checkpoints("colpali"), path)
    (path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).write_text(json.dumps(content))
    # As for `python -m`, whose first place to look for modules is the folder that one is in.
    monkeypatch.syspath_prepend(path)
    with pytest.raises(UserError, match="is no class of sentence-transformers"):
        SentenceEncoder(path)
    assert not (tmp_path / "ran").exists()
