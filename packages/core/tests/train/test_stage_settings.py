"""Settings of stages that nothing reads beside others are named when they are changed."""

import logging

import pytest

from saccade.config.settings import apply_overrides
from saccade.train.stage_settings import ImitationSettings, PreferenceSettings, RLSettings, SFTSettings

RL = RLSettings(steps=3)
TOLD = [
    (SFTSettings(steps=3), "decay=constant final_rate=0.5", "final_rate (decay=constant has no end)"),
    (ImitationSettings(steps=3), "decay=constant final_rate=0.5", "final_rate (decay=constant has no end)"),
    (PreferenceSettings(), "decay=constant final_rate=0.5", "final_rate (decay=constant has no end)"),
    (RL, "final_rate=0.5", "final_rate (decay=constant has no end)"),
    (RL, "evidence.to=turns", "evidence.to (evidence.weight=0 pays no call)"),
    (RL, "evidence.form=difference", "evidence.form (evidence.weight=0 pays no call)"),
    (RL, "algorithm.options.kl_estimator=k1", "algorithm.options.kl_estimator (no KL has a weight)"),
    (ImitationSettings(), "batch_size=4 warmup_steps=2", "batch_size, warmup_steps (steps=0 imitates nothing)"),
]
QUIET = [
    (RL, "decay=linear final_rate=0.5"),
    # A recipe's end of a decay is none of the user's.
    (RLSettings(steps=3, decay="linear", final_rate=0.1), "decay=constant"),
    (RL, "evidence.to=turns evidence.weight=0.5 evidence.form=difference"),
    # A judge's verdicts are noted without a weight too.
    (RL, "evidence.form=judged"),
    (RL, "algorithm.options.kl_estimator=k1 algorithm.options.kl_in_reward=0.1"),
    (ImitationSettings(), "batch_size=4 steps=2"),
]


def warnings_of(settings: RLSettings, changes: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.WARNING):
        apply_overrides(settings, changes.split())
    return [one.getMessage() for one in caplog.records]


@pytest.mark.parametrize(("settings", "changes", "message"), TOLD)
def test_a_change_without_effect_is_told(
    settings: RLSettings, changes: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings_of(settings, changes, caplog) == [f"set without effect: {message}"]


@pytest.mark.parametrize(("settings", "changes"), QUIET)
def test_a_change_with_an_effect_is_not_told(
    settings: RLSettings, changes: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings_of(settings, changes, caplog) == []
