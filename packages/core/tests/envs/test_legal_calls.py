"""Nothing that a policy may write takes its trajectory out of its group: every legal call ends in an observation."""

import pytest
from PIL import Image, ImageDraw

from saccade.envs.calls import run_call
from saccade.envs.visual_reasoning import DEFAULT_VIEW, VisualReasoningEnv
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.readers.text import RapidReader
from saccade.seeding import generator_for
from saccade.testing.fuzzed_calls import fuzzed_call
from saccade.tools.catalogue import CATALOGUE, Entry, ToolSettings, build_tool, why_not
from saccade.tools.tool import tool_from
from saccade.types import Task, ToolCall

READY = [one for one in CATALOGUE if one.family != "code" and why_not(ToolSettings(name=one.name)) is None]
SIZES = ((1, 1), (2, 300), (3000, 10), (10, 3000), (2200, 16), (3990, 20))
CALLS = 2


def odd_pictures() -> list[Image.Image]:
    made = [Image.new("RGB", size, "white") for size in SIZES]
    for picture in made:
        ImageDraw.Draw(picture).text((2, -2), "12", fill="black", font_size=12)
    return [*made, Image.new("L", (40, 40), 7), Image.new("RGBA", (64, 64)), Image.new("I;16", (40, 40), 60_000)]


@pytest.mark.parametrize("entry", READY, ids=lambda entry: entry.name)
def test_legal_calls_on_odd_pictures_end_in_an_observation(entry: Entry) -> None:
    media, tool = MediaStore(), build_tool(ToolSettings(name=entry.name))
    for index, picture in enumerate(odd_pictures()):
        image = media.add(picture)
        whole = {"bbox_2d": [0, 0, image.width, image.height], "boxes": [[0, 0, image.width, image.height]]}
        example = {name: whole.get(name, value) for name, value in entry.example.items()}
        drawn = [
            fuzzed_call(tool.parameters, example, generator_for(index, number)).arguments for number in range(CALLS)
        ]
        for arguments in (example, *drawn):
            outcome = run_call(ToolCall(name=tool.name, arguments=arguments), [tool], [image], media, view=DEFAULT_VIEW)
            assert outcome.shown.text or outcome.shown.images


def test_a_strip_is_read_where_its_engine_would_shrink_it_to_nothing() -> None:
    strip = Image.new("RGB", (3000, 10), "white")
    ImageDraw.Draw(strip).text((20, -2), "Total 125", fill="black", font_size=11)
    for picture in (strip, strip.rotate(90, expand=True)):
        lines = RapidReader().read(picture)
        assert all(line.box.x2 <= picture.width + 1 and line.box.y2 <= picture.height + 1 for line in lines)


def cut(image: Image.Image, bbox_2d: Box) -> Image.Image:
    """Cut out anything at all."""
    return image.crop(tuple(round(side) for side in bbox_2d.as_tuple()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("box", "said"),
    [
        ("[0, 0, 1000, 3]", "more than 200 times longer than wide"),
        ("[0, 0, 0, 500]", "0 x 128 px"),
        ("[0, 0, 20000, 20000]", "1 to 16777216 pixels can be shown"),
        ("[0, 0, 1e7, 1e7]", "cut failed on this call (DecompressionBombError)"),
        ("[900, 900, 100, 100]", "cut failed on this call (ValueError)"),
    ],
)
def test_a_tool_of_ones_own_that_trusts_its_arguments_takes_nobody_out(box: str, said: str) -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (256, 256), "red"))
    task = Task(id="t", family="f", question="What?", answer="x", answer_kind="text", images=(image,))
    env = VisualReasoningEnv(tools=(tool_from(cut),), media=media)
    env.reset(options={"task": task})
    env.step(f'<think>.</think><tool_call>{{"name": "cut", "arguments": {{"bbox_2d": {box}}}}}</tool_call>')
    (turn,) = env.turns
    assert turn.result is not None
    assert not turn.result.is_ok
    assert said in turn.observation.text  # type: ignore[union-attr]
    assert env.images == task.images
