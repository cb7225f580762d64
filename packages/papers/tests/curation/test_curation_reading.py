"""What models reply, read strictly: verdicts, boxes, kinds of code, rewritten chains of thought."""

import pytest

from saccade.curation.codedance.outcomes import kind_of
from saccade.curation.codedance.prompts import read_boxes, read_verdict
from saccade.curation.codedance.rewriting import Rewritten, contradiction, mismatches, normal_output, read_rewritten
from saccade.rewards.judges.llm_judge import without_thinking
from saccade.types import Answer, ExpertTurn, ImageRef, ToolCall

TWO_LINES = "n = 17 * 23\nprint(n)"
TWO_BLOCKS = "```python\n1\n```\n" * 2
IMAGE = ImageRef(hash="0" * 64, width=100, height=50)


@pytest.mark.parametrize("reply", ["GOOD", "good", " Good.\n", "**GOOD**", '"GOOD"', "<think>BAD? no.</think>\nGOOD"])
def test_a_word_alone_is_a_verdict(reply: str) -> None:
    assert read_verdict(reply, good="GOOD", bad="BAD") is True


def test_the_other_word_is_the_other_verdict() -> None:
    assert read_verdict("BAD", good="GOOD", bad="BAD") is False


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "GOOD or BAD",
        "It is GOOD",
        "NOT GOOD",
        "GOOD because it is hard",
        "GOODBAD",
        "<think>GOOD",
        "yes",
        "BAD, not GOOD",
    ],
)
def test_anything_else_is_no_verdict(reply: str) -> None:
    assert read_verdict(reply, good="GOOD", bad="BAD") is None


def test_thoughts_that_a_server_left_in_are_not_spoken() -> None:
    assert without_thinking("<think>\nhm\n</think>\n\nyes") == "yes"
    assert without_thinking("yes <think>hm</think>") == "yes <think>hm</think>"
    # The chat template has opened the thought.
    assert without_thinking("yes or\n</think>\n\nno") == "no"


def test_boxes_are_read_from_json_and_a_fence() -> None:
    reply = '[{"label": "dog", "bbox_2d": [1, 2, 30.5, 50.4]}, {"label": "cat", "bbox_2d": [0, 0, 5, 5]}]'
    for text in (reply, f"```json\n{reply}\n```", f"<think>where?</think>{reply}"):
        boxes = read_boxes(text, IMAGE)
        assert boxes is not None
        assert [(box.label, box.box.as_tuple()) for box in boxes] == [
            ("dog", (1.0, 2.0, 30.5, 50.0)),
            ("cat", (0.0, 0.0, 5.0, 5.0)),
        ]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "none",
        "[]",
        "{}",
        '{"label": "dog", "bbox_2d": [1, 2, 3, 4]}',
        'Here: [{"label": "dog", "bbox_2d": [1, 2, 3, 4]}]',
        '[{"label": "dog", "bbox_2d": [1, 2, 3]}]',
        '[{"label": "dog", "bbox_2d": [1, 2, 3, "4"]}]',
        '[{"label": "dog", "bbox_2d": [1, 2, 3, true]}]',
        '[{"label": "dog", "bbox_2d": [1, 2, 3, NaN]}]',
        '[{"label": "dog", "bbox_2d": [3, 2, 1, 4]}]',
        '[{"label": "dog", "bbox_2d": [10, 2, 600, 40]}]',
        '[{"label": "", "bbox_2d": [1, 2, 3, 4]}]',
        '[{"label": "dog", "box": [1, 2, 3, 4]}]',
        '[{"label": "dog", "bbox_2d": [1, 2, 3, 4], "score": 1}]',
        '[{"label": "dog", "bbox_2d": [1, 2, 3, 4]}, 5]',
        "[" * 100_000,
    ],
)
def test_boxes_in_any_other_form_or_frame_are_none(reply: str) -> None:
    assert read_boxes(reply, IMAGE) is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("print(17 * 23)", "compute"),
        ("import numpy as np\nprint((np.array(input_image)[..., 0] > 9).sum())", "compute"),
        ("from sympy import *\nprint(expand((x + 1)**2))", "compute"),
        ("c = input_image.crop((0, 0, 5, 5)).resize((50, 50))\nc.show()", "transform"),
        ("c = np.array(input_image)[10:20, 30:40]", "transform"),
        ("row = table[3:9]", "compute"),
        ("import cv2\nbig = cv2.resize(image, None, fx=2, fy=2)", "transform"),
        ("from PIL import ImageDraw\nImageDraw.Draw(input_image).line((0, 0, 9, 9))", "draw"),
        ("c = input_image.crop(box)\ncv2.rectangle(c, (0, 0), (5, 5), 255)", "draw"),
        ("plt.plot([1, 2]); plt.show()", "draw"),
        ("plt.imshow(input_image); plt.show()", "compute"),
        ("this is no python", "compute"),
        ("", "compute"),
    ],
)
def test_the_kind_of_code_is_what_it_calls(code: str, kind: str) -> None:
    assert kind_of([code]) == kind


@pytest.mark.parametrize(
    "code",
    [
        "(" * 8000,
        "-" * 16_000 + "1",
        "a" + ".a" * 8000,
        "[" * 100 + "]" * 100,
        "a" + "(1)" * 5000,
        "\0",
        "x=" * 8000 + "1",
    ],
)
def test_code_made_to_break_a_parser_is_a_computation(code: str) -> None:
    assert kind_of([code]) == "compute"


def test_a_trajectory_draws_if_any_of_its_code_does() -> None:
    assert kind_of(["print(1)", "input_image.crop((0, 0, 1, 1))", "print(2)"]) == "transform"
    assert kind_of(["draw.ellipse(box)", "input_image.crop((0, 0, 1, 1))"]) == "draw"
    assert kind_of([]) == "compute"


def code(text: str) -> str:
    return f"<code>\n```python\n{text}\n```\n</code>"


def test_a_rewritten_chain_becomes_turns_and_claims() -> None:
    text = (
        f"There are 17 rows of 23.\n{code(TWO_LINES)}\n<interpreter>391</interpreter>\n"
        f"Two are missing.\n{code('print(n - 2)')}<interpreter>\n389\n</interpreter>So 389.\n<answer> 389 </answer>\n"
    )
    wanted = Rewritten(
        turns=(
            ExpertTurn(
                thought="There are 17 rows of 23.",
                action=ToolCall(name="execute_python_code", arguments={"code": "n = 17 * 23\nprint(n)"}),
            ),
            ExpertTurn(
                thought="Two are missing.",
                action=ToolCall(name="execute_python_code", arguments={"code": "print(n - 2)"}),
            ),
            ExpertTurn(thought="So 389.", action=Answer(text="389")),
        ),
        claims=("391", "\n389\n"),
    )
    assert read_rewritten(text) == wanted
    assert read_rewritten(text.replace("\n", "\r\n")) == wanted
    assert read_rewritten(f"<think>I shall write it anew.</think>{text}") == wanted
    wrapped = text.replace("There", "<think>There").replace("<answer>", "</think><answer>")
    assert read_rewritten(wrapped) == wanted


def test_a_chain_may_stay_without_code() -> None:
    rewritten = read_rewritten("It is red.<answer>red</answer>")
    assert rewritten == Rewritten(turns=(ExpertTurn(thought="It is red.", action=Answer(text="red")),), claims=())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "gives no <answer>"),
        ("no tags", "gives no <answer>"),
        (f"{code('1')}<interpreter>1</interpreter>", "gives no <answer>"),
        ("<answer>1", "<answer> is never closed"),
        ("<answer> </answer>", "the answer is empty"),
        ("<answer>1</answer> so it is", "goes on after its answer"),
        ("<answer>1</answer><answer>2</answer>", "goes on after its answer"),
        (f"{code('1')}<answer>1</answer>", "not at once followed"),
        (f"{code('1')}gives<interpreter>1</interpreter><answer>1</answer>", "not at once followed"),
        (f"{code('1')}{code('2')}<interpreter>1</interpreter><answer>1</answer>", "not at once followed"),
        ("<interpreter>1</interpreter><answer>1</answer>", "follows no code"),
        ("<code>print(1)</code><interpreter>1</interpreter><answer>1</answer>", "not one fenced block"),
        (f"<code>{TWO_BLOCKS}</code><interpreter>1</interpreter><answer>1</answer>", "not one fenced"),
        ("<code>```python\n1</code><interpreter>1</interpreter><answer>1</answer>", "not one fenced block"),
        ("</code><answer>1</answer>", "</code> closes nothing"),
        ("<code><answer>1</answer></code>", "stands inside <code>"),
        ("x" * (1 << 19), "longer than"),
    ],
)
def test_a_broken_rewriting_says_what_is_broken(text: str, why: str) -> None:
    problem = read_rewritten(text)
    assert isinstance(problem, str)
    assert why in problem


def test_outputs_are_compared_but_for_white_space_at_ends() -> None:
    assert normal_output("\n 1 \t\r\n\n2\n\n") == " 1\n\n2"
    same = [("391", "391\n"), ("a \nb", "a\nb\n"), ("\n5\n", "5")]
    other = [
        ("0.5", "0.50"),
        ("391", "392"),
        ("1 2", "1  2"),
        ("", "1"),
        ("a\nb", "a\n\nb"),
        ("1", "1\n2"),
        (" 1", "1"),
    ]
    assert mismatches([claim for claim, _ in same], [real for _, real in same]) == []
    assert mismatches([claim for claim, _ in other], [real for _, real in other]) == list(range(len(other)))


def rewritten(*thoughts_and_claims: tuple[str, str, str], last: str, answer: str) -> Rewritten:
    turns = [
        ExpertTurn(thought=thought, action=ToolCall(name="execute_python_code", arguments={"code": text}))
        for thought, text, _ in thoughts_and_claims
    ]
    return Rewritten(
        turns=(*turns, ExpertTurn(thought=last, action=Answer(text=answer))),
        claims=tuple(claim for _, _, claim in thoughts_and_claims),
    )


def test_text_that_goes_on_with_a_wrong_claim_contradicts_the_real_output() -> None:
    one = ("17 rows of 23.", "print(17 * 23)", "392")
    assert contradiction(rewritten(one, last="So 392 in all.", answer="391"), ["391"]) == "392"
    assert contradiction(rewritten(one, last="So", answer="392"), ["391"]) == "392"
    assert contradiction(rewritten(one, ("", "print(392 - 1)", "391"), last="", answer="391"), ["391", "391"]) == "392"


def test_numbers_with_another_source_contradict_nothing() -> None:
    one = ("17 rows of 23.", "print(17 * 23)", "392")
    assert contradiction(rewritten(one, last="So as printed.", answer="391"), ["391"]) == ""
    assert contradiction(rewritten(one, last="It is 1392 or 392.5.", answer="391"), ["391"]) == ""
    known = ("392 was wrong.", "print(17 * 23)", "392")
    assert contradiction(rewritten(known, last="Not 392.", answer="391"), ["391"]) == ""
    right = ("17 rows of 23.", "print(17 * 23)", "391")
    assert contradiction(rewritten(right, last="So 391.", answer="391"), ["391\n"]) == ""
