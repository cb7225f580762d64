"""``saccade curate argos``: reasoning that points, by a teacher that sees where things are, kept when verified."""

from pathlib import Path
from typing import Unpack

import click

from saccade.cli import options
from saccade.cli.curate_options import WHO, CurationOptions, curation_options
from saccade.cli.machine import existing
from saccade.cli.options import PATH
from saccade.errors import UserError


@click.command("argos")
@click.option("--data", type=PATH, help="Your own questions: a file or a folder; boxes are used where there are any.")
@options.family_option("Or: questions of a procedural family, exactly verified.")
@click.option("-n", "--n", "count", type=click.IntRange(min=1), help="Number of questions, by default all (64).")
@click.option("--detector", type=PATH, help="Checkpoint directory of a detector, for the regions that verify points.")
@click.option("--segmenter", type=PATH, help="Checkpoint directory of a segmenter.")
@click.option("--service", help="Or the address of a tool service that has both.")
@options.skip_bad_rows
@options.max_frames
@click.option("--sets", is_flag=True, help="Also write sets of equal size: all.jsonl, right.jsonl, grounded.jsonl.")
@curation_options(
    {
        "teacher": f"Model that reasons: {WHO}.",
        "extractor": f"Model that names the things to look at: {WHO}; by default the labels of the boxes.",
        "pointer": f"Model that points at things for the teacher: {WHO}; by default the middles of regions.",
        "scorer": f"Model that scores the answer's probability after the reasoning: {WHO}.",
        "video-judge": f"Model that judges statements about a video's frames: {WHO}.",
    },
    first="teacher",
)
def argos(
    data: Path | None,
    family: str | None,
    count: int | None,
    detector: Path | None,
    segmenter: Path | None,
    service: str | None,
    skip_bad_rows: bool,
    max_frames: int | None,
    sets: bool,
    **curation: Unpack[CurationOptions],
) -> None:
    """Make reasoning traces that point at what they mention, and keep those that Argos' verifier accepts.

    The teacher sees each picture and a copy of it with coordinates, and gives several traces. The best right trace that
    reaches the threshold is kept, with the original pictures alone.
    """
    if (data is None) == (family is None):
        raise UserError("give either --data PATH or --family NAME, so that there are questions")
    from saccade.curation.argos.back_ends import FinderNames
    from saccade.curation.argos.run import ArgosRequest, curate_argos
    from saccade.media.video import MAX_FRAMES
    from saccade.miniature.video_facts import DrawnVideos

    report = curate_argos(
        ArgosRequest(
            data=existing("--data", data),
            family=family,
            count=count,
            finders=FinderNames(
                detector=existing("--detector", detector), segmenter=existing("--segmenter", segmenter), service=service
            ),
            exact_video=None if family is None else DrawnVideos(),
            skip_bad_rows=skip_bad_rows,
            max_frames=max_frames or MAX_FRAMES,
            writes_sets=sets,
            **curation,
        )
    )
    click.echo(report.describe(), nl=False)
    click.echo(f"Examples: {curation['out'] / 'examples.jsonl'}")
