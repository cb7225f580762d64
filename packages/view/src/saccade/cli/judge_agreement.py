"""``saccade judge-agreement``: how far a judge of answers agrees with rules, another judge, people and itself."""

from pathlib import Path

import click

from saccade.cli import options
from saccade.cli.machine import log_to_stderr, prepare_machine, telling_of_waits
from saccade.cli.measured import existing_run
from saccade.cli.options import PATH
from saccade.cli.unread_options import refuse_unread
from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.strict_json import strict_json
from saccade.waiting import run_to_end


@click.command("judge-agreement")
@click.argument("run_directory", type=PATH, metavar="RUN_DIR")
@click.option("--judge", required=True, metavar="URL|CHECKPOINT", help="The judge: a server or a checkpoint.")
@options.judge_model
@click.option("--second", metavar="URL|CHECKPOINT", help="A second judge.")
@click.option("--second-model", metavar="NAME", help="Name of its model, if --second is a server.")
@click.option(
    "--labels",
    type=PATH,
    metavar="FILE",
    help="Human labels: CSV or JSON lines with id and label. By default, verdicts given in saccade view count.",
)
@click.option("--name", metavar="EVALUATION", help="Only this evaluation of the run.")
@click.option(
    "-n", "--n", "count", type=click.IntRange(min=1), help="Number of answers of each evaluation, from the first."
)
def judge_agreement(
    run_directory: Path,
    judge: str,
    judge_model: str | None,
    second: str | None,
    second_model: str | None,
    labels: Path | None,
    name: str | None,
    count: int | None,
) -> None:
    """Measure a judge on the answers of an evaluation: Cohen's kappa with rules, a second judge, people and itself.

    Every sample of a question is an answer. All verdicts are kept in RUN_DIR/judging.
    """
    prepare_machine(None)
    log_to_stderr(is_quiet=True)
    from saccade.atomic import disk_errors, write_text_atomic
    from saccade.chat import check_up, connect
    from saccade.evaluation.judging import judge_agreement as agreement
    from saccade.evaluation.judging import read_labels, verdict_lines, verdicts
    from saccade.rewards.judges.llm_judge import AnswerJudge, JudgeClient
    from saccade.runs.records import read_records
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.store.labels import annotated_labels

    if second is None:
        refuse_unread("without --second", "second_model")
    given = None if labels is None else read_labels(labels)
    evaluations = RunPaths(root=existing_run(run_directory)).evaluations
    files = {path.stem: path for path in sorted(evaluations.glob("*.jsonl"))}
    if name is not None and name not in files:
        raise UserError(f"{run_directory} has no evaluation {name!r}; it has {', '.join(files) or 'none'}")
    if not files:
        raise UserError(f"{run_directory} has no evaluation to judge; give the --out of saccade eval")
    where, where_second = connect(judge, model=judge_model), connect(second or judge, model=second_model or judge_model)
    for one in dict.fromkeys((judge, second or judge)):
        check_up(one)
    folder = run_directory / "judging"
    with disk_errors(folder):
        folder.mkdir(exist_ok=True)
    with telling_of_waits("asking the judge"), where, where_second:
        asked = AnswerJudge(asking=JudgeClient(model=where))
        other = None if second is None else AnswerJudge(asking=JudgeClient(model=where_second))
        for stem, path in files.items():
            if name not in (None, stem):
                continue
            attempts = list(read_records(path))[:count]
            told = annotated_labels(run_directory, path, attempts)
            if given is None and told.labels:
                click.echo(f"{stem}: {told.describe()}")
            found = run_to_end(verdicts(attempts, asked, second=other, labels=told.labels if given is None else given))
            measured = agreement(found)
            write_text_atomic(folder / f"{stem}.jsonl", verdict_lines(found))
            write_text_atomic(folder / f"{stem}.json", strict_json(plain_json(measured), indent=2) + "\n")
            click.echo(f"{stem}: {measured.describe()}")
    click.echo(f"Verdicts: {folder}")
