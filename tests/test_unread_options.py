"""Options that one way of using a command does not read are refused: none is passed over in silence."""

from pathlib import Path

import pytest

from saccade.cli.entry import USER_ERROR, run_command

CASES = {
    "export RUN --to csv -n 9": "--n has no effect on --to csv of a run",
    "export RUN --to vlmevalkit --model mine": "--model has no effect on --to vlmevalkit of a run",
    "export --family shape_counts --to trl --as mine": "--as has no effect on --to trl of questions",
    "export --family shape_counts --to lmms-eval --test 9": "--test has no effect on --to lmms-eval of questions",
    "export --suite look --to folder --seed 1": "--seed has no effect on --to folder of questions",
    "view RUN --limit 9": "--limit has no effect without --export OUT.html",
    "view RUN --filter right=0": "--filter has no effect without --export OUT.html",
    "view RUN --export OUT --port 9": "--port has no effect with --export",
    "view RUN --export OUT --field id=uid": "--field has no effect with --export",
    "show RUN --id 1 --best 2": "--best has no effect with --id",
    "show RUN --best 2 --worst 5": "--worst has no effect with --best",
    "push RUN me/model --only-write OUT --private": "--private has no effect with --only-write",
    "report RUN --judge-model judge": "--judge-model has no effect without --judge",
    "report RUN --api-key-env KEY": "--api-key-env has no effect without --judge",
    "judge-agreement RUN --judge http://localhost:1 --second-model b": "--second-model has no effect without --second",
    "families --markdown --json": "--json has no effect with --markdown",
    "audit-family shape_counts --write-golden OUT --json": "--json has no effect with --write-golden",
    "mcp --port 8500": "--port has no effect without --http",
    "openenv --family shape_counts --skip-bad-rows": "--skip-bad-rows has no effect without --data",
    "openenv --data RUN --split held_out": "--split has no effect with --data",
    "tools --out OUT": "--out has no effect without the NAME of a tool",
    "tools zoom --out OUT": "--out has no effect without --image or --arguments",
    "retrieve RUN RUN --gold -k 5": "-k has no effect with --gold",
    "retrieve RUN RUN --distractors 2": "--distractors has no effect without --gold",
    "retrieve RUN RUN --split test": "--split has no effect without --data-set",
    "verifier hacks --skip-bad-rows": "--skip-bad-rows has no effect without --data",
    "settings --presets --model RUN": "--model has no effect with --presets",
    "check-data RUN --model RUN": "--model has no effect on --for questions",
    "eval --model RUN --family shape_counts --judge http://localhost:1": "--judge has no effect without --benchmark",
}


@pytest.mark.parametrize("command", CASES)
def test_an_option_that_is_not_read_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    run.mkdir()
    words = [{"RUN": str(run), "OUT": str(out)}.get(word, word) for word in command.split()]
    if words[0] in ("export", "retrieve", "eval"):
        words += ["--out", str(out)]
    assert run_command(words) == USER_ERROR
    assert CASES[command] in capsys.readouterr().err
    assert not out.exists()
