"""Parts of a report: charts, pictures, hostile text, and how long tools took over the steps of a stage."""

import math
from pathlib import Path

import pytest
from PIL import Image

from saccade.geometry import Box, Point
from saccade.media.store import MediaStore
from saccade.types import ImageRef
from saccade.viewer.charts import Line, line_chart, smoothed, ticks
from saccade.viewer.curves import main_charts
from saccade.viewer.pictures import Album, Overlay, overlays_of
from saccade.viewer.tool_section import ToolTime, tool_times_of
from saccade.viewer.words import number_text, percent_text, visible


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (3.0, 3.0, [2.6, 2.8, 3.0, 3.2, 3.4]),
        (0.0, 0.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-0.02, 0.03, [-0.02, -0.01, 0.0, 0.01, 0.02, 0.03]),
    ],
)
def test_ticks_are_round_numbers_that_cover_the_values(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_ticks_of_steps_are_whole_numbers() -> None:
    assert ticks(1, 1, whole=True) == [0, 1, 2]
    assert ticks(1, 3, whole=True) == [1, 2, 3]
    assert ticks(1, 700, whole=True) == [0, 200, 400, 600, 800]


def test_a_series_without_finite_values_says_so() -> None:
    assert "no finite values" in line_chart([Line(label="x", points=((1, math.nan),))], title="t")
    assert "no finite values" in line_chart([], title="t")


def test_a_single_point_is_drawn() -> None:
    svg = line_chart([Line(label="<x>", points=((4, 2.0),))], title="<t>")
    assert "<title>&lt;x&gt;, step 4: 2</title>" in svg
    assert 'aria-label="&lt;t&gt;"' in svg


def test_a_running_mean_leaves_out_what_is_not_finite() -> None:
    assert smoothed(((1, 1.0), (2, math.nan), (3, 3.0))) == ((1, 1.0), (2, 2.0), (3, 3.0))
    assert smoothed(()) == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.01234567, "0.01235"),
        (1234.5, "1,234"),
        (0.00065, "6.5e-4"),
        (1e9, "1e9"),
        (-2.5e-7, "-2.5e-7"),
        (math.nan, "nan"),
        (math.inf, "inf"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number_text(value) == text


def test_shares_are_percent_with_a_space_that_does_not_break() -> None:
    assert (percent_text(0.6328), percent_text(1.0), percent_text(None)) == ("63.3\u00a0%", "100\u00a0%", "–")


def test_text_is_cut_with_a_note_and_hidden_characters_are_spelled_out() -> None:
    assert visible("a\tb\nc é 图 😀") == "a\tb\nc é 图 😀"
    assert visible("a\u200bb\x07\u2028") == "a⟨U+200B⟩b⟨U+0007⟩⟨U+2028⟩"
    assert visible("x" * 12, limit=10) == "xxxxxxxxxx … [2 more characters are in the trajectory file]"


def test_boxes_and_points_are_found_among_arguments() -> None:
    arguments = {"bbox_2d": [1, 2, 3.5, 4], "points": [[5, 6], [7, 8]], "name": "x", "angle": 90, "bad": [1, math.inf]}
    assert [overlay.shape for overlay in overlays_of(arguments)] == [Box(1, 2, 3.5, 4), Point(5, 6), Point(7, 8)]


def test_a_box_is_drawn_inside_the_image_only(tmp_path: Path) -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (40, 20)))
    media.export(image, tmp_path)
    album = Album(directory=tmp_path)
    inside = Overlay(kind="asked", shape=Box(-5, 5, 100, 15), label='"<x>"')
    outside = Overlay(kind="asked", shape=Box(50, 50, 60, 60), label="gone")
    svg = album.figure(image, "<d>", [inside, outside])
    assert svg.count("<rect") == 1
    assert '<rect class="asked" x="0" y="5" width="40" height="10"><title>&quot;&lt;x&gt;&quot;</title></rect>' in svg
    assert 'class="picture pixelated" viewBox="0 0 40 20"' in svg
    assert album.definitions().count("data:image/png;base64,") == 1


def test_a_large_image_is_embedded_smaller_and_keeps_its_coordinates(tmp_path: Path) -> None:
    media = MediaStore()
    image = media.add(Image.effect_noise((2000, 1000), 80).convert("RGB"))
    path = media.export(image, tmp_path)
    album = Album(directory=tmp_path)
    assert 'class="picture" viewBox="0 0 2000 1000"' in album.figure(image, "photo")
    assert len(album.definitions()) < path.stat().st_size / 2
    assert 'width="2000" height="1000"' in album.definitions()


def test_a_hash_that_is_no_hash_opens_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"x")
    album = Album(directory=tmp_path / "media")
    svg = album.figure(ImageRef(hash="../secret", width=4, height=4), "x")
    assert "not an image hash" in svg
    assert "base64" not in album.definitions()


def legends(*keys: str) -> dict[str, tuple[str, ...]]:
    return {chart.title: chart.legend for chart in main_charts(dict.fromkeys(keys, ((1, 0.5), (2, 0.25))))}


def test_calls_are_drawn_by_how_hard_the_questions_were() -> None:
    assert legends("calls/at_accuracy_0", "held_out/calls/at_accuracy_0", "calls/at_accuracy_75") == {
        "Calls where questions are hard": ("below 25 %", "75 % and more")
    }
    assert legends("calls/at_accuracy_0", "look/calls/at_accuracy_0", "talk/calls/at_accuracy_0") == {
        "Calls where questions are hard": ("below 25 %: look", "below 25 %: talk")
    }


def test_of_calls_by_hardness_a_stream_that_never_calls_is_left_out_beside_one_that_does() -> None:
    silent, looking = ((1, 0.0), (2, 0.0)), ((1, 0.0), (2, 0.5))
    key = "calls/at_accuracy_0"
    [both] = main_charts({key: looking, f"talk/{key}": silent, f"look/{key}": looking})
    assert both.legend == ("below 25 %: look",)
    [alone] = main_charts({key: silent})
    assert alone.legend == ("below 25 %",)


def test_both_measures_of_entropy_are_in_one_chart() -> None:
    assert legends("entropy", "rollout/entropy") == {"Entropy": ("all that was sampled", "what was learned from")}


def test_steps_are_weighted_by_their_calls_and_the_worst_step_gives_the_upper_end() -> None:
    curves = {
        "rl": {
            "reward/mean": ((1, 0.5),),
            "time/tools/crop/calls": ((1, 1.0), (2, 3.0)),
            "time/tools/crop/mean_s": ((1, 0.25), (2, 0.5)),
            "time/tools/crop/p50_s": ((1, 0.25), (2, 0.75)),
            "time/tools/crop/p95_s": ((1, 0.9), (2, 0.6)),
            "time/held_out/tools/crop/calls": ((2, 2.0),),
            "time/held_out/tools/crop/mean_s": ((2, 0.25),),
            "time/held_out/tools/crop/p50_s": ((2, 0.25),),
            "time/held_out/tools/crop/p95_s": ((2, 0.25),),
        }
    }
    assert tool_times_of(curves) == [
        ToolTime(stage="rl", tool="crop", calls=4, mean_s=0.4375, p50_s=0.625, p95_s=0.9),
        ToolTime(stage="rl, held_out", tool="crop", calls=2, mean_s=0.25, p50_s=0.25, p95_s=0.25),
    ]


def test_a_run_without_calls_has_no_rows() -> None:
    assert tool_times_of({"sft": {"nll": ((1, 2.0),)}}) == []
