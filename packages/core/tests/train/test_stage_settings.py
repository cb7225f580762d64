"""Settings of stages that would have no effect beside others."""

import pytest

from saccade.config.settings import apply_overrides, check_settings
from saccade.errors import UserError
from saccade.train.stage_settings import PreferenceSettings, RLSettings, SFTSettings

STAGES = [SFTSettings(steps=3), RLSettings(steps=3), PreferenceSettings()]


@pytest.mark.parametrize("stage", STAGES)
def test_an_end_of_a_decay_that_there_is_not_is_refused(stage: SFTSettings | RLSettings) -> None:
    check_settings(apply_overrides(stage, ["decay=linear", "final_rate=0.5"]))
    with pytest.raises(UserError, match=r"final_rate=0\.5 is where a decay ends, and decay=constant has none"):
        check_settings(apply_overrides(stage, ["decay=constant", "final_rate=0.5"]))


@pytest.mark.parametrize("stage", STAGES)
def test_a_recipes_end_of_a_decay_goes_with_the_decay(stage: SFTSettings | RLSettings) -> None:
    decaying = apply_overrides(stage, ["decay=cosine", "final_rate=0.1"])
    assert apply_overrides(decaying, ["decay=linear"]).final_rate == 0.1
    constant = apply_overrides(decaying, ["decay=constant"])
    assert constant.final_rate == 0.0
    assert type(constant) is type(stage)
    check_settings(constant)
