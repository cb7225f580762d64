"""A checkpoint as the teacher of Argos' curation, asked as models are that point by themselves."""

from pathlib import Path

import pytest

from saccade.chat import connect
from saccade.cli import run_command
from saccade.curation.argos.run import view_of
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.testing import ScriptedTeacher

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
TEXTS = ["Which mark? the red plate is upper left white black <think></think><answer></answer>"] * 9


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("teacher") / "model"
    tiny_model(TEXTS, MediaStore(), size=SIZE, vocab_size=300).save_base(path)
    return path


def test_a_checkpoint_that_knows_nothing_gives_refused_traces(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [
        *("curate", "argos", "--family", "plate_mark", "-n", "2", "--teacher", str(checkpoint)),
        *("--scorer", str(checkpoint), "--out", str(tmp_path), "--quiet", "--set", "asks=pointed"),
        *("--set", "style=brief", "--set", "server.max_tokens=12", "--set", "samples=3"),
    ]
    assert run_command(said) == 0
    printed = capsys.readouterr().out
    assert "0 of 2 questions have an example (0.0%)\n0 of 6 traces may be kept (0.0%), 0 are right\n" in printed
    assert "questions given up: unreadable 2\ntraces refused: unreadable 6\n" in printed


def test_the_view_of_a_checkpoint_is_its_own_and_a_server_is_asked_in_pixels(checkpoint: Path) -> None:
    with connect(checkpoint, media=MediaStore()) as teacher:
        assert view_of(teacher) != ORIGINAL_VIEW
    with connect(ScriptedTeacher(reply=lambda messages: "")) as script:
        assert view_of(script) == ORIGINAL_VIEW
