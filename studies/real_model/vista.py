"""VISTA-R1's imitation and reinforcement on a real model with tools for charts, triangles and tables.

A seed's reinforcement starts from its imitation, at the rate of ``vista.yaml`` or five times faster without a warm-up.
Named before the first run: right answers among the held-out questions after ten steps, paired by question with the
imitation's, each seed by itself. Interrupted runs go on where they were.

python -m studies.real_model.tooled --out tooled
python -m studies.real_model.vista --start coder05 --data tooled --seeds 0 1 --out runs/vista
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from studies.claims.paired import paired_change
from studies.real_model.rewards import row_of
from studies.seed_runs import (
    Row,
    Variants,
    arguments_of,
    directory_of,
    imitation_of,
    run_all,
    train,
    write_results,
)

BASE = "imitation"
VARIANTS: Variants = {
    BASE: ('stages=["sft"]',),
    "rl": ('stages=["rl"]',),
    "rl, fast": ('stages=["rl"]', "rl.optimizer.learning_rate=5e-5", "rl.warmup_steps=0"),
}
CONFIG = Path(__file__).with_name("vista.yaml")


def main() -> None:
    needed = {"--start": "The checkpoint that learns.", "--data": "What studies.real_model.tooled wrote."}
    arguments = arguments_of(__doc__, VARIANTS, shown=[BASE, "rl"], out=Path("runs/vista"), needed=needed)
    rows = run_all(partial(run, model=arguments.start, data=arguments.data), arguments, VARIANTS, base=BASE)
    print("\n".join(map(line_of, rows)))
    if arguments.json:
        write_results(arguments.json, rows)


def run(variant: str, seed: int, out: Path, threads: int, settings: Sequence[str], *, model: Path, data: Path) -> Row:
    """One run as a row of the results."""
    directory = directory_of(variant, seed, out)
    start = model if variant == BASE else imitation_of(directory_of(BASE, seed, out))
    options = ["--config", str(CONFIG), "--data", str(data / "train.jsonl")]
    options += ["--held-out", str(data / "held_out.jsonl")]
    settings = [*settings, f"tools={data / 'tools.toml'}", f"sft_data={data / 'examples.jsonl'}"]
    report = train("vista_r1", seed, directory, settings, threads=threads, start=start, options=options)
    names = "wall_s", "stages", "comparisons"
    return {name: report[name] for name in names} if variant == BASE else row_of(directory, report)


def line_of(row: Row) -> str:
    """A line: what was right at the end, and of reinforcement its change in points, paired by question."""
    line = f"{row['variant']}, seed {row['seed']}: {row['stages'][-1]['accuracy']:.1%}"
    if row["variant"] == BASE:
        return line
    pairs = zip(row["right"]["before"], row["right"]["after_rl"], strict=True)
    change = paired_change([100.0 * (int(after) - int(before)) for before, after in pairs])
    return f"{line}, {change.mean:+.1f} points over the imitation ({change.low:+.1f} to {change.high:+.1f})"


if __name__ == "__main__":
    main()
