"""Rows of pairs in the forms in use; what cannot be compared is named."""

import json
import logging
from pathlib import Path

import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.conversations import PairFile, read_pairs
from saccade.tasks.rows.fields import Row
from saccade.types import ImageRef, Json, SpokenConversation

ASKED: list[Json] = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Which colour?"}]}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, colour in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{name}.png")
    return tmp_path


def read(folder: Path, *rows: Row, skip_bad_rows: bool = False) -> PairFile:
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_pairs(path, media=MediaStore(), check=lambda _: None, skip_bad_rows=skip_bad_rows)


def said(one: SpokenConversation) -> list[str]:
    """Each message, with - before what is not learned and # for a picture."""
    return [
        ("" if message.is_learned and message.role == "assistant" else "-")
        + "".join("#" if isinstance(part, ImageRef) else part for part in message.parts)
        for message in one.messages
    ]


def only(folder: Path, row: Row) -> tuple[list[str], list[str]]:
    (pair,) = read(folder, row).pairs
    return said(pair.chosen), said(pair.rejected)


def answer(text: str) -> list[Json]:
    return [{"role": "assistant", "content": text}]


BOTH = (["-#Which colour?", "Red."], ["-#Which colour?", "Blue."])


def test_trl_s_pairs_with_pictures(folder: Path) -> None:
    row = {"prompt": ASKED, "chosen": answer("Red."), "rejected": answer("Blue."), "images": ["a.png"]}
    assert only(folder, row) == BOTH


def test_whole_conversations_that_begin_alike(folder: Path) -> None:
    row = {"chosen": [*ASKED, *answer("Red.")], "rejected": [*ASKED, *answer("Blue.")], "images": ["a.png"]}
    assert only(folder, row) == BOTH
    # As UltraFeedback has it: the question stands beside them again.
    assert only(folder, {**row, "prompt": "Which colour?"}) == BOTH


def test_text_and_the_forms_of_llama_factory_and_ms_swift(folder: Path) -> None:
    expected = (["-Which?", "Red."], ["-Which?", "Blue."])
    chosen, rejected = (
        [
            {"role": role, "content": [{"type": "text", "value": text}]}
            for role, text in (("user", "Which?"), ("assistant", one))
        ]
        for one in ("Red.", "Blue.")
    )
    assert only(folder, {"chosen_messages": chosen, "rejected_messages": rejected}) == expected
    assert only(folder, {"prompt": "Which?", "chosen": "Red.", "rejected": "Blue."}) == expected
    assert only(folder, {"instruction": "Which?", "input": "", "chosen": "Red.", "rejected": "Blue."}) == expected
    said_by = {
        "conversations": [{"from": "human", "value": "<image>Which colour?"}],
        "chosen": {"from": "gpt", "value": "Red."},
        "rejected": {"from": "gpt", "value": "Blue."},
        "images": ["a.png"],
    }
    assert only(folder, said_by) == BOTH
    swift = {
        "messages": [{"role": "user", "content": "<image>Which colour?"}, *answer("Red.")],
        "rejected_response": "Blue.",
        "images": ["a.png"],
    }
    assert only(folder, swift) == BOTH
    whole = {**swift, "rejected_response": None, "rejected_messages": [swift["messages"][0], *answer("Blue.")]}
    assert only(folder, whole) == BOTH


def test_the_forms_of_rlaif_v_mmpr_rlhf_v_and_nemo(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    answers: dict[str, Json] = {"question": "Which colour?", "chosen": "Red.", "rejected": "Blue."}
    meta: dict[str, Json] = {"ds_name": "RLAIF-V", "image": "a.png", "origin_split": "x", "image_path": "a.png"}
    assert only(folder, {**answers, **meta}) == BOTH
    assert only(folder, {**answers, "question": "<image>\nWhich colour?", "image": "a.png"}) == (
        ["-#\nWhich colour?", "Red."],
        ["-#\nWhich colour?", "Blue."],
    )
    caplog.clear()
    with caplog.at_level(logging.INFO):
        assert only(folder, {**meta, "text": json.dumps(answers)}) == BOTH
    (told,) = (text for text in caplog.messages if "not read" in text)
    assert told.endswith("keys that are not read: ds_name (1 rows), origin_split (1 rows), image_path (1 rows)")
    nemo = {"prompt": ASKED, "chosen_response": "Red.", "rejected_response": "Blue.", "images": ["a.png"]}
    assert only(folder, nemo) == BOTH


def test_several_turns_with_results_and_pictures_of_their_own(folder: Path) -> None:
    asked = [{"role": "user", "content": [{"type": "image", "image": "a.png"}, {"type": "text", "text": "Which?"}]}]
    looked = [
        {"role": "assistant", "content": "I look."},
        {"role": "tool", "content": [{"type": "image", "image": "b.png"}]},
        {"role": "assistant", "content": "Red."},
    ]
    failed = [{"role": "assistant", "content": "crop(9)"}, {"role": "tool", "content": "Error"}, *answer("Blue.")]
    assert only(folder, {"prompt": asked, "chosen": looked, "rejected": failed}) == (
        ["-#Which?", "I look.", "-#", "Red."],
        ["-#Which?", "crop(9)", "-Error", "Blue."],
    )


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"prompt": "Which?", "chosen": "Red.", "rejected": "Red."}, "rejected: is the same as what is chosen"),
        ({"prompt": "Which?", "chosen": "Red."}, "holds no pair"),
        ({"prompt": "Which?", "rejected": "Red."}, "chosen: is missing"),
        ({"chosen": "Red.", "rejected": "Blue."}, "prompt: is missing"),
        (
            {
                "chosen": [{"role": "user", "content": "Which?"}, *answer("Red.")],
                "rejected": [{"role": "user", "content": "What?"}, *answer("Blue.")],
            },
            "both must answer the same prompt",
        ),
        (
            {
                "chosen": [{"role": "user", "content": "Which?"}, *answer("Red.")],
                "rejected": [{"role": "user", "content": "Which?"}],
            },
            "rejected: goes on where the other ends",
        ),
        ({"messages": [{"role": "user", "content": "Which?"}], "rejected_response": "Blue."}, "does not end with"),
        ({"prompt": "Which?", "chosen": "Red.", "rejected": " "}, "rejected: has nothing to say"),
        ({"prompt": ASKED, "chosen": "Red.", "rejected": "Blue."}, "1 pictures are marked in the messages, and 0"),
        ({"prompt": "Which?", "chosen": [], "rejected": "Blue."}, "chosen: is empty"),
    ],
)
def test_what_cannot_be_compared_is_named(folder: Path, row: Row, why: str) -> None:
    good = {"prompt": "Which?", "chosen": "Red.", "rejected": "Blue."}
    with pytest.raises(UserError, match=r"pairs\.jsonl") as raised:
        read(folder, good, row)
    assert why in str(raised.value)
    assert len(read(folder, good, row, skip_bad_rows=True).pairs) == 1
