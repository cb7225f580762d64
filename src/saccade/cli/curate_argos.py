"""``saccade curate argos``: reasoning that points, by a teacher that sees where things are, kept when verified."""

from pathlib import Path

import click

from saccade.cli.running import PATH, existing, log_to_stderr, prepare_machine
from saccade.errors import UserError

WHO = "URL of a server (http://host/v1), or a checkpoint directory"


@click.command("argos")
@click.option("--data", type=PATH, help="Your own questions: a file or a folder; boxes are used where there are any.")
@click.option("--family", metavar="NAME|FILE.py:NAME", help="Or: questions of a procedural family, exactly verified.")
@click.option("-n", "--n", "count", type=click.IntRange(min=1), help="Number of questions, by default all (64).")
@click.option("--teacher", required=True, help=f"Model that reasons: {WHO}.")
@click.option("--teacher-model", help="The teacher's model name at its server.")
@click.option("--extractor", help=f"Model that names the things to look at: {WHO}; by default the labels of the boxes.")
@click.option("--extractor-model", help="The extractor's model name at its server.")
@click.option(
    "--pointer", help=f"Model that points at things for the teacher: {WHO}; by default the middles of regions."
)
@click.option("--pointer-model", help="The pointer's model name at its server.")
@click.option("--detector", type=PATH, help="Checkpoint directory of a detector, for the regions that verify points.")
@click.option("--segmenter", type=PATH, help="Checkpoint directory of a segmenter.")
@click.option("--service", help="Or the address of a tool service that has both.")
@click.option("--scorer", help=f"Model that scores the answer's probability after the reasoning: {WHO}.")
@click.option("--scorer-model", help="The scorer's model name at its server.")
@click.option("--video-judge", help=f"Model that judges statements about a video's frames: {WHO}.")
@click.option("--video-judge-model", help="The video judge's model name at its server.")
@click.option(
    "--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Environment variable with the servers' key."
)
@click.option("--skip-bad-rows", is_flag=True, help="Skip bad rows of --data and report how many.")
@click.option("--max-frames", type=click.IntRange(min=1), help="Maximum frames of a video in --data, by default 32.")
@click.option("--sets", is_flag=True, help="Also write sets of equal size: all.jsonl, right.jsonl, grounded.jsonl.")
@click.option("--out", type=PATH, required=True, help="Folder of the examples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting. Repeatable.")
@click.option("--resume", is_flag=True, help="Continue the curation in --out; nothing is asked twice.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads, by default 1.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def argos(
    data: Path | None,
    family: str | None,
    count: int | None,
    teacher: str,
    teacher_model: str | None,
    extractor: str | None,
    extractor_model: str | None,
    pointer: str | None,
    pointer_model: str | None,
    detector: Path | None,
    segmenter: Path | None,
    service: str | None,
    scorer: str | None,
    scorer_model: str | None,
    video_judge: str | None,
    video_judge_model: str | None,
    api_key_env: str,
    skip_bad_rows: bool,
    max_frames: int | None,
    sets: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Make reasoning traces that point at what they mention, and keep those that Argos' verifier accepts.

    The teacher sees each picture and a copy of it with coordinates, and gives several traces. The best right trace that
    reaches the threshold is kept, with the original pictures alone.
    """
    if (data is None) == (family is None):
        raise UserError("give either --data PATH or --family NAME, so that there are questions")
    prepare_machine(threads)
    log_to_stderr(is_quiet=quiet)
    from saccade.curation.argos.back_ends import FinderNames
    from saccade.curation.argos.run import ArgosRequest, curate_argos
    from saccade.media.video import MAX_FRAMES
    from saccade.miniature.video_facts import DrawnVideos

    report = curate_argos(
        ArgosRequest(
            data=existing("--data", data),
            family=family,
            count=count,
            who={"teacher": teacher, "extractor": extractor, "scorer": scorer, "video-judge": video_judge},
            models={
                "teacher": teacher_model,
                "extractor": extractor_model,
                "scorer": scorer_model,
                "video-judge": video_judge_model,
            },
            finders=FinderNames(
                detector=existing("--detector", detector),
                segmenter=existing("--segmenter", segmenter),
                service=service,
                pointer=pointer,
                pointer_model=pointer_model,
            ),
            exact_video=None if family is None else DrawnVideos(),
            api_key_env=api_key_env,
            skip_bad_rows=skip_bad_rows,
            max_frames=max_frames or MAX_FRAMES,
            writes_sets=sets,
            out=out,
            seed=seed,
            overrides=overrides,
            resume=resume,
        )
    )
    click.echo(report.describe(), nl=False)
    click.echo(f"Examples: {out / 'examples.jsonl'}")
