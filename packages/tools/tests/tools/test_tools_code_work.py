"""What counts as work, from what runs show; with code that really runs in ``test_envs_code_work.py``."""

from collections.abc import Sequence

import pytest
from PIL import Image

from costs import assert_costs_at_most
from saccade.errors import MachineError
from saccade.tools.code_work import Pictures, Shown, WorkChecks, computes
from saccade.types import Work

PICTURE = Image.new("RGB", (4, 2), (10, 20, 30))
SEEN = "the question's"


class Runs:
    """What runs show by the colour of their picture's first pixel and their seed; all that was run again is kept."""

    def __init__(
        self, on_picture: Shown, *, blank: Shown | None, negative: Shown | None, control: Shown | None
    ) -> None:
        self.shown = on_picture
        self._others = {(10, 20, 30): control, (93, 160, 41): blank, (245, 235, 225): negative}
        self.asked: list[tuple[list[str], tuple[int, int, int], int]] = []

    def again(self, codes: Sequence[str], pictures: Pictures, seed: int) -> Shown | None:
        (colour,) = {picture.getpixel((0, 0)) for picture in pictures.values()}
        self.asked.append((list(codes), colour, seed))
        assert {picture.size for picture in pictures.values()} == {(4, 2)}
        return self._others[colour]


def text(words: str) -> Shown:
    return Shown(text=words)


def work(runs: Runs, code: str = "x") -> Work:
    checks = WorkChecks(runs.again, pictures={"input_image.png": PICTURE}, seen=[SEEN], seed=3)
    return checks.work(code, runs.shown)


@pytest.mark.parametrize("shown", [text(""), text(" \n"), Shown(text="", pictures=(SEEN,))])
def test_what_shows_nothing_new_is_idle_and_not_run_again(shown: Shown) -> None:
    runs = Runs(shown, blank=None, negative=None, control=None)
    assert (work(runs), runs.asked) == ("idle", [])


def test_what_shows_something_else_on_a_blank_picture_looks() -> None:
    runs = Runs(text("3"), blank=text("0"), negative=None, control=text("3"))
    assert work(runs) == "looks"
    assert [(colour, seed == 3) for _, colour, seed in runs.asked] == [((93, 160, 41), True), ((10, 20, 30), False)]


def test_what_is_alike_on_a_blank_picture_is_held_against_the_negative() -> None:
    runs = Runs(text("right"), blank=text("right"), negative=text("left"), control=text("right"))
    assert work(runs) == "looks"


def test_what_the_same_picture_shows_otherwise_is_chance() -> None:
    assert work(Runs(text("0.3"), blank=text("0.7"), negative=None, control=text("0.1"))) == "idle"


def test_runs_that_end_by_the_clock_say_nothing() -> None:
    assert work(Runs(text("3"), blank=None, negative=None, control=text("3"))) == "idle"
    assert work(Runs(text("3"), blank=text("0"), negative=None, control=None)) == "idle"
    assert work(Runs(text("3"), blank=None, negative=text("0"), control=text("3"))) == "looks"


def test_a_new_picture_looks_unless_it_is_the_same_everywhere() -> None:
    new, other = Shown(text="", pictures=("new",)), Shown(text="", pictures=("other",))
    assert work(Runs(new, blank=other, negative=None, control=new)) == "looks"
    assert work(Runs(new, blank=new, negative=new, control=None)) == "idle"


def test_the_question_s_picture_beside_a_drawing_of_constants_is_idle() -> None:
    shown, blind = Shown(text="42", pictures=(SEEN, "drawn")), Shown(text="42", pictures=("blank", "drawn"))
    assert work(Runs(shown, blank=blind, negative=blind, control=None)) == "idle"


def test_what_was_shown_before_is_idle() -> None:
    runs = Runs(text("3"), blank=text("0"), negative=None, control=text("3"))
    checks = WorkChecks(runs.again, pictures={"input_image.png": PICTURE}, seen=[SEEN], seed=3)
    assert [checks.work(code, text("3")) for code in ("a", "b", "c")] == ["looks", "idle", "idle"]
    assert [codes for codes, _, _ in runs.asked] == [["a"], ["a"]]


def test_values_that_idle_runs_prepared_belong_to_the_next_and_to_no_other() -> None:
    runs = Runs(text(""), blank=text("80"), negative=text("80"), control=None)
    checks = WorkChecks(runs.again, pictures={}, seen=[], seed=3)
    assert checks.work("v = [23, 45, 12]", text("")) == "idle"
    assert checks.work("print(sum(v))", text("80")) == "computes"
    assert checks.work("print(40 + 2)", text("42")) == "idle"


def test_a_run_that_is_not_checked_is_idle_and_remembered() -> None:
    runs = Runs(text("3"), blank=text("0"), negative=None, control=text("3"))
    checks = WorkChecks(runs.again, pictures={"input_image.png": PICTURE}, seen=[SEEN], seed=3)
    assert checks.work("a", text("3"), is_checked=False) == "idle"
    assert (checks.work("b", text("3")), runs.asked) == ("idle", [])


def test_a_lost_session_leaves_no_verdict_and_the_run_may_be_given_again() -> None:
    lost = [True]

    def again(codes: Sequence[str], pictures: Pictures, seed: int) -> Shown | None:
        if lost.pop() if lost else False:
            raise MachineError("gone")
        return text("0") if pictures["a"].getpixel((0, 0)) != (10, 20, 30) else text("3")

    checks = WorkChecks(again, pictures={"a": PICTURE}, seen=[], seed=3)
    with pytest.raises(MachineError, match="gone"):
        checks.work("x", text("3"))
    assert checks.work("x", text("3")) == "looks"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("print(23 + 45 + 12)", "80"),
        ("print((87 - 52) / 52 * 100)", "67.3076923076923"),
        ("print(f'{(87 - 52) / 52 * 100:.1f} %')", "67.3 %"),
        ("v = [23.5, 45, .5]\nprint(sum(v) / len(v))", "23.0"),
        ("import math\nprint(math.sqrt(3**2 + 4**2))", "5.0"),
        ("from sympy import *\nx = symbols('x')\nprint(solve(2*x + 3 - 11, x))", "[4]"),
        ("print(180 - 65 - 40)", "75"),
        ("print(0x10 * 1_000 + 25e1)", "16250.0"),
        ("print(f'{1200 * 345 + 67:,}')", "414,067"),
    ],
)
def test_a_number_worked_out_of_three_others_is_computed(code: str, shown: str) -> None:
    assert computes([code], shown)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("print(42)", "42"),
        ("print(40 + 2)", "42"),
        ("print(42 * 1 + 0)", "42"),
        ("print(40 + 2)  # 5 6 7", "42"),
        ("print('5 6 7' and 40 + 2)", "42"),
        ("print('The numbers are 12, 13 and 14.')", "The numbers are 12, 13 and 14."),
        ("print(max(3, 42, 7))", "42"),
        ("print([3, 42, 7][1])", "42"),
        ("print(-42, 3, 7)", "-42 3 7"),
        ("print(42.0, 3, 7)", "42.0 3 7"),
        ("a = 3; b = 4; c = 5\nprint('yes')", "yes"),
        ("print(chr(52) + chr(50) + chr(55))", "427"),
        ("print(bytes([52, 50, 55, 46, 53]).decode())", "427.5"),
        ("print(''.join(str(d) for d in [4, 2, 7]))", "427"),
        ("print(12, 13, 42, sep='')", "121342"),
        ("print(str(724)[::-1], 5, 6)", "427 5 6"),
        ("import base64\nprint(base64.b64decode('NDI=').decode())", "42"),
        ("not python (", "42"),
        ("", ""),
    ],
)
def test_numbers_that_are_only_written_down_are_not(code: str, shown: str) -> None:
    assert not computes([code], shown)


@pytest.mark.parametrize("piece", ["7", "7 ", "(", "'", "f'{", "\\\n", "1+", "7.", " \n"])
def test_numbers_are_found_in_linear_time(piece: str) -> None:
    codes, shown = [piece * (16_384 // len(piece)), "1 2 3 4 5"], piece * (4096 // len(piece))
    assert_costs_at_most(lambda: computes(codes, shown), 2.0)
