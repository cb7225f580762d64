"""The recipe for conversations of one's own: from a file to a model that plays with the tools that it saw called."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli.entry import run_command
from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.recipes.sft import sft
from saccade.tools.images import IMAGE_TOOLS
from saccade.train.stages import SFTStage
from saccade.types import SpokenConversation

SYSTEM = f"tools: {' '.join(tool.spec.name for tool in IMAGE_TOOLS)}"
QUESTION = "Which colour has the square?"
LOOK = '<think>look</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>'
PHRASES = ('{"name": "crop", "arguments": {"bbox_2d": [', "]}}")
COLOURS = ("red", "blue", "green", "white")


def conversations(folder: Path, count: int = 20) -> Path:
    """A file of conversations that crop before they answer, pictures of crops in the results."""
    rows = []
    for number in range(count):
        colour = COLOURS[number % len(COLOURS)]
        picture = Image.new("RGB", (64, 64), colour)
        picture.putpixel((number, number), (9, 9, 9))
        picture.save(folder / f"{number}.png")
        picture.crop((0, 0, 32, 32)).save(folder / f"{number}-crop.png")
        rows.append(
            {
                "messages": [
                    {"role": "system", "content": SYSTEM},
                    {"role": "user", "content": f"<image>{QUESTION}"},
                    {"role": "assistant", "content": LOOK},
                    {"role": "tool", "content": "<image>"},
                    {"role": "assistant", "content": f"<think>seen</think><answer>{colour}</answer>"},
                ],
                "images": [f"{number}.png", f"{number}-crop.png"],
            }
        )
    path = folder / "talks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    texts = [SYSTEM, QUESTION, LOOK, *(f"<think>seen</think><answer>{colour}</answer>" for colour in COLOURS)]
    size = TinySize(hidden=48, heads=2, kv_heads=1, mlp=96, vision_hidden=32, vision_mlp=48, view_px=32)
    tiny_model(texts * 9, MediaStore(), size=size, phrases=PHRASES, vocab_size=420).save(folder)
    return folder


def test_a_model_that_has_imitated_twenty_conversations_calls_the_tool_as_they_do(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data, out = conversations(tmp_path), tmp_path / "run"
    overrides = ("sft.steps=20", "sft.batch_size=5", "sft.optimizer.learning_rate=0.006", "sft.warmup_steps=0")
    train = ["train", "sft", "--data", str(data), "--model", str(model), "--out", str(out)]
    assert run_command([*train, *(word for one in overrides for word in ("--set", one))]) == 0
    assert f"{data}: 20 conversations with 40 replies to learn: 520 of 1,960 tokens" in caplog.text
    questions = tmp_path / "asked.jsonl"
    rows = [{"question": QUESTION, "answer": "red", "image": f"{number}.png"} for number in range(0, 20, 7)]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    checkpoint = out / "checkpoints" / "sft-000020"
    measure = ["eval", "--model", str(checkpoint), "--data", str(questions), "--protocol", "tagged"]
    assert run_command([*measure, "--out", str(tmp_path / "measured"), "--quiet"]) == 0
    assert "tools: crop 3" in capsys.readouterr().out


def row(*messages: tuple[str, str], **others: object) -> dict[str, object]:
    return {"messages": [{"role": role, "content": content} for role, content in messages], **others}


def written(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


SHORT = row(("user", "?"), ("assistant", "red"))
LONG = row(("user", "?"), ("assistant", "red " * 300))


def test_rows_that_are_too_long_are_never_cut(model: Path, tmp_path: Path) -> None:
    data = written(tmp_path / "talks.jsonl", SHORT, LONG)
    context = RecipeContext(data=data, model=model, overrides=("max_tokens=200",))
    with pytest.raises(UserError, match=r"row 2: takes \d+ tokens of max_tokens=200, and nothing is cut"):
        sft(context)
    (stage,) = sft(replace(context, skip_bad_rows=True)).stages
    assert isinstance(stage, SFTStage)
    assert {one.task.answer for one in stage.batch(0) if isinstance(one, SpokenConversation)} == {"red"}


def test_a_picture_that_no_micro_batch_holds_is_found_before_any_work(model: Path, tmp_path: Path) -> None:
    data = conversations(tmp_path, 1)
    with pytest.raises(UserError, match=r"a picture takes 4 tokens of sft\.optimizer\.micro_batch_tokens=3"):
        sft(RecipeContext(data=data, model=model, overrides=("sft.optimizer.micro_batch_tokens=3",)))


def test_steps_are_those_that_the_epochs_need_unless_they_are_said(model: Path, tmp_path: Path) -> None:
    data = conversations(tmp_path, 7)

    def steps(*overrides: str) -> int:
        (stage,) = sft(RecipeContext(data=data, model=model, overrides=overrides)).stages
        assert isinstance(stage, SFTStage)
        return stage.settings.steps

    assert steps("epochs=3", "sft.batch_size=4") == 6
    assert steps("epochs=3", "sft.steps=9") == 9


def test_the_recipe_needs_data() -> None:
    with pytest.raises(UserError, match="--data PATH"):
        sft(RecipeContext())


def test_a_conversation_is_shown_in_tokens_with_what_is_learned_of_it(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = conversations(tmp_path, 2)
    assert run_command(["check-data", str(data), "--for", "sft", "--model", str(model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:4] for line in lines[1:]] == ["    ", "  > ", "    ", "  > "]
    assert "<|image_pad|> x 4·" in lines[1]
    assert lines[4] == "  > <think>·seen·</think>·<answer>·red·</answer>·<|im_end|>  [7]"
    hostile = written(tmp_path / "hostile.jsonl", row(("user", "\x1b[2J?"), ("assistant", "\x1b[2Jred")))
    assert run_command(["check-data", str(hostile), "--for", "sft", "--model", str(model)]) == 0
    assert "\x1b" not in capsys.readouterr().out
