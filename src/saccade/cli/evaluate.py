"""``saccade eval``: measures a checkpoint, or a model behind a server."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli.benchmarks import ask_judge
from saccade.cli.measured import existing_run, keep_prices, show_figures
from saccade.cli.running import PATH, prepare_machine, run_options, start, task_context
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.config.context import RecipeContext
    from saccade.evaluation.probes import ProbeName
    from saccade.protocols.named import ProtocolName
    from saccade.recipes.evaluation_benchmarks import Prompts
    from saccade.recipes.evaluation_pixels import Pixels
    from saccade.train.plan import Plan

# Written out, since the help must not wait for the recipes to be imported.
PROTOCOLS = (
    "tagged",
    "direct",
    "code",
    "grounded",
    "textual",
    "grounded_with_crop",
    "pointed",
    "pointed_with_tools",
    "described",
    "toolchain",
    "vanilla",
    "structured",
    "tree_of_thoughts",
    "graph_of_thoughts",
    "evidence_first",
)
PROBES = ("blank", "other-image", "withheld-results", "shuffled", "cycled", "no-question")


@click.command("eval")
@click.option("--model", type=PATH, help="Checkpoint directory to measure.")
@click.option(
    "--server",
    metavar="URL",
    help="Or: a server that speaks OpenAI's chat completions (vLLM, SGLang, a cloud), as in http://localhost:8000/v1.",
)
@click.option("--server-model", metavar="NAME", help="The model's name at --server. The key is OPENAI_API_KEY's.")
@click.option("--data", type=PATH, help="Your own tasks: a file or a folder.")
@click.option(
    "--env",
    metavar="gymnasium:ID|...",
    help="Or: an environment to play in, as `saccade train environment` names it (docs/environments.md).",
)
@click.option("--family", metavar="NAME|FILE.py:NAME", help="Or: held-out tasks of a procedural family.")
@click.option(
    "--benchmark",
    "benchmarks",
    multiple=True,
    metavar="NAME[=shuffled|=cycles],...",
    help="Or: public benchmarks (`saccade benchmarks` lists them), with the options in another order. Repeatable.",
)
@click.option("--suite", metavar="NAME", help="Or: the benchmarks of a paper that are there: ivgr, codedance, ...")
@click.option(
    "--benchmarks-dir",
    type=PATH,
    default=Path("benchmarks-data"),
    show_default=True,
    help="Folder of the files of benchmarks.",
)
@click.option(
    "--prompt",
    type=click.Choice(["saccade", "vlmevalkit"]),
    default="saccade",
    show_default=True,
    help="Words in which a benchmark's questions are put.",
)
@click.option(
    "--pixels",
    type=click.Choice(["benchmark", "vlmevalkit"]),
    default="benchmark",
    show_default=True,
    help="Size of a benchmark's pictures: by its own rule, or as VLMEvalKit shows them to Qwen2-VL and Qwen2.5-VL.",
)
@click.option(
    "--judge",
    metavar="URL|DIR",
    help="After a benchmark: a server or checkpoint directory that is asked where a rule needs a judge.",
)
@click.option("--judge-model", metavar="NAME", help="The name of the judge at a server.")
@click.option(
    "-n", "--n", "count", type=click.IntRange(min=1), help="Number of tasks, by default all (256 of --family)."
)
@click.option(
    "--protocol",
    "protocols",
    type=click.Choice(PROTOCOLS),
    multiple=True,
    help="How questions are asked; repeatable. By default as the checkpoint's record says; one without a record is "
    "asked with all image tools (tagged) and without (direct).",
)
@click.option(
    "--tools",
    multiple=True,
    metavar="NAME,...|tools.toml|http://...",
    help="Other tools than the checkpoint was trained with: names (`saccade tools` lists them), a configuration, or a "
    "tool service. Repeatable.",
)
@click.option("--turns", type=click.IntRange(min=1), help="Another number of turns, of protocols with tools.")
@click.option(
    "--toolbox",
    type=PATH,
    metavar="FILE",
    help="Linguistic tools for the protocol toolchain, as `saccade curate tools` writes them; by default those that "
    "the checkpoint was trained with.",
)
@click.option(
    "--test-time",
    multiple=True,
    metavar="crops,union",
    help="A second look: boxes from a grounded pass, then a textual one on their crops, the crop around them all, or "
    "both. Repeatable.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Answers to each question, for avg@k, pass@k and maj@k; needs a --temperature above 0.",
)
@click.option(
    "--probe",
    "probes",
    type=click.Choice(PROBES),
    multiple=True,
    help="Also ask with something taken away: blank or other pictures, results of tools withheld, options shuffled, "
    "cycled, or without the question. Repeatable.",
)
@click.option("--retry-failed", is_flag=True, help="With --resume: play samples again that the machine failed.")
@click.option("--reuse", type=PATH, multiple=True, metavar="RUN_DIR", help="Take equal samples of a run. Repeatable.")
@click.option("--prices", type=PATH, metavar="FILE.toml", help="Prices of models, to say what was spent.")
@click.option("--reward", metavar="FILE.py:NAME", help="A reward of your own instead of right or wrong and the format.")
@click.option("--greedy", is_flag=True, help="Always the likeliest token; this is the default.")
@click.option("--temperature", type=click.FloatRange(min=0), help="Sample at this temperature instead.")
@click.option("--image-root", type=PATH, help="Folder in which relative image paths of --data begin.")
@click.option("--max-frames", type=click.IntRange(min=1), help="Frames shown of a video in --data, by default 32.")
@click.option("--skip-bad-rows", is_flag=True, help="Leave bad rows of --data out and say how many.")
@run_options(default_out=None)
def evaluate(
    model: Path | None,
    server: str | None,
    server_model: str | None,
    data: Path | None,
    env: str | None,
    family: str | None,
    benchmarks: tuple[str, ...],
    suite: str | None,
    benchmarks_dir: Path,
    prompt: "Prompts",
    pixels: "Pixels",
    judge: str | None,
    judge_model: str | None,
    count: int | None,
    protocols: "tuple[ProtocolName, ...]",
    tools: tuple[str, ...],
    turns: int | None,
    toolbox: Path | None,
    test_time: tuple[str, ...],
    samples: int,
    probes: "tuple[ProbeName, ...]",
    retry_failed: bool,
    reuse: tuple[Path, ...],
    prices: Path | None,
    reward: str | None,
    greedy: bool,
    temperature: float | None,
    image_root: Path | None,
    max_frames: int | None,
    skip_bad_rows: bool,
    out: Path,
    seed: int,
    overrides: tuple[str, ...],
    resume: bool,
    accepted: tuple[str, ...],
    threads: int | None,
    quiet: bool,
) -> None:
    """Measure a checkpoint, or a model behind a server, on your own tasks or on procedural ones."""
    named_benchmarks = [name.strip() for text in benchmarks for name in text.split(",")]
    if (data is not None) + (env is not None) + (family is not None) + bool(named_benchmarks or suite) != 1:
        raise UserError(
            "give one of --data PATH, --family NAME, --env NAME and --benchmark NAME (or --suite NAME), so that there "
            "is something to measure on"
        )
    if pixels != "benchmark" and not (named_benchmarks or suite):
        raise UserError(
            f"--pixels {pixels} has no effect without --benchmark; --set model.min_pixels=... is for others"
        )
    if judge is not None and not (named_benchmarks or suite):
        raise UserError(f"--judge {judge} has no effect without --benchmark")
    if judge_model is not None and judge is None:
        raise UserError(f"--judge-model {judge_model} has no effect without --judge URL")
    served = served_or_none(model, server, server_model)
    if samples > 1 and not temperature:
        raise UserError(f"--samples {samples} at temperature 0 are all the same; add --temperature 0.7, say")
    if retry_failed and not resume:
        raise UserError("--retry-failed has no effect without --resume, which goes on with an earlier run")
    if greedy and temperature:
        raise UserError(f"--greedy and --temperature {temperature} exclude each other; give one of them")
    threads = prepare_machine(threads)
    from saccade.config.sources import recipe_source
    from saccade.protocols import read_toolbox
    from saccade.recipes.environment_play import environment_evaluation
    from saccade.recipes.evaluation import ServedModel, evaluation, view_words
    from saccade.recipes.evaluation_benchmarks import benchmark_report, check_judge, measured_benchmarks
    from saccade.recipes.evaluation_pixels import pixel_rule
    from saccade.rewards import OutcomeReward
    from saccade.rewards.reward import own_reward, reward_file
    from saccade.train.plan import Evaluate
    from saccade.train.state import Keeping

    scored_by = OutcomeReward() if reward is None else own_reward(reward)

    named = None if toolbox is None else read_toolbox(toolbox)
    looks = [view_words(text) for text in test_time]
    given = [name.strip() for text in tools for name in text.split(",")]
    context = task_context(
        data=data,
        model=model,
        overrides=overrides,
        seed=seed,
        skip_bad_rows=skip_bad_rows,
        image_root=image_root,
        max_frames=max_frames,
        env=env,
    )
    if env is not None:
        _check_played(
            {"--server": server, "--protocol": protocols, "--tools": tools, "--turns": turns, "--toolbox": toolbox}
            | {"--test-time": test_time, "--probe": probes, "--reward": reward, "--samples": samples > 1}
        )

    measured_sets = (
        measured_benchmarks(
            named_benchmarks,
            benchmarks_dir,
            context,
            suite=suite,
            count=count,
            prompt=prompt,
            probes=probes,
            pixels=pixels,
        )
        if named_benchmarks or suite
        else []
    )
    if judge is not None:
        check_judge([one.benchmark for one in measured_sets], judge, judge_model)
    stages: dict[str, list[str]] = {}

    def recipe(context: "RecipeContext") -> "Plan":
        if env is not None:
            return environment_evaluation(context, count=count, temperature=temperature or 0.0)
        plan = evaluation(
            context,
            family=family,
            count=count,
            temperature=temperature or 0.0,
            protocols=protocols,
            tools=given,
            turns=turns,
            toolbox=named,
            test_time=looks,
            reward=scored_by,
            server=None if served is None else ServedModel(url=served[0], name=served[1]),
            samples=samples,
            probes=probes,
            sets=[one.tasks for one in measured_sets],
            pixels=pixel_rule(pixels, [one.benchmark.pixels for one in measured_sets]),
        )
        for stage in plan.stages:
            if isinstance(stage, Evaluate) and "benchmark" in stage.set_apart:
                stages.setdefault(stage.set_name, []).append(stage.name)
        return plan

    measured = {
        "family": family,
        "reward": reward,
        "reward_sha256": None if reward is None else recipe_source(reward, reward_file(reward)).sha256,
        "n": count,
        "temperature": temperature,
        "protocol": ",".join(protocols) or None,
        "tools": ",".join(given) or None,
        "turns": turns,
        **({} if named is None else {"toolbox": json.dumps(named.to_json())}),
        "test_time": " ".join(",".join(words) for words in looks) or None,
        "server": None if served is None else " ".join(served),
        "samples": samples if samples > 1 else None,
        "probes": ",".join(probes) or None,
        "benchmarks": ",".join(named_benchmarks) or None,
        "suite": suite,
        "prompt": prompt if prompt != "saccade" else None,
        "pixels": pixels if pixels != "benchmark" else None,
    }
    start(
        recipe,
        context,
        out=out,
        resume=resume,
        accepted=accepted,
        threads=threads,
        quiet=quiet,
        measured=measured,
        keeping=Keeping(retry_failed=retry_failed, reuse=tuple(existing_run(one) for one in reuse)),
    )
    show_figures(out, prices)
    if prices is not None:
        keep_prices(out, prices)
    if measured_sets:
        report = benchmark_report(out, measured_sets, stages, suite)
        if judge is not None:
            found = ask_judge(out, benchmarks_dir, judge, judge_model)
            judged = {one.evaluation: one.readings for one in found}
            report = benchmark_report(out, measured_sets, stages, suite, judged)
        click.echo(report)


def served_or_none(model: Path | None, server: str | None, name: str | None) -> tuple[str, str] | None:
    """Address and name of the server's model; None for a checkpoint."""
    if (model is None) == (server is None):
        raise UserError("give either --model DIR, a checkpoint, or --server URL with --server-model NAME")
    if server is None:
        if name is not None:
            raise UserError(f"--server-model {name} has no effect without --server URL")
        return None
    if not server.startswith(("http://", "https://")):
        raise UserError(f"--server {server} is no address; it looks like http://localhost:8000/v1")
    if not name:
        raise UserError(f"--server {server} needs --server-model NAME, one of those that {server}/models lists")
    return server, name


def _check_played(given: Mapping[str, object]) -> None:
    """UserError for options that say how questions are asked, which an environment does itself."""
    if named := [name for name, value in given.items() if value]:
        raise UserError(
            f"{', '.join(named)} and --env exclude each other: an environment asks itself; --set show.form=… says how "
            "actions are written"
        )
