"""The run page opens with the report's charts, under their titles."""

import json
from pathlib import Path

from saccade import metric_names as metric
from saccade.types import Json
from saccade.viewer.store.curves import Curves, curves_json


def panels_of(root: Path, *records: dict[str, Json]) -> dict[str, dict[str, str]]:
    """Labels by metric of each chart of the stage ``rl``, by title."""
    path = root / "metrics.jsonl"
    path.write_text("".join(json.dumps({"stage": "rl", "step": at, **one}) + "\n" for at, one in enumerate(records)))
    curves = Curves(path=path)
    curves.refresh()
    told = json.loads(json.dumps(curves_json(curves, {})))
    return {panel["title"]: panel["lines"] for panel in told["stages"]["rl"]["panels"]}


def test_streams_have_lines_of_their_own_and_other_metrics_no_panel(tmp_path: Path) -> None:
    record: dict[str, Json] = {
        f"looking/{metric.REWARD_ACCURACY}": 0.5,
        f"silent/{metric.REWARD_ACCURACY}": 0.1,
        "odd": 3,
    }
    assert panels_of(tmp_path, record, record) == {
        "Accuracy": {
            f"looking/{metric.REWARD_ACCURACY}": "training, sampled: looking",
            f"silent/{metric.REWARD_ACCURACY}": "training, sampled: silent",
        }
    }


def test_charts_of_calls_are_there_where_something_was_called(tmp_path: Path) -> None:
    silent: dict[str, Json] = {metric.REWARD_MEAN: 1.0, metric.CALLS: 0.0, metric.TOOL_RATE: 0.0}
    assert list(panels_of(tmp_path, silent, silent)) == ["Reward"]
    assert list(panels_of(tmp_path, silent, {**silent, metric.CALLS: 0.5})) == ["Tool use", "Calls", "Reward"]


def test_what_never_leaves_zero_is_left_out_where_its_chart_says_so(tmp_path: Path) -> None:
    assert panels_of(tmp_path, {metric.STALENESS: 0.0}, {metric.STALENESS: 0.0}) == {}
    assert list(panels_of(tmp_path, {metric.STALENESS: 0.0}, {metric.STALENESS: 1.0})) == ["Age of the weights"]
