"""``saccade eval``: measures a checkpoint, or a model behind a server."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import click

from saccade.cli.benchmarks import ask_judge, check_files
from saccade.cli.evaluate_options import EvaluateOptions, evaluation_options
from saccade.cli.look import is_look, look_sets, look_told
from saccade.cli.measured import existing_run, keep_prices, show_figures
from saccade.cli.options import served_or_none
from saccade.cli.run_options import run_options
from saccade.cli.running import start, task_context
from saccade.cli.unread_options import refuse_unread
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.config.context import RecipeContext
    from saccade.recipes.evaluation_benchmarks import MeasuredBenchmark
    from saccade.train.plan import Plan


@click.command("eval")
@evaluation_options
@run_options(default_out=None)
def evaluate(**given: Unpack[EvaluateOptions]) -> None:
    """Measure a checkpoint, or a model behind a server, on your own tasks or on procedural ones."""
    _check_given(given)
    if _has_benchmarks(given):
        # Before the model, which imports torch.
        check_files(_benchmark_names(given), given["suite"], given["benchmarks_dir"])
    context = task_context(
        data=given["data"],
        model=given["model"],
        overrides=given["overrides"],
        seed=given["seed"],
        skip_bad_rows=given["skip_bad_rows"],
        image_root=given["image_root"],
        max_frames=given["max_frames"],
        env=given["env"],
        answer_kind=given["answer_kind"],
        box_frame=given["box_frame"],
        min_iou=given["min_iou"],
        split=given["split"],
    )
    from saccade.tasks.sources import measured_part

    if context.data is not None and context.split is None:
        context = replace(context, split=measured_part(context.data))
    benchmarks = _measured_benchmarks(given, context)
    from saccade.train.state import Keeping

    stages: dict[str, list[str]] = {}

    def recipe(context: "RecipeContext") -> "Plan":
        return _plan(given, context, benchmarks, stages)

    start(
        recipe,
        context,
        out=given["out"],
        resume=given["resume"],
        accepted=given["accepted"],
        threads=given["threads"],
        quiet=given["quiet"],
        deterministic=given["deterministic"],
        measured=_identity(given),
        keeping=Keeping(retry_failed=given["retry_failed"], reuse=tuple(existing_run(one) for one in given["reuse"])),
    )
    show_figures(given["out"], given["prices"])
    if given["prices"] is not None:
        keep_prices(given["out"], given["prices"])
    if is_look(given["suite"]):
        click.echo(look_told(given["out"]))
    if benchmarks:
        click.echo(_benchmarks_read(given, benchmarks, stages))


def _benchmark_names(given: EvaluateOptions) -> list[str]:
    """The benchmarks that the command names."""
    return [name.strip() for text in given["benchmarks"] for name in text.split(",")]


def _tools(given: EvaluateOptions) -> list[str]:
    return [name.strip() for text in given["tools"] for name in text.split(",")]


def _check_given(given: EvaluateOptions) -> None:
    """UserError for options that exclude each other or would have no effect."""
    has_benchmarks = bool(_benchmark_names(given) or given["suite"])
    asked = (given["data"], given["env"], given["family"])
    if (count := sum(one is not None for one in asked) + has_benchmarks) != 1:
        found = f"{count} things" if count else "nothing"
        raise UserError(
            f"{found} to measure on: give one of --data PATH, --family NAME, --env NAME and --benchmark NAME (or "
            "--suite NAME)"
        )
    if given["data"] is None and (unread := _of_data(given, has_videos=has_benchmarks)):
        raise UserError(f"{unread} has no effect without --data; leave it out")
    pixels, judge, temperature = given["pixels"], given["judge"], given["temperature"]
    if pixels != "benchmark" and not has_benchmarks:
        raise UserError(
            f"--pixels {pixels} has no effect without --benchmark; for other tasks use --set model.min_pixels=..."
        )
    if not has_benchmarks:
        refuse_unread("without --benchmark", "judge")
    if judge is None:
        refuse_unread("without --judge URL", "judge_model")
    if is_look(given["suite"]) and _benchmark_names(given):
        raise UserError("--suite look and --benchmark exclude each other; measure each in an evaluation of its own")
    served_or_none(given["model"], given["server"], given["server_model"])
    if given["samples"] > 1 and not temperature:
        raise UserError(f"--samples {given['samples']} at temperature 0 are all the same; add --temperature 0.7, say")
    if not given["resume"]:
        refuse_unread("without --resume, which goes on with an earlier run", "retry_failed")
    if given["greedy"] and temperature:
        raise UserError(f"--greedy and --temperature {temperature} exclude each other; give one of them")
    if given["env"] is not None:
        names = ("server", "protocols", "tools", "turns", "toolbox", "test_time", "probes", "reward")
        shown = {"protocols": "--protocol", "test_time": "--test-time", "probes": "--probe"}
        values: Mapping[str, object] = {**given}
        _check_played(
            {**{shown.get(name, f"--{name}"): values[name] for name in names}, "--samples": given["samples"] > 1}
        )


def _of_data(given: EvaluateOptions, *, has_videos: bool) -> str:
    """The first option that is given and read for rows of ``--data`` alone; empty where there is none."""
    if given["skip_bad_rows"]:
        return "--skip-bad-rows"
    names = ("split", "image_root", "answer_kind", "box_frame", "min_iou", *(() if has_videos else ("max_frames",)))
    values: Mapping[str, object] = {**given}
    return next((f"--{name.replace('_', '-')} {values[name]}" for name in names if values[name] is not None), "")


def _has_benchmarks(given: EvaluateOptions) -> bool:
    return bool(_benchmark_names(given) or given["suite"]) and not is_look(given["suite"])


def _measured_benchmarks(given: EvaluateOptions, context: "RecipeContext") -> "list[MeasuredBenchmark]":
    """The benchmarks whose files are there, read; the judge checked where one is given."""
    if not _has_benchmarks(given):
        return []
    from saccade.recipes.evaluation_benchmarks import check_judge, measured_benchmarks

    found = measured_benchmarks(
        _benchmark_names(given),
        given["benchmarks_dir"],
        context,
        suite=given["suite"],
        count=given["count"],
        prompt=given["prompt"],
        probes=given["probes"],
        pixels=given["pixels"],
        frames=given["max_frames"],
    )
    for one in found:
        if not all(row.has_answer for row in one.rows.values()):
            click.echo(f"saccade: {one.benchmark.title}: {one.file}", err=True)
    if given["judge"] is not None:
        check_judge([one.benchmark for one in found], given["judge"], given["judge_model"])
    return found


def _plan(
    given: EvaluateOptions,
    context: "RecipeContext",
    benchmarks: "Sequence[MeasuredBenchmark]",
    stages: dict[str, list[str]],
) -> "Plan":
    """The plan; ``stages`` is told the evaluations of each benchmark."""
    from saccade.protocols import read_toolbox
    from saccade.recipes.environment_play import environment_evaluation
    from saccade.recipes.evaluation import evaluation, view_words
    from saccade.recipes.evaluation_pixels import pixel_rule
    from saccade.recipes.evaluation_settings import ServedModel
    from saccade.rewards import OutcomeReward
    from saccade.rewards.reward import own_reward
    from saccade.train.plan import Evaluate

    temperature = given["temperature"] or 0.0
    if given["env"] is not None:
        return environment_evaluation(context, count=given["count"], temperature=temperature, allowed=given["allowed"])
    served = served_or_none(given["model"], given["server"], given["server_model"])
    plan = evaluation(
        context,
        family=given["family"],
        count=given["count"],
        temperature=temperature,
        protocols=given["protocols"],
        tools=_tools(given),
        turns=given["turns"],
        toolbox=None if given["toolbox"] is None else read_toolbox(given["toolbox"]),
        test_time=[view_words(text) for text in given["test_time"]],
        reward=OutcomeReward() if given["reward"] is None else own_reward(given["reward"]),
        server=None if served is None else ServedModel(url=served[0], name=served[1]),
        samples=given["samples"],
        probes=given["probes"],
        sets=[one.tasks for one in benchmarks] or look_sets(given["suite"], given["count"], context),
        pixels=pixel_rule(given["pixels"], [one.benchmark.pixels for one in benchmarks]),
        allowed=given["allowed"],
    )
    for stage in plan.stages:
        if isinstance(stage, Evaluate) and "benchmark" in stage.set_apart:
            stages.setdefault(stage.set_name, []).append(stage.name)
    return plan


def _identity(given: EvaluateOptions) -> dict[str, object]:
    """What shapes the run beside its settings: a run that is resumed must have the same."""
    from saccade.config.sources import recipe_source
    from saccade.own_code import own_file
    from saccade.protocols import read_toolbox
    from saccade.recipes.evaluation import view_words

    reward, toolbox = given["reward"], given["toolbox"]
    files = {f"{name}_sha256": own_file(name) for name in given["protocols"]}
    own_protocols = {name: recipe_source(name, file).sha256 for name, file in files.items() if file}
    served = served_or_none(given["model"], given["server"], given["server_model"])
    return {
        "family": given["family"],
        "reward": reward,
        **({} if reward is None else _reward_inputs(reward)),
        "n": given["count"],
        "temperature": given["temperature"],
        "protocol": ",".join(given["protocols"]) or None,
        **own_protocols,
        "tools": ",".join(_tools(given)) or None,
        "turns": given["turns"],
        **({} if toolbox is None else {"toolbox": json.dumps(read_toolbox(toolbox).to_json())}),
        "test_time": " ".join(",".join(view_words(text)) for text in given["test_time"]) or None,
        "server": None if served is None else " ".join(served),
        "samples": given["samples"] if given["samples"] > 1 else None,
        "probes": ",".join(given["probes"]) or None,
        "benchmarks": ",".join(_benchmark_names(given)) or None,
        "suite": given["suite"],
        "prompt": given["prompt"] if given["prompt"] != "saccade" else None,
        "allow": " ".join(sorted(given["allowed"])) or None,
        "pixels": given["pixels"] if given["pixels"] != "benchmark" else None,
    }


def _reward_inputs(name: str) -> dict[str, str]:
    from saccade.config.sources import offered_inputs, recipe_source
    from saccade.rewards.reward import offer_of_reward, own_reward, reward_file

    own_reward(name)
    if (offer := offer_of_reward(name)) is not None:
        return offered_inputs("reward", offer)
    return {"reward_sha256": recipe_source(name, reward_file(name)).sha256}


def _benchmarks_read(
    given: EvaluateOptions, benchmarks: "Sequence[MeasuredBenchmark]", stages: Mapping[str, Sequence[str]]
) -> str:
    """Every answer read by the rules, with the judge where one is given: in lines, and in the run's report."""
    from saccade.recipes.evaluation_benchmarks import benchmark_report
    from saccade.runs.runinfo import RunPaths
    from saccade.viewer.report import write_report

    out, judge = given["out"], given["judge"]
    told = benchmark_report(out, benchmarks, stages, given["suite"])
    if judge is not None:
        judged = {one.evaluation: one for one in ask_judge(out, given["benchmarks_dir"], judge, given["judge_model"])}
        told = benchmark_report(out, benchmarks, stages, given["suite"], judged)
    # Again: the first report was written before the benchmarks were read.
    write_report(RunPaths(root=out))
    return told


def _check_played(given: Mapping[str, object]) -> None:
    """UserError for options that say how questions are asked, which an environment does itself."""
    if named := [name for name, value in given.items() if value]:
        raise UserError(
            f"{', '.join(named)} and --env exclude each other: an environment asks its own questions. "
            "Leave them out; --set show.form=… says how actions are written"
        )
