"""What the output of code depends on, in the real sandbox, and what a policy may try to have seen."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from PIL import Image, ImageDraw

from saccade.media.store import MediaStore
from saccade.sandbox import Sandbox
from saccade.testing import TINY_VIEW
from saccade.tools.code import python_tool
from saccade.tools.remembered import RememberedSessions
from saccade.tools.tool import Episode
from saccade.types import SEEN, Json

Session = Callable[..., list[Json]]
SQUARE = [["0000", "0000", "0110", "0000"]]
ALL = [["1111"] * 4]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def session(sandbox: Sandbox) -> Session:
    """The cells that each of some runs in one session needs: on grey stripes a blue rectangle in two cells of 16."""
    picture = Image.new("RGB", (64, 64), (240, 240, 240))
    draw = ImageDraw.Draw(picture)
    for y in range(0, 64, 2):
        draw.line([0, y, 63, y], fill=(3 * y, 3 * y, 3 * y))
    draw.rectangle([16, 32, 47, 47], fill=(20, 30, 200))
    media = MediaStore()
    episode = Episode(images=(media.add(picture),), media=media, view=TINY_VIEW, seed=3)
    sessions = RememberedSessions(sandbox)

    def played(*codes: str, runs: int = 60, **settings: object) -> list[Json]:
        opened = python_tool(sessions, evidence_runs=runs, **settings).open(episode)  # type: ignore[arg-type]
        try:
            results = [opened.tool.call({"code": code}, (), media).data.get(SEEN) for code in codes]
        finally:
            opened.close()
        return [result and [coarse(one["cells"]) for one in result] for result in results]  # type: ignore

    return played


def coarse(cells: Sequence[str]) -> list[str]:
    """The grid of 4 by 4 cells that holds one of 16 by 16."""
    return [
        "".join("1" if any("1" in row[x : x + 4] for row in cells[y : y + 4]) else "0" for x in range(0, 16, 4))
        for y in range(0, 16, 4)
    ]


def test_a_crop_a_count_and_a_value_need_what_they_show(session: Session) -> None:
    array = "import numpy as np\na = np.array(input_image)\n"
    assert session("input_image.crop((16, 32, 48, 48)).resize((320, 160)).show()") == [SQUARE]
    assert session(f"{array}print((a == (20, 30, 200)).all(-1).sum())") == [SQUARE]
    assert session("print(input_image.getpixel((20, 40)))") == [[["0000", "0000", "0100", "0000"]]]


def test_what_an_earlier_run_kept_belongs_to_the_run_that_shows_it(session: Session) -> None:
    assert session("part = input_image.crop((16, 32, 48, 48))", "print(part.getpixel((3, 3)))", "part.show()") == [
        [],
        [["0000", "0000", "0100", "0000"]],
        SQUARE,
    ]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import hashlib; print(hashlib.md5(input_image.tobytes()).hexdigest())", id="a hash of all"),
        pytest.param(
            "for y in range(8, 64, 16):\n    print([input_image.getpixel((x, y)) for x in range(8, 64, 16)])",
            id="a pixel of each cell",
        ),
        pytest.param("input_image.show()", id="the whole picture"),
        pytest.param("input_image.resize((8, 8)).show()", id="the whole picture, tiny"),
        pytest.param("for x in range(0, 64, 32):\n    input_image.crop((x, 0, x + 32, 64)).show()", id="tiles"),
    ],
)
def test_who_reads_everything_has_seen_everything_and_not_the_square_alone(session: Session, code: str) -> None:
    assert session(code, runs=12) == [ALL]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("print('the blue rectangle at 16, 32')", id="words"),
        pytest.param("import numpy as np; a = np.array(input_image); a[32:48, 16:48].sum()\nprint('seen')", id="read"),
        pytest.param("import random; print(random.random(), input_image.getpixel((20, 40)))", id="chance beside it"),
        pytest.param("print(input_image.size)", id="the size"),
    ],
)
def test_who_shows_nothing_of_the_picture_has_seen_nothing(session: Session, code: str) -> None:
    assert session(code, runs=12) == [[]]


def test_failed_runs_and_runs_without_the_setting_say_nothing(session: Session) -> None:
    assert session("print(input_image.getpixel((20, 40)))\n1 / 0") == [None]
    assert session("input_image.show()", runs=0) == [None]
    assert session("import time; time.sleep(0.3); input_image.show()", timeout_s=0.2) == [None]
