"""What a command says once its run is complete: what was measured, and where everything is."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.config.tracking import TrackingSettings
    from saccade.evaluation.summary import StageSummary
    from saccade.train.plan import Plan

logger = logging.getLogger(__name__)


def tell(
    summaries: "Mapping[str, StageSummary]", plan: "Plan", out: Path, tracking: "TrackingSettings | None" = None
) -> None:
    """Writes the report and says what was measured and where everything is."""
    from saccade.runs.asking import read_asked
    from saccade.runs.checkpoints import latest_checkpoint
    from saccade.runs.runinfo import RunPaths
    from saccade.train.stages import Evaluate

    lines = draw_report(out)
    if tracking is not None and tracking.has_any and lines is not None:
        from saccade.runs.trackers.following import send_report

        send_report(tracking, RunPaths(root=out))
    for remark in plan.remarks:
        click.echo(remark)
    asked = read_asked(RunPaths(root=out).asked).evaluations
    has_tools = any(stage.episodes.tools for stage in plan.stages if isinstance(stage, Evaluate))
    for name, summary in summaries.items():
        novelty = asked[name].novelty if name in asked else None
        seen = f"; not held out: {novelty.seen_text()}" if novelty and not novelty.is_held_out else ""
        click.echo(f"{summary.describe(has_tools=has_tools)}{seen}")
        for figure in summary.figures.values():
            click.echo(f"  {figure.line}".replace("\N{NO-BREAK SPACE}", " "))
    for line in lines or ():
        click.echo(line.replace("\N{NO-BREAK SPACE}", " "))
    trained = latest_checkpoint(RunPaths(root=out).checkpoints, tuple(stage.name for stage in plan.stages))
    if trained is not None:
        click.echo(f"Model: {trained.path}")
    if lines is not None:
        click.echo(f"Report: {out / 'report.html'}")


def draw_report(out: Path) -> Sequence[str] | None:
    """Lines on the whole run of the report that was written; None where none was.

    What fails in drawing it is logged with its traceback: the run is complete.
    """
    from saccade.entry_points import offer_named, part
    from saccade.runs.runinfo import RunPaths

    if offer_named("saccade.parts", "the report") is None:
        click.echo("Report: none, since Saccade's viewer, which draws it, is not installed")
        return None
    try:
        lines = part("the report")(RunPaths(root=out))
    except UserError:
        raise
    except Exception:
        logger.exception(
            "the report of %s could not be drawn; the run is complete, and `saccade report` tries again", out
        )
        return None
    return lines if isinstance(lines, list) else []
