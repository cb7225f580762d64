"""Episodes of code whose work is checked, in the real sandbox: what is paid, and what a policy may try instead."""

from collections.abc import Callable, Iterator

import pytest
from PIL import Image, ImageDraw

from saccade.gym.code_experts import coded, two_runs
from saccade.media.store import MediaStore
from saccade.miniature.codedance import EASY, HARD, CodeQuestions
from saccade.sandbox import Sandbox
from saccade.testing import TINY_VIEW
from saccade.tools.code import python_tool
from saccade.tools.remembered import RememberedSessions
from saccade.tools.tool import Episode
from saccade.types import WORK, Json, ToolCall, ToolResult

Session = Callable[..., list[Json]]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def session(sandbox: Sandbox) -> Session:
    """What each of some runs in one session did; the picture has five red dots on grey and a blue square."""
    picture = Image.new("RGB", (160, 120), (240, 240, 240))
    draw = ImageDraw.Draw(picture)
    for number in range(5):
        draw.ellipse([10 + 28 * number, 20, 30 + 28 * number, 40], fill=(200, 30, 30))
    draw.rectangle([20, 60, 80, 100], fill=(20, 30, 200))
    media = MediaStore()
    episode = Episode(images=(media.add(picture),), media=media, view=TINY_VIEW, seed=3)
    # Runs that end alike are made once: the checks of all pieces of code share what they run.
    sessions = RememberedSessions(sandbox)

    def played(*codes: str, **settings: object) -> list[Json]:
        settings = {"checks_work": True} | settings
        opened = python_tool(sessions, **settings).open(episode)  # type: ignore[arg-type]
        try:
            results: list[ToolResult] = [opened.tool.call({"code": code}, (), media) for code in codes]
        finally:
            opened.close()
        return [result.data.get(WORK) if result.is_ok else "failed" for result in results]

    return played


IDLE = [
    "x = 1",
    "()",
    "if 0: pass",
    "print()",
    "for i in range(9): pass",
    "import numpy as np\nimage = np.array(input_image)",
    "import numpy as np\nprint('a' if np.array(input_image).mean() >= 0 else 'b')",
    "print(input_image.size, input_image.mode, input_image)",
    "print(object(), [object(), lambda: 0])",
    "print(input_image.width * 0 + 42)",
    "print('cat')",
    "print(chr(99) + chr(97) + chr(116))",
    "import base64\nprint(base64.b64decode('Y2F0').decode())",
    "print(f'{40 + 2}')",
    "def answer(): return 42\nprint(answer())",
    "import time\nprint(time.time_ns(), input_image.getpixel((0, 0)))",
    "import os\nprint(os.urandom(4))",
    "input_image.show()",
    "input_image.crop((0, 0, 160, 120))",
    "from PIL import Image, ImageDraw\npaper = Image.new('RGB', (99, 80))\n"
    "ImageDraw.Draw(paper).text((9, 20), '42')\npaper",
]
"""The trivial ones of each kind; ``packages/tools/tests/tools/test_tools_code_work.py`` has more that print numbers."""

WORK_DONE = [
    ("print(input_image.getpixel((0, 0)))", "looks"),
    ("input_image.crop((0, 0, 50, 50)).show()", "looks"),
    ("input_image.crop((0, 0, 50, 50)).save('detail.png')", "looks"),
    ("input_image.rotate(90)", "looks"),
    ("import cv2\nprint((cv2.imread('input_image.png')[..., 2] > 150).sum())", "looks"),
    (
        "from PIL import ImageDraw\nImageDraw.Draw(input_image).rectangle([5, 5, 60, 60], outline='red')\ninput_image",
        "looks",
    ),
    (
        "sides = [input_image.convert('L').crop(box).resize((1, 1)).getpixel((0, 0)) for box in ((0, 0, 80, 120), "
        "(80, 0, 160, 120))]\nprint('left' if sides[0] < sides[1] else 'right')",
        "looks",
    ),
    ("values = [23, 45, 12]\nprint(sum(values) / len(values))", "computes"),
    ("print(f'{(87 - 52) / 52 * 100:.1f} %')", "computes"),
]


@pytest.mark.parametrize("code", IDLE)
def test_code_that_shows_nothing_of_the_picture_and_works_nothing_out_is_idle(session: Session, code: str) -> None:
    assert session(code) == ["idle"]


@pytest.mark.parametrize(("code", "work"), WORK_DONE)
def test_code_that_shows_what_it_found_works(session: Session, code: str, work: str) -> None:
    assert session(code) == [work]


def test_code_may_be_prepared_in_turns_before_it_works(session: Session) -> None:
    """Imports, definitions and values are idle where they stand, failures stay failures, and repeats are idle."""
    works = session(
        "import numpy as np",
        "image = np.array(input_image)",
        "def red(part): return part[..., 0].mean()",
        "1 / 0",
        "print(red(image))",
        "print(red(image))",
        "values = [3, 8, 9]",
        "print(sum(values))",
        "print(40 + 2)",
    )
    assert works == ["idle", "idle", "idle", "failed", "looks", "idle", "idle", "computes", "idle"]


def test_a_warning_after_a_failure_hides_no_work(session: Session) -> None:
    """It names the run, and the failed run is not made again."""
    warns = "import warnings\nwarnings.warn('careful', stacklevel=1)\nprint(input_image.getpixel((0, 0)))"
    assert session("1 / 0", warns) == ["failed", "looks"]


def test_a_picture_at_the_size_that_the_model_sees_is_not_new_either(session: Session) -> None:
    assert session("input_image.show()", "input_image.crop((0, 0, 30, 30))", shows="view") == ["idle", "looks"]


@pytest.mark.parametrize("family", [*HARD, *EASY])
def test_the_code_of_an_expert_works_whenever_it_shows_anything(sandbox: Sandbox, family: str) -> None:
    media = MediaStore()
    example = coded(CodeQuestions(seed=5, media=media, difficulty=0.5).of(family, "train", 0), two_runs)
    episode = Episode(images=example.task.images, media=media, view=TINY_VIEW, seed=1)
    opened = python_tool(sandbox, checks_work=True).open(episode)
    codes = [dict(turn.action.arguments) for turn in example.turns if isinstance(turn.action, ToolCall)]
    results = [opened.tool.call(code, (), media) for code in codes]
    opened.close()
    shows = [bool(result.text or result.images) for result in results]
    assert [result.data[WORK] for result in results] == ["looks" if each else "idle" for each in shows]
    assert any(shows)


def test_without_the_check_nothing_is_said_of_work(session: Session) -> None:
    assert session("x = 1", checks_work=False) == [None]


FRAMES = """
def frames():
    import sys
    frame = sys._getframe()
    while frame:
        yield frame
        frame = frame.f_back
"""

FORGERIES = [
    "import gc, types\n"
    "for thing in gc.get_objects():\n"
    "    if isinstance(thing, types.FunctionType) and thing.__name__ in ('execute', 'failure_of', 'fail'):\n"
    "        thing.__code__ = (lambda *_, **__: None).__code__\n",
    FRAMES + "for frame in frames():\n"
    "    for name in ('execute', 'fail', 'failure_of', 'exec', 'eval', 'compile', 'parse'):\n"
    "        if name in frame.f_globals: frame.f_globals[name] = lambda *_, **__: None\n",
    "import ast, builtins\n"
    "real = builtins.compile\n"
    "ast.compile = builtins.compile = lambda *a, **k: real('pass', 'x', 'exec', 1024)\n",
    "try: 1 / 0\nexcept ZeroDivisionError: pass",
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=["functions", "frames", "parser", "no forgery: an except"])
def test_a_failure_that_an_earlier_run_made_to_look_well_is_paid_for_no_work(session: Session, forgery: str) -> None:
    """Whether such a run is told as failed or as idle, a right answer is worth no more for it."""
    assert set(session(forgery, "1 / 0", "int('x')")) <= {"failed", "idle"}
