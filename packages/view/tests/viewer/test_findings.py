"""What a trajectory's page says of turns that went wrong, by rules."""

import pytest
from PIL import Image
from viewer_fake_run import answering, search_task, trajectory

from saccade.envs.calls import run_call
from saccade.media.store import MediaStore
from saccade.protocols.instructions import observation
from saccade.testing import TINY_VIEW
from saccade.tools.images import IMAGE_TOOLS
from saccade.types import Attempt, Json, ToolCall, Turn
from saccade.viewer.scene.findings import findings_of
from saccade.viewer.scene.parts import SeenPicture
from saccade.viewer.scene.regions import places_of
from saccade.viewer.store.message_reading import ForeignMessage
from saccade.viewer.store.messages import Told, attempt_of


def refused(name: str, arguments: dict[str, Json], *, is_brief: bool = False) -> str:
    """What the page says of a call that is refused, as the tools refuse it."""
    media = MediaStore()
    media.add(Image.new("RGB", (8, 8)))
    task = search_task(media, 1)
    call = ToolCall(name=name, arguments=arguments)
    outcome = run_call(call, IMAGE_TOOLS, task.images, media, view=TINY_VIEW)
    assert outcome.result is None
    shown = observation(outcome.shown, 1, style="brief" if is_brief else "full")
    turn = Turn(index=0, text="", thought="", action=call, is_well_formed=True, observation=shown)
    played = trajectory(task, (turn, answering(1, "rows")), "rows")
    [said] = [one for one in findings_of(Attempt(task=task, trajectory=played), ()) if "turn 1" in one]
    return said


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("magnify", {}, "magnify"),
        ("crop", {"bbox_2d": [1, 2, 3]}, "bbox_2d"),
        ("crop", {"box": [1, 2, 30, 40]}, "bbox_2d"),
    ],
)
def test_a_refused_call_says_why(name: str, arguments: dict[str, Json], why: str) -> None:
    said = refused(name, arguments)
    before, _, told = said.partition(": ")
    assert before == "The call in turn 1 was refused before it ran"
    assert why in told


def test_where_the_model_was_told_no_reason_none_is_made_up() -> None:
    assert refused("magnify", {}, is_brief=True) == "The call in turn 1 was refused before it ran."
    told = refused("crop", {"bbox_2d": [1, 2, 3]}, is_brief=True)
    assert told == 'The call in turn 1 was refused before it ran; its arguments were {"bbox_2d": [1, 2, 3]}.'


def test_where_a_file_of_another_trainer_keeps_no_result_none_is_claimed() -> None:
    call = ForeignMessage(role="assistant", text="", calls=(ToolCall(name="zoom", arguments={}),))
    messages = [ForeignMessage(role="user", text="Which?"), call, ForeignMessage(role="assistant", text="red")]
    found = findings_of(attempt_of(messages, Told(task="t")), (), has_verdict=False)
    assert found == (
        "The model answered “red”; nothing says whether that is right.",
        "The file does not say what the call in turn 1 gave.",
    )


def test_the_answer_between_tags_of_another_trainer_is_what_stands_between_them() -> None:
    messages = [
        ForeignMessage(role="user", text="?"),
        ForeignMessage(role="assistant", text="<think>a</think><answer> B </answer>"),
    ]
    assert attempt_of(messages, Told(task="t")).trajectory.answer == "B"


def test_a_wrong_answer_says_how_small_its_target_was_and_which_tools_were_on_offer() -> None:
    media = MediaStore()
    task = search_task(media, 1)
    attempt = Attempt(task=task, trajectory=trajectory(task, (answering(0, "rows"),), "rows"))
    pictures = [SeenPicture(key="q0", hash=task.images[0].hash, width=256, height=256, caption="", seen=(64, 64))]
    regions = places_of(attempt, pictures).regions
    found = findings_of(attempt, regions, pictures=pictures, offered=("crop",))
    assert found == (
        "The model answered “rows”; “columns” was expected.",
        "The model made no call; it could call crop.",
        "The model saw the whole picture at 64 × 64 px of 256 × 256: the target “blue plate” is 12 × 12 px there.",
    )
    assert "no tool was on offer" in findings_of(attempt, regions, offered=())[1]
    assert findings_of(attempt, regions)[1] == "The model made no call."
