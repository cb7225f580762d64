"""Settings of an evaluation that nothing reads, beside how it is asked, are told."""

import logging

import pytest

from saccade.chat.chat_model import API_KEY_VARIABLE
from saccade.config.context import RecipeContext
from saccade.config.settings import setting_keys
from saccade.recipes.evaluation import evaluation
from saccade.recipes.evaluation_settings import EvaluationSettings, ServedModel
from saccade.recipes.evaluation_stages import TaskSet
from saccade.recipes.evaluation_unused import unused_settings

NO_CODE = "no tool runs code"
SERVER = ServedModel(url="http://127.0.0.1:9/v1", name="model")


@pytest.mark.parametrize(
    ("wishes", "changes", "message"),
    [
        ({}, "views.max_crops=2", "views.max_crops (no --test-time looks twice)"),
        ({}, "server.retries=2 coordinates=relative_1000", "server.retries, coordinates (no --server is asked)"),
        ({}, "isolation=none evidence_runs=4", f"isolation, evidence_runs ({NO_CODE})"),
        ({"family": None, "sets": [TaskSet(tasks=())]}, "difficulty=1", "difficulty (no --family draws the questions)"),
        ({"server": SERVER}, "model.max_pixels=5000", "model.max_pixels (the server has the model)"),
        ({"turns": 3}, "max_turns=2", "max_turns (--turns says it, or there is a single turn)"),
        (
            {"protocols": ("direct",)},
            "max_turns=2 with_tools=true",
            "max_turns (--turns says it, or there is a single turn)",
        ),
        ({}, "difficulty=1 max_turns=2 style=full", ""),
        ({"protocols": ("code",)}, "isolation=full evidence_runs=4 max_turns=3", ""),
        ({"test_time": [("crops",)]}, "views.max_crops=2", ""),
        ({"server": SERVER}, "server.retries=2 coordinates=relative_1000", ""),
    ],
)
def test_a_change_without_effect_is_told(
    wishes: dict[str, object],
    changes: str,
    message: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(API_KEY_VARIABLE, "key")
    with caplog.at_level(logging.WARNING):
        evaluation(RecipeContext(overrides=changes.split()), **{"family": "counting", "count": 2, **wishes})  # type: ignore[arg-type]
    told = [text for one in caplog.records if (text := one.getMessage()).startswith("set without effect: ")]
    assert told == ([f"set without effect: {message}"] if message else [])


@pytest.mark.parametrize("is_served", [True, False])
def test_what_has_no_effect_is_a_setting(is_served: bool) -> None:
    known = setting_keys(EvaluationSettings)
    settings = EvaluationSettings(style="brief")
    for name in unused_settings(settings, (), is_served, is_drawn=False, has_looks=False):
        assert any(f"{key}.".startswith(f"{name}.") for key in known), name
