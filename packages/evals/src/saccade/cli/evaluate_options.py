"""Options of ``saccade eval``, and their values by name."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from saccade.cli import options
from saccade.cli.options import PATH, Command
from saccade.cli.run_options import RunOptions

if TYPE_CHECKING:
    from saccade.evaluation.probes import ProbeName
    from saccade.recipes.evaluation_benchmarks import Prompts
    from saccade.recipes.evaluation_pixels import Pixels
    from saccade.types import AnswerKind

PROBES = ("blank", "other-image", "withheld-results", "shuffled", "cycled", "no-question")


class EvaluateOptions(RunOptions):
    """Values of the command's options, as click gives them."""

    model: Path | None
    server: str | None
    server_model: str | None
    data: Path | None
    env: str | None
    family: str | None
    benchmarks: tuple[str, ...]
    suite: str | None
    benchmarks_dir: Path
    prompt: "Prompts"
    pixels: "Pixels"
    judge: str | None
    judge_model: str | None
    count: int | None
    protocols: tuple[str, ...]
    tools: tuple[str, ...]
    allowed: tuple[str, ...]
    turns: int | None
    toolbox: Path | None
    test_time: tuple[str, ...]
    samples: int
    probes: "tuple[ProbeName, ...]"
    retry_failed: bool
    reuse: tuple[Path, ...]
    prices: Path | None
    reward: str | None
    greedy: bool
    temperature: float | None
    image_root: Path | None
    max_frames: int | None
    skip_bad_rows: bool
    answer_kind: "AnswerKind | None"
    box_frame: str | None
    min_iou: float | None
    split: str | None
    seed: int
    overrides: tuple[str, ...]


def evaluation_options(command: Command) -> Command:
    """The options of the command, but for those that every run has."""
    return options.together(*_OPTIONS)(command)


_OPTIONS = (
    click.option("--model", type=PATH, help="Checkpoint directory to measure."),
    click.option(
        "--server",
        metavar="URL",
        help="Or: a server with OpenAI's chat completions (vLLM, SGLang, a cloud), such as http://localhost:8000/v1.",
    ),
    options.server_model,
    options.data,
    click.option(
        "--env",
        metavar="gymnasium:ID|...",
        help="Or: an environment to play in, as `saccade train environment` names it (docs/environments.md).",
    ),
    options.family_option("Or: held-out tasks of a procedural family."),
    click.option(
        "--benchmark",
        "benchmarks",
        multiple=True,
        metavar="NAME[=shuffled|=cycles],...",
        help="Or: public benchmarks (`saccade benchmarks` lists them); =shuffled, =cycles reorder options. Repeatable.",
    ),
    click.option(
        "--suite",
        metavar="NAME",
        help="Or: a paper's benchmarks whose files are there (ivgr, codedance, ...), or look: 2,000 drawn questions.",
    ),
    click.option(
        "--benchmarks-dir",
        type=PATH,
        default=Path("benchmarks-data"),
        show_default=True,
        help="Folder of the benchmarks' files.",
    ),
    click.option(
        "--prompt",
        type=click.Choice(["saccade", "vlmevalkit"]),
        default="saccade",
        show_default=True,
        help="Prompt wording of a benchmark's questions.",
    ),
    click.option(
        "--pixels",
        type=click.Choice(["benchmark", "vlmevalkit"]),
        default="benchmark",
        show_default=True,
        help="Size of a benchmark's pictures: by its own rule, or as VLMEvalKit shows them to Qwen2-VL and Qwen2.5-VL.",
    ),
    click.option(
        "--judge",
        metavar="URL|DIR",
        help="With --benchmark: server or checkpoint directory of a judge, for rules that need one.",
    ),
    options.judge_model,
    click.option(
        "-n", "--n", "count", type=click.IntRange(min=1), help="Number of tasks, by default all (256 of --family)."
    ),
    click.option(
        "--protocol",
        "protocols",
        type=options.PROTOCOL,
        multiple=True,
        help="How questions are asked, one of these names or FILE.py:NAME; repeatable. By default the checkpoint's "
        "recorded protocol. Without a record it is asked with all image tools (tagged) and without (direct).",
    ),
    options.agent_tools,
    options.allow,
    click.option("--turns", type=click.IntRange(min=1), help="Override the number of turns of protocols with tools."),
    click.option(
        "--toolbox",
        type=PATH,
        metavar="FILE",
        help="Linguistic tools for the protocol toolchain, as `saccade curate tools` writes them; by default those "
        "that the checkpoint was trained with.",
    ),
    click.option(
        "--test-time",
        multiple=True,
        metavar="crops,union",
        help="A second look: boxes from a grounded pass, then a textual one on their crops, the crop around them all, "
        "or both. Repeatable.",
    ),
    click.option(
        "--samples",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Answers to each question, for avg@k, pass@k and maj@k; needs a --temperature above 0.",
    ),
    click.option(
        "--probe",
        "probes",
        type=click.Choice(PROBES),
        multiple=True,
        help="Also ask with something taken away: blank or other pictures, tool results withheld, options "
        "shuffled, cycled, or without the question. Repeatable.",
    ),
    click.option("--retry-failed", is_flag=True, help="With --resume: retry samples lost to machine failures."),
    click.option(
        "--reuse", type=PATH, multiple=True, metavar="RUN_DIR", help="Reuse its identical samples. Repeatable."
    ),
    click.option("--prices", type=PATH, metavar="FILE.toml", help="Prices of models, to report what was spent."),
    click.option("--reward", metavar="FILE.py:NAME|NAME", help="A reward of your own instead of right or wrong."),
    click.option("--greedy", is_flag=True, help="Always take the likeliest token; this is the default."),
    click.option("--temperature", type=click.FloatRange(min=0), help="Sample at this temperature instead."),
    options.image_root,
    options.max_frames,
    options.row_options,
    options.split,
    options.skip_bad_rows,
)
