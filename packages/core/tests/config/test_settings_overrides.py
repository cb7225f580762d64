import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from saccade.config.config_file import config_text, read_config
from saccade.config.settings import apply_overrides, changes_between, from_json, setting_keys, to_json
from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class Penalty:
    coefficient: float = 0.01
    is_squared: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Learning:
    learning_rate: float = 1e-3
    steps: int = 10
    schedule: Literal["constant", "linear"] = "linear"
    betas: tuple[float, float] = (0.9, 0.95)
    seeds: tuple[int, ...] = ()
    penalty: Penalty | None = None

    def check(self) -> None:
        if self.steps < 1:
            raise UserError(f"steps={self.steps} trains nothing; use 1 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    path: Path | None = None
    family: str | None = "qwen3"


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighted:
    weight: float = 1.0
    given: Penalty | None = field(default=None, metadata={"setting": False})

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise UserError(f"weight={self.weight} must not be negative")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outer:
    reward: Weighted = Weighted()


@dataclass(frozen=True, kw_only=True, slots=True)
class Demo:
    name: str = "demo"
    rl: Learning = field(default_factory=Learning)
    model: Model = field(default_factory=Model)
    level: Literal[1, 2] = 1
    is_quick: bool = False
    penalty: Penalty = field(default_factory=Penalty)


def test_each_type_is_read_by_its_annotation() -> None:
    changed = apply_overrides(
        Demo(),
        [
            "rl.learning_rate=3e-4",
            "rl.steps=1_000",
            "rl.schedule=constant",
            "rl.betas=0.9, 0.98",
            "rl.seeds=[1, 2, 3]",
            "model.path=/models/x=y",
            "model.family=none",
            "level=2",
            "is_quick=Yes",
            "name=a,b",
        ],
    )
    assert changed == Demo(
        name="a,b",
        rl=Learning(learning_rate=3e-4, steps=1000, schedule="constant", betas=(0.9, 0.98), seeds=(1, 2, 3)),
        model=Model(path=Path("/models/x=y"), family=None),
        level=2,
        is_quick=True,
    )


def test_no_overrides_give_equal_settings() -> None:
    assert apply_overrides(Demo(), []) == Demo()


def test_the_last_of_two_values_wins() -> None:
    assert apply_overrides(Demo(), ["rl.steps=3", "rl.steps=4"]).rl.steps == 4


def test_setting_a_field_of_a_group_that_is_none_starts_from_its_defaults() -> None:
    assert apply_overrides(Demo(), ["rl.penalty.is_squared=true"]).rl.penalty == Penalty(is_squared=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Walls:
    isolation: Literal["full", "none"] | None = None


def test_an_option_may_be_called_none(tmp_path: Path) -> None:
    assert apply_overrides(Walls(), ["isolation=none"]).isolation == "none"
    assert apply_overrides(Walls(isolation="full"), ["isolation=null"]).isolation is None
    for isolation in ("none", None):
        settings = Walls(isolation=isolation)
        assert from_json(Walls, to_json(settings)) == settings
        file = tmp_path / "config.yaml"
        file.write_text(config_text({"recipe": "any"}, to_json(settings), []))
        assert apply_overrides(Walls(isolation="full"), read_config(file).overrides) == settings
    with pytest.raises(UserError, match="isolation must be one of full, none or null"):
        apply_overrides(Walls(), ["isolation=some"])


def test_an_optional_group_can_be_set_to_none_again() -> None:
    settings = Demo(rl=Learning(penalty=Penalty()))
    assert apply_overrides(settings, ["rl.penalty=none"]).rl.penalty is None
    assert apply_overrides(settings, ["rl.penalty.coefficient=1", "rl.penalty=none"]).rl.penalty is None
    again = apply_overrides(settings, ["rl.penalty=none", "rl.penalty.coefficient=1"])
    assert again.rl.penalty == Penalty(coefficient=1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Required:
    judge: str
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WithRequired:
    judge: Required | None = None


def test_a_group_without_defaults_cannot_be_turned_on_by_one_field() -> None:
    with pytest.raises(UserError, match=r"'judge' is none and its judge has no default"):
        apply_overrides(WithRequired(), ["judge.weight=2"])


def test_an_unknown_key_names_the_nearest_and_the_keys_there() -> None:
    with pytest.raises(UserError) as caught:
        apply_overrides(Demo(), ["rl.learning_rat=1"])
    message = str(caught.value)
    assert "there is no setting 'rl.learning_rat'" in message
    assert "Did you mean 'rl.learning_rate'?" in message
    assert "Known here: rl.learning_rate, rl.steps, rl.schedule, rl.betas, rl.seeds, rl.penalty" in message


def test_a_key_without_its_group_is_suggested_with_it() -> None:
    with pytest.raises(UserError, match=r"Did you mean 'rl.learning_rate'\?"):
        apply_overrides(Demo(), ["learning_rate=1"])
    with pytest.raises(UserError, match=r"Did you mean 'rl.penalty.coefficient' or 'penalty.coefficient'\?"):
        apply_overrides(Demo(), ["coefficient=1"])


def test_a_group_itself_cannot_be_set() -> None:
    with pytest.raises(UserError, match=r"'penalty' is a group of settings; set one of: penalty.coefficient"):
        apply_overrides(Demo(), ["penalty=3"])


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("rl.steps=1.5", "rl.steps must be a whole number"),
        ("rl.steps=", "rl.steps must be a whole number"),
        ("rl.learning_rate=fast", "rl.learning_rate must be a number"),
        ("rl.learning_rate=nan", "rl.learning_rate must be a number"),
        ("is_quick=maybe", "is_quick must be true or false"),
        ("rl.schedule=cosine", "rl.schedule must be one of constant, linear"),
        ("level=3", "level must be one of 1, 2"),
        ("rl.betas=0.9", "rl.betas must be 2 comma-separated values (a number, a number)"),
        ("rl.seeds=1,x", "rl.seeds must be a comma-separated list, each a whole number"),
        ("rl.seeds=[1,", "rl.seeds must be a JSON list such as [1, 2]"),
        ("rl.seeds=[true]", "rl.seeds must be a comma-separated list, each a whole number"),
        ("rl.penalty=3", "rl.penalty must be a group of settings (coefficient, is_squared) or none"),
        ("rl.steps", "has no '='"),
    ],
)
def test_a_wrong_value_names_the_key_the_value_and_the_type(override: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        apply_overrides(Demo(), [override])
    assert expected in str(caught.value)
    assert override in str(caught.value)


def test_check_is_called_after_all_overrides() -> None:
    with pytest.raises(UserError, match="steps=0 trains nothing"):
        apply_overrides(Demo(), ["rl.steps=0"])
    assert apply_overrides(Demo(), ["rl.steps=0", "rl.steps=2"]).rl.steps == 2


def test_settings_survive_json() -> None:
    settings = Demo(
        rl=Learning(learning_rate=math.inf, betas=(0.1, 0.3), seeds=(4,), penalty=Penalty()),
        model=Model(path=Path("/x")),
    )
    text = json.dumps(to_json(settings), allow_nan=False)
    assert from_json(Demo, json.loads(text)) == settings
    assert from_json(Demo, json.loads(json.dumps(to_json(Demo())))) == Demo()


def test_missing_keys_of_a_file_get_defaults_and_unknown_ones_are_errors() -> None:
    assert from_json(Demo, {"rl": {"steps": 5}}) == Demo(rl=Learning(steps=5))
    with pytest.raises(UserError, match=r"settings.json: unknown settings rl.stps"):
        from_json(Demo, {"rl": {"stps": 5}})
    with pytest.raises(UserError, match=r"settings.json: rl.steps is '5' but must be a whole number"):
        from_json(Demo, {"rl": {"steps": "5"}})
    with pytest.raises(UserError, match=r"x.json: level is True but must be one of 1, 2"):
        from_json(Demo, {"level": True}, where="x.json")
    with pytest.raises(UserError, match=r"settings.json: judge.judge is missing and has no default"):
        from_json(WithRequired, {"judge": {"weight": 1.0}})


def test_differences_are_listed_by_dotted_key() -> None:
    before, after = to_json(Demo()), to_json(apply_overrides(Demo(), ["rl.steps=3", "model.path=/x"]))
    assert changes_between(before, before) == []
    assert list(map(str, changes_between(before, after))) == ["rl.steps: 10 -> 3", "model.path: None -> /x"]
    assert list(map(str, changes_between({"a": 1}, {"b": 2}))) == ["a: 1 -> (absent)", "b: (absent) -> 2"]


def test_all_keys_are_listed_in_order_of_definition() -> None:
    assert list(setting_keys(Model)) == ["path", "family"]
    assert "rl.penalty" in setting_keys(Demo)
    assert "rl.penalty.coefficient" in setting_keys(Demo)
    assert "penalty" not in setting_keys(Demo)


def test_what_a_group_finds_wrong_is_said_with_its_whole_key() -> None:
    with pytest.raises(UserError, match=r"^rl\.steps=0 trains nothing"):
        apply_overrides(Demo(), ["rl.steps=0"])


def test_what_a_group_refuses_when_it_is_built_is_said_with_its_key() -> None:
    with pytest.raises(UserError, match=r"^reward\.weight=-1\.0 must not be negative"):
        apply_overrides(Outer(), ["reward.weight=-1"])


def test_a_field_that_is_the_recipe_s_to_give_is_no_setting() -> None:
    assert list(setting_keys(Outer)) == ["reward.weight"]
    assert to_json(Outer()) == {"reward": {"weight": 1.0}}
    with pytest.raises(UserError, match="there is no setting"):
        apply_overrides(Outer(), ["reward.given.coefficient=2"])


@dataclass(frozen=True, kw_only=True)
class Looking:
    tool: bool = False
    turns: int = 2
    size: int = 2

    def unused(self) -> Mapping[str, str]:
        return {} if self.tool else dict.fromkeys(("turns", "size"), "tool=false")


@dataclass(frozen=True, kw_only=True)
class LookingRecipe:
    look: Looking = Looking()
    steps: int = 3


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["look.turns=4"], ["set without effect: look.turns (tool=false)"]),
        (["look.turns=4", "look.size=3"], ["set without effect: look.turns, look.size (tool=false)"]),
        (["look.turns=2", "steps=4"], []),
        (["look.turns=4", "look.tool=true"], []),
    ],
)
def test_changes_that_nothing_reads_are_told(
    overrides: list[str], told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    apply_overrides(LookingRecipe(), overrides)
    assert [one.getMessage() for one in caplog.records] == told
