"""Episodes collect how long their tools take, and it is recorded where no seed reaches."""

from saccade.envs.visual_reasoning import DEFAULT_VIEW
from saccade.media.store import MediaStore
from saccade.metric_names import TIME_PREFIX
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.episodes import RolloutSettings
from saccade.testing.tasks import tiny_example
from saccade.tools.tool import tool_from
from saccade.train.measure import time_metrics
from saccade.train.plan import EpisodeSpec

CALL = '<think>t</think><tool_call>{"name": "look", "arguments": {}}</tool_call>'


def look() -> str:
    """Look."""
    return "seen"


def _episodes() -> EpisodeSpec:
    rollout = RolloutSettings(max_turn_tokens=12, max_tokens=400)
    return EpisodeSpec(protocol=tagged_protocol(max_turns=3), tools=(tool_from(look),), rollout=rollout)


def _call_once(episodes: EpisodeSpec, *, is_timed: bool = True) -> None:
    media = MediaStore()
    env = episodes.environment(media, DEFAULT_VIEW, is_timed=is_timed)
    env.reset(options={"task": tiny_example(media).task})
    env.step(CALL)
    env.close()


def test_all_environments_of_episodes_report_to_one_place_below_the_prefix_of_times() -> None:
    episodes = _episodes()
    for _ in range(3):
        _call_once(episodes)
    metrics = time_metrics([episodes], "held_out/")
    assert set(metrics) == {
        f"{TIME_PREFIX}held_out/tools/look/{kind}" for kind in ("calls", "mean_s", "p50_s", "p95_s")
    }
    assert metrics["time/held_out/tools/look/calls"] == 3.0
    assert time_metrics([episodes]) == {}


def test_demonstrations_are_not_timed() -> None:
    episodes = _episodes()
    _call_once(episodes, is_timed=False)
    assert time_metrics([episodes]) == {}


def test_episodes_are_equal_whatever_their_tools_took() -> None:
    one = _episodes()
    other = EpisodeSpec(protocol=one.protocol, tools=one.tools, rollout=one.rollout, max_turns=one.max_turns)
    one.latencies.record("look", 1.0)
    assert one == other
