"""What ``saccade eval`` measures: by default as ever, by protocol, with a second look."""

import json
from pathlib import Path

import pytest

from saccade.cli import run_command
from saccade.cli.options import PROTOCOL
from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.evaluation.views import CropSettings, Views
from saccade.models.checkpoint import base_checkpoint
from saccade.protocols.named import PROTOCOLS, ProtocolName
from saccade.recipes.evaluation import ViewWord, evaluation, view_words
from saccade.train.plan import Evaluate, Plan


def planned(
    *overrides: str,
    protocols: tuple[ProtocolName, ...] = (),
    test_time: tuple[tuple[ViewWord, ...], ...] = (),
) -> Plan:
    context = RecipeContext(overrides=overrides)
    plan = evaluation(context, family="counting", count=2, protocols=protocols, test_time=test_time)
    plan.check()
    return plan


def stages(plan: Plan) -> dict[str, Evaluate]:
    return {stage.name: stage for stage in plan.stages if isinstance(stage, Evaluate)}


def summary(plan: Plan) -> list[tuple[str, str, int, Views | None]]:
    """Of each stage: name, protocol, number of tools, views."""
    return [
        (name, stage.episodes.protocol.name, len(stage.episodes.tools), stage.views)
        for name, stage in stages(plan).items()
    ]


def test_by_default_a_checkpoint_is_measured_with_the_image_tools_and_without() -> None:
    assert summary(planned()) == [("with_tools", "tagged", 8, None), ("without_tools", "direct", 0, None)]
    assert summary(planned("with_tools=false")) == [("without_tools", "direct", 0, None)]


def test_each_protocol_is_an_evaluation_of_its_name() -> None:
    assert summary(planned(protocols=("textual", "grounded", "textual"))) == [
        ("textual", "textual", 0, None),
        ("grounded", "grounded", 0, None),
    ]
    assert summary(planned(protocols=("tagged", "direct", "grounded_with_crop"))) == [
        ("tagged", "tagged", 8, None),
        ("direct", "direct", 0, None),
        ("grounded_with_crop", "grounded_with_crop", 1, None),
    ]
    assert summary(planned(protocols=("code",))) == [("code", "code", 1, None)]


def test_the_command_offers_every_protocol() -> None:
    assert tuple(PROTOCOL.choices) == PROTOCOLS


def test_second_looks_are_named_by_what_they_show_and_follow_the_protocols() -> None:
    plan = planned(protocols=("textual",), test_time=(("crops",), ("union",), ("union", "crops")))
    assert summary(plan) == [
        ("textual", "textual", 0, None),
        ("test_time_crops", "textual", 0, Views(union=False)),
        ("test_time_union", "textual", 0, Views(crops=False)),
        ("test_time_crops_union", "textual", 0, Views()),
    ]
    for name, stage in stages(plan).items():
        first = stage.first_pass
        assert (None if first is None else (first.protocol.name, first.tools)) == (
            None if name == "textual" else ("grounded", ())
        )


def test_a_second_look_alone_is_measured_alone() -> None:
    assert list(stages(planned(test_time=(("crops", "union"),)))) == ["test_time_crops_union"]


def test_how_views_are_cut_can_be_set() -> None:
    plan = planned("views.padding=0.1", "views.max_crops=3", "views.min_side_px=8", test_time=(("crops",),))
    expected = Views(union=False, cut=CropSettings(padding=0.1, max_crops=3, min_side_px=8))
    assert stages(plan)["test_time_crops"].views == expected
    with pytest.raises(UserError, match=r"padding=-1\.0 must be a number from 0 to 10"):
        planned("views.padding=-1")


@pytest.mark.parametrize("setting", ["with_tools", "without_tools"])
def test_a_setting_that_would_have_no_effect_beside_a_named_protocol_is_refused(setting: str) -> None:
    for protocols, test_time in ((("textual",), ()), ((), (("crops",),))):
        with pytest.raises(UserError, match=f"{setting}=false would have no effect"):
            planned(f"{setting}=false", protocols=protocols, test_time=test_time)


@pytest.mark.parametrize(
    ("text", "words"),
    [("crops", ("crops",)), ("union", ("union",)), ("crops,union", ("crops", "union")), (" union , crops ", None)],
)
def test_views_are_named_in_a_list_in_any_order(text: str, words: tuple[str, ...] | None) -> None:
    assert view_words(text) == (words or ("crops", "union"))


@pytest.mark.parametrize(
    "text", ["", "none", "crop", "crops union", "crops,", "crops,crops", "crops,union,all", "Crops"]
)
def test_anything_else_is_refused_with_the_words_that_are_known(text: str) -> None:
    with pytest.raises(UserError, match=r"must be crops, union or crops,union\..*--protocol textual") as caught:
        view_words(text)
    assert repr(text) in str(caught.value)


def test_a_wrong_view_is_a_message_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", "--model", str(base_checkpoint()), "--family", "counting", "--out", str(tmp_path / "run")]
    assert run_command([*command, "--test-time", "none"]) == 2
    assert "--test-time 'none' must be crops, union or crops,union" in capsys.readouterr().err
    assert run_command([*command, "--protocol", "boxes"]) == 2
    assert "'boxes' is not one of 'tagged', 'direct', 'bare', 'code', 'grounded', 'textual'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_command_measures_both_passes_and_remembers_what_it_was_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    command = ["eval", "--model", str(base_checkpoint()), "--family", "counting", "-n", "2", "--out", str(run)]
    command += ["--protocol", "textual", "--quiet", "--set", "rollout.max_turn_tokens=16"]
    assert run_command([*command, "--test-time", "union,crops"]) == 0
    said = capsys.readouterr().out.splitlines()
    names = ["textual", "test_time_crops_union_first_pass", "test_time_crops_union"]
    assert said[0].startswith(
        f"{base_checkpoint()} has no record of the prompts and tools of its training (saccade_asking.json)"
    )
    assert [line.split(":")[0] for line in said[1 : 1 + len(names)]] == names
    assert sorted(path.stem for path in (run / "evaluations").iterdir()) == sorted(names)
    inputs = json.loads((run / "settings.json").read_text())["inputs"]
    assert (inputs["protocol"], inputs["test_time"]) == ("textual", "crops,union")
    assert run_command([*command, "--test-time", "crops", "--resume"]) == 2
    assert "inputs.test_time: crops,union -> crops" in capsys.readouterr().err
    reported = json.loads((run / "report.json").read_text())
    assert sorted(one["name"] for one in reported["stages"]) == sorted(names)
