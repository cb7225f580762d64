"""``saccade plan-fleet`` says what a step of a run would take on other layouts, as a model says it."""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli.options import PATH
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.train.fleet_plan import CalibrationRun, Rates
    from saccade.train.fleet_record import Layout, Step

_LAYOUT = re.compile(r"(?P<learners>\d{1,5})\+(?P<rollouts>\d{1,5})(?::(?P<ahead>\d{1,3}))?")
_TELLS_APART = 1.5
"""How much larger the largest batch must be than the smallest to tell what batches and what questions cost."""
_SHOWN = ("1+0", "1+1", "1+2", "2+2", "1+1:1", "1+2:1", "2+2:1", "2+4:1", "4+4:1")


@click.command("plan-fleet")
@click.argument("run", type=PATH)
@click.option(
    "--layout",
    "layouts",
    multiple=True,
    metavar="LEARNERS+ROLLOUTS[:AHEAD]",
    help="1+0 samples in the learner; 2+4:1 samples one batch ahead while learning. Repeatable.",
)
@click.option("--also", type=PATH, multiple=True, help="Calibrate by this run too: one with several learners, say.")
@click.option(
    "--exponent",
    type=click.FloatRange(0.1, 1.0),
    default=0.9,
    show_default=True,
    help="Learning time falls with W^this.",
)
@click.option("--rows", type=click.IntRange(min=1), default=64, show_default=True, help="Rows of an engine.")
@click.option("--processor", is_flag=True, help="Use CPU time, which a busy machine does not change.")
@click.option("--held-out", type=PATH, multiple=True, help="Another run of the recipe, to check against. Repeatable.")
@click.option("--check", is_flag=True, help="Print the model's errors: held-out runs, and tables that verl published.")
def plan_fleet(
    run: Path,
    layouts: tuple[str, ...],
    also: tuple[Path, ...],
    exponent: float,
    rows: int,
    processor: bool,
    held_out: tuple[Path, ...],
    check: bool,
) -> None:
    """Model step time, idle shares and staleness of RUN on other layouts.

    The model is calibrated by what RUN recorded; its errors are not small. It ignores other hardware, the
    network and memory: `saccade plan-memory` says what fits.
    """
    from saccade.train.fleet_plan import CalibrationRun, calibrated_rates, simulate_steps
    from saccade.train.fleet_record import layout_of, recorded_steps

    asked = [_layout(text) for text in layouts or _SHOWN]
    runs = [
        CalibrationRun(steps=tuple(recorded_steps(path, by_processor=processor)), layout=layout_of(path))
        for path in (run, *also)
    ]
    own, steps = runs[0].layout, runs[0].steps
    rates = calibrated_rates(runs, weights_bytes=_weights_bytes(run), rows=rows, exponent=exponent)
    measured_s = statistics.mean(one.step_s for one in steps)
    clock = " of the processor" if processor else ""
    click.echo(f"Calibrated by {len(steps)} steps of {run} ({own.name}): {measured_s:.3f} s{clock} a step, measured")
    _tell(rates)
    asked_at_once = [len(step.groups) for one in runs for step in one.steps]
    if max(asked_at_once) < _TELLS_APART * min(asked_at_once):
        click.echo(
            f"  all batches have about {max(asked_at_once)} questions: what a batch costs by itself is not told apart "
            "from what its questions cost. Give --also a run with half as many, before you ask for other shares"
        )
    click.echo("\nEvery number below is modelled, none measured.")
    click.echo(f"{'learners + rollouts':<38}{'step':>9}{'learners idle':>15}{'rollouts idle':>15}{'staleness':>11}")
    for layout in asked:
        one = simulate_steps(steps, rates, layout)
        unknown = "" if rates.knows(layout.learners) else "  *"
        click.echo(
            f"{layout.name:<38}{one.step_s:>7.3f} s{one.learners_idle:>15.0%}{one.rollouts_idle:>15.0%}"
            f"{one.staleness_mean:>8.1f}, {one.staleness_max}{unknown}"
        )
    if not all(rates.knows(layout.learners) for layout in asked):
        click.echo(
            "* No run of this kind calibrates it: several learners gather weights, wait for each other and run other "
            "kernels than one. Give --also a run of the other kind; until then it is no more than a bound."
        )
    if check or held_out:
        _check(runs[0], rates, {path: recorded_steps(path, by_processor=processor) for path in held_out})


def _tell(rates: "Rates") -> None:
    click.echo(
        f"  playing {rates.batch_s:.3f} s + {1e3 * rates.tick_s:.2f} ms a decode step + {1e3 * rates.row_s:.3f} ms a "
        f"token + {1e3 * rates.prefill_s:.4f} ms a token shown"
    )
    for who, learning in (("one learner", rates.whole), ("several", rates.sharded)):
        if learning is not None:
            click.echo(
                f"  learning, {who}: {learning.fixed_s:.3f} s + {1e3 * learning.pass_s:.2f} ms a micro-batch / W + "
                f"{1e3 * learning.token_s:.4f} ms a token / W^{rates.exponent:g}"
            )
    click.echo(f"  handing over {rates.sync_s:.3f} s ({'measured' if rates.is_sync_measured else 'assumed'})")


def _check(run: "CalibrationRun", rates: "Rates", held_out: "Mapping[Path, list[Step]]") -> None:
    from saccade.train.fleet_plan import calibrated_rates, simulate_steps
    from saccade.train.fleet_record import layout_of
    from saccade.train.published_layouts import VERL

    steps, own = run.steps, run.layout
    click.echo("\nThe model against what was measured:")
    click.echo(f"{'run':<46}{'modelled':>10}{'measured':>10}{'error':>8}")
    _compare(
        "the run itself (calibrated by it)", simulate_steps(steps, rates, own).step_s, [one.step_s for one in steps]
    )
    # The same machine in the same minutes: what is left is the model's own error.
    half = calibrated_rates([replace(run, steps=steps[::2])], weights_bytes=0, rows=rates.rows, exponent=rates.exponent)
    said_s = simulate_steps(steps[1::2], half, own, count=len(steps[1::2])).step_s
    _compare("every other step, by those between", said_s, [one.step_s for one in steps[1::2]])
    for path, theirs in held_out.items():
        layout = layout_of(path)
        # By the batches that it had: another number of questions or longer answers are no error of the model's.
        said_s = simulate_steps(theirs, rates, layout, count=len(theirs)).step_s
        unknown = "" if rates.knows(layout.learners) else " *"
        _compare(f"held out: {path.name} ({layout.name}){unknown}", said_s, [one.step_s for one in theirs])
    for row in VERL:
        alone = ", learning alone" if row.is_of_learning_alone else ""
        _compare(f"verl: {row.name} {row.learners}+{row.rollouts}{alone}", row.predicted_s, [row.step_s])
    click.echo(
        "verl's rows are by a closed form from its colocated runs. It is near where one side is clearly the slower one "
        "and off by a factor of two where batches are streamed in parts: Saccade does not stream."
    )


def _compare(name: str, said_s: float, measured: Sequence[float]) -> None:
    measured_s = statistics.mean(measured)
    click.echo(f"{name:<46}{said_s:>8.2f} s{measured_s:>8.2f} s{said_s / measured_s - 1:>+8.0%}")


def _layout(text: str) -> "Layout":
    from saccade.train.fleet_record import Layout

    match = _LAYOUT.fullmatch(text)
    if match is None or not int(match["learners"]):
        raise UserError(f"--layout {text}: write LEARNERS+ROLLOUTS or LEARNERS+ROLLOUTS:AHEAD, as 2+4:1")
    ahead, rollouts = int(match["ahead"] or 0), int(match["rollouts"])
    return Layout(
        learners=int(match["learners"]), rollouts=rollouts, staleness=ahead, overlaps=ahead > 0 and rollouts > 0
    )


def _weights_bytes(run: Path) -> int:
    """Of the newest checkpoint; 0 where there is none."""
    files = sorted(run.glob("checkpoints/*/*.safetensors"), key=lambda path: path.stat().st_mtime)
    newest = files[-1].parent if files else None
    return sum(path.stat().st_size for path in files if path.parent == newest)
