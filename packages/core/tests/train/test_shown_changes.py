"""Episodes that are shown before questions are an input of a run: those that have changed are noticed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_run_stages import LOOKING, Witness

from saccade.errors import UserError
from saccade.rollout.episodes import RolloutSettings
from saccade.train.plan import Plan


def written(file: Path, answer: str) -> None:
    said = [("user", "Which colour?"), ("assistant", f"<think>I look.</think><answer>{answer}</answer>")]
    messages = [{"role": role, "content": text} for role, text in said]
    file.write_text(json.dumps({"messages": messages}) + "\n")


def plan_that_shows(witness: Witness, file: Path) -> Plan:
    rollout = RolloutSettings(max_turn_tokens=12, max_tokens=2000, few_shot=1, few_shot_file=str(file))
    return witness.plan_of(replace(witness.evaluation("only"), episodes=replace(LOOKING, rollout=rollout)))


def test_a_run_is_not_resumed_with_other_episodes_and_its_samples_name_them(tmp_path: Path) -> None:
    file, out, witness = tmp_path / "shown.jsonl", tmp_path / "run", Witness()
    written(file, "red")
    witness.run(out, plan_that_shows(witness, file))
    shown = json.loads((out / "settings.json").read_text())["inputs"]["few_shot_sha256"]
    header = json.loads((out / "samples" / "only.jsonl").read_text().splitlines()[0])
    assert header["asked"]["few_shot_sha256"] == shown
    again = Witness()
    again.run(out, plan_that_shows(again, file), resume=True)
    written(file, "blue")
    other = Witness()
    with pytest.raises(UserError, match=r"(?s)inputs\.few_shot_sha256: .*--accept-change inputs\.few_shot_sha256"):
        other.run(out, plan_that_shows(other, file), resume=True)
