"""A checkpoint as the teacher: its log-probabilities are those of one plain forward of the whole text."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from saccade.chat.answer_scoring import CheckpointTeacher
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models import LoadSettings
from saccade.protocols import direct_protocol
from saccade.rewards.argos import AnswerRequest
from saccade.types import Task

TEXTS = ["Which mark? the red plate is upper left white black <think></think><answer></answer>"] * 9
SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)


@pytest.fixture(scope="module")
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture(scope="module")
def checkpoint(media: MediaStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("teacher") / "model"
    tiny_model(TEXTS, media, size=SIZE, vocab_size=300).save_base(path)
    return path


def test_an_answer_is_scored_as_by_one_forward_of_everything(media: MediaStore, checkpoint: Path) -> None:
    image = media.add(Image.new("RGB", (64, 64), "red"))
    task = Task(id="t", family="f", question="Which mark?", answer="white", answer_kind="exact", images=(image,))
    protocol = direct_protocol(style="brief")
    load = LoadSettings(device="cpu")
    requests = [
        AnswerRequest(task=task, reasoning="the red plate is upper left", answer="white"),
        AnswerRequest(task=task, reasoning="the red plate is upper left", answer="black"),
        AnswerRequest(task=task, reasoning="", answer="white black"),
    ]
    with CheckpointTeacher(path=checkpoint, media=media, protocol=protocol, load=load) as teacher:
        found = teacher.logprobs(requests)
        loaded = teacher._loaded
        assert loaded is not None
        chat, model = loaded.chat, loaded.engine.model  # type: ignore[attr-defined]
    for request, logprobs in zip(requests, found):
        prompt = chat.prompt(protocol.prompt(task, (), model.view))
        before = [*prompt.ids, *chat.encode(f"<think>{request.reasoning}</think><answer>")]
        answer = chat.tokenizer.encode(request.answer, add_special_tokens=False)
        ids = [*before, *answer]
        with torch.no_grad():
            embedded = model.embed(torch.tensor([ids]), model.encode_images([image]))
            hidden = model.hidden(embedded, model.positions(ids, [image])[:, None])[0]
            whole = model.hf.lm_head(hidden[len(before) - 1 : -1]).float().log_softmax(dim=-1)
        wanted = whole[range(len(answer)), answer].tolist()
        assert logprobs == pytest.approx(wanted, abs=1e-4)


def test_a_teacher_that_is_not_open_says_so(media: MediaStore, checkpoint: Path) -> None:
    teacher = CheckpointTeacher(path=checkpoint, media=media, protocol=direct_protocol())
    with pytest.raises(RuntimeError, match="is not open"):
        teacher.logprobs([])
