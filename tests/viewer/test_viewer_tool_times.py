"""The report tells how long tools took, over all steps of a stage."""

from saccade.viewer.tool_section import ToolTime, tool_times_of


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
