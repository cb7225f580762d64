"""Questions for other trainers: their columns, and a verifier that says what our own environment says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from click.testing import CliRunner
from datasets import load_dataset

from saccade.cli.commands import saccade
from saccade.envs import VisualReasoningEnv
from saccade.errors import UserError
from saccade.interop.exports.bundle import bundle_name, write_bundle
from saccade.interop.exports.dataset import write_dataset
from saccade.interop.exports.packages import write_gymnasium, write_verifiers
from saccade.interop.exports.questions import ExportedQuestions, draw_questions, placeholder_text
from saccade.interop.exports.trainers import write_easyr1, write_trl, write_verl
from saccade.interop.exports.verifier import ground_truth_of, score, verdict
from saccade.media import MediaStore
from saccade.protocols import direct_protocol
from saccade.types import Message, Task

FAMILIES = ("visual_search", "counting", "chart_bars", "document_text", "shape_counts/parity")
RULES = "<think>a look</think><answer>{}</answer>"


@pytest.fixture(scope="module")
def questions() -> ExportedQuestions:
    return draw_questions("visual_search", train=3, test=2)


def replies(answer: str) -> list[str]:
    """What a policy may write to be paid for a wrong answer, or to break the reader."""
    right, wrong = RULES.format(answer), RULES.format("none of these")
    return [
        right,
        wrong,
        answer,
        f"<answer>{answer}</answer>",
        f"**{answer}**",
        RULES.format(f"The answer is {answer}."),
        RULES.format(answer.upper()),
        RULES.format(f" {answer}. "),
        right + wrong,
        wrong + right,
        f"<answer>{right}</answer>",
        f"<answer><answer>{answer}</answer></answer>",
        f"<answer>{answer}",
        f"</answer>{answer}<answer>",
        f"<tool_call>{right}</tool_call>",
        f'<tool_call>{{"name": "crop", "arguments": {{}}}}</tool_call>{right}',
        f"<tool_response>{answer}</tool_response>{right}",
        f"<think>{right}</think>",
        f"<|im_start|>assistant {right}",
        RULES.format(" ".join([answer] * 3000)),
        RULES.format(answer + " or another"),
        RULES.format(answer + "\0"),
        "<answer>" * 20_000 + answer,
        "x" * 300_000 + right,
        RULES.format("\ud800"),
        RULES.format("９９"),
        "",
    ]


def ours(task: Task, media: MediaStore, reply: str) -> float:
    """The reward of our own environment, without tools, for this one turn."""
    env = VisualReasoningEnv(tasks=[task], media=media, protocol=direct_protocol(), tools=(), max_turns=2)
    env.reset()
    reward = float(env.step(reply)[1])
    env.close()
    return reward


@pytest.mark.parametrize("family", FAMILIES)
def test_the_verifier_pays_what_our_environment_pays_for_honest_and_hostile_replies(family: str) -> None:
    found = draw_questions(family, train=1, test=2)
    for task in found.splits["test"]:
        truth = ground_truth_of(task)
        expected = [ours(task, found.media, reply) for reply in replies(task.answer)]
        assert [score(reply, truth) for reply in replies(task.answer)] == expected
        assert expected[0] == 1.0
        assert expected[1] == 0.0
        assert 0.0 in expected[8:18]


def test_a_reply_may_be_messages_and_only_the_assistants_last_one_counts(questions: ExportedQuestions) -> None:
    task = questions.splits["train"][0]
    truth, right = ground_truth_of(task), RULES.format(task.answer)
    said = {"role": "assistant", "content": right}
    assert score([said], truth) == 1.0
    assert score([{"role": "assistant", "content": [{"type": "text", "text": right}]}], truth) == 1.0
    assert score([said, {"role": "user", "content": "hm"}], truth) == 0.0
    assert score([], truth) == score(None, truth) == score({"role": "assistant", "content": None}, truth) == 0.0
    assert verdict(right, truth).is_well_formed
    with pytest.raises(UserError, match="none of an export"):
        score(right, "rows")


def test_the_bundle_runs_without_saccade_and_says_the_same(tmp_path: Path, questions: ExportedQuestions) -> None:
    task = questions.splits["train"][0]
    name = write_bundle(tmp_path)
    given = tmp_path / "given.json"
    given.write_text(json.dumps([replies(task.answer), ground_truth_of(task)]))
    program = (
        f"import json, sys\nfrom {name} import score\nsaid, truth = json.load(open(sys.argv[1]))\n"
        "print(json.dumps([score(one, truth) for one in said]))\n"
        "assert not [one for one in sys.modules if one.split('.')[0] in ('saccade', 'torch', 'PIL')], sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program, given],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [score(reply, ground_truth_of(task)) for reply in replies(task.answer)]
    assert name == bundle_name()


def test_datasets_reads_the_columns_that_each_trainer_asks_for(tmp_path: Path, questions: ExportedQuestions) -> None:
    write_verl(questions, tmp_path / "verl")
    write_easyr1(questions, tmp_path / "easyr1")
    write_trl(questions, tmp_path / "trl")
    rows = {
        form: load_dataset(
            "parquet",
            data_files=str(tmp_path / form / "train.parquet"),
            split="train",
            cache_dir=str(tmp_path / "cache"),
        )
        for form in ("verl", "easyr1", "trl")
    }
    task = questions.splits["train"][0]
    for found in rows.values():
        assert len(found) == 3
        assert found[0]["images"][0].size == (task.images[0].width, task.images[0].height)
    verl, easyr1, trl = (rows[form][0] for form in ("verl", "easyr1", "trl"))
    assert list(verl) == ["data_source", "prompt", "ability", "reward_model", "extra_info", "images"]
    assert verl["reward_model"] == {"style": "rule", "ground_truth": ground_truth_of(task)}
    assert verl["prompt"][1]["content"].count("<image>") == easyr1["problem"].count("<image>") == 1
    assert easyr1["answer"] == trl["ground_truth"] == ground_truth_of(task)
    assert [part["type"] for part in trl["prompt"][1]["content"]] == ["text", "image", "text"]
    assert task.question in easyr1["problem"]
    assert all(task.answer not in verl["prompt"][0]["content"] for task in questions.splits["train"])


@pytest.mark.parametrize("form", ["verl", "easyr1", "trl"])
def test_reward_functions_are_found_by_their_file_and_pay_alike(
    tmp_path: Path, questions: ExportedQuestions, form: str
) -> None:
    write = {"verl": write_verl, "easyr1": write_easyr1}
    if form == "trl":
        write_trl(questions, tmp_path)
    else:
        write[form](questions, tmp_path)
    names: dict[str, object] = {"__file__": str(tmp_path / "reward.py"), "__name__": "reward"}
    before = list(sys.path)
    exec(compile((tmp_path / "reward.py").read_text(), "reward.py", "exec"), names)
    sys.path[:] = before
    task = questions.splits["train"][0]
    truth, said = ground_truth_of(task), [RULES.format(task.answer), "nothing"]
    if form == "verl":
        found = [names["compute_score"]("s", one, truth, {})["score"] for one in said]  # type: ignore[operator]
    elif form == "easyr1":
        given = [{"response": one, "response_length": 3, "ground_truth": truth} for one in said]
        found = [one["overall"] for one in names["compute_score"](given)]  # type: ignore[operator]
    else:
        found = names["answer_reward"](completions=said, ground_truth=[truth] * 2, prompts=None)  # type: ignore[operator]
    assert found == [1.0, 0.0]


def test_a_data_set_has_a_card_and_its_rows_hold_their_evidence(tmp_path: Path, questions: ExportedQuestions) -> None:
    write_dataset(questions, tmp_path / "set")
    rows = load_dataset(str(tmp_path / "set"), cache_dir=str(tmp_path / "cache"))
    task = questions.splits["test"][0]
    row = rows["test"][0]
    assert (row["question"], row["answer"]) == (task.question, task.answer)
    assert row["regions"][0]["box"] == [task.targets[0].box.x1, *row["regions"][0]["box"][1:]]
    card = (tmp_path / "set" / "README.md").read_text()
    assert card.startswith("---\nlicense: apache-2.0\n")
    assert questions.content_hash() in card


def test_the_same_settings_give_the_same_hash_and_others_another(questions: ExportedQuestions) -> None:
    assert draw_questions("visual_search", train=3, test=2).content_hash() == questions.content_hash()
    assert draw_questions("visual_search", train=3, test=2, seed=1).content_hash() != questions.content_hash()


def test_no_picture_is_in_both_splits(questions: ExportedQuestions) -> None:
    train, test = ({task.images[0].hash for task in questions.splits[split]} for split in ("train", "test"))
    assert not train & test


def test_a_question_that_names_a_placeholder_is_refused() -> None:
    with pytest.raises(UserError, match="place of a picture"):
        placeholder_text(Message(role="user", parts=("What does <image> mean?",)))


def test_gymnasium_makes_the_registered_environment_of_a_family_of_the_users_own(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from saccade.gym.drawn.counting import draw_counting\n\n"
        "def draw_beans(rng, difficulty):\n    return draw_counting(rng, difficulty)\n"
    )
    folder = tmp_path / "out"
    write_gymnasium(draw_questions(f"{own}:draw_beans", train=1, test=1), folder)
    own.unlink()
    sys.path.insert(0, str(folder))
    env = gymnasium.make("saccade_beans:saccade/beans-v0", max_turns=2)
    sys.path.remove(str(folder))
    observation, _ = env.reset(seed=0)
    assert len(observation["images"]) == 1
    env.close()


def test_the_package_for_verifiers_is_valid_python_with_its_data(tmp_path: Path, questions: ExportedQuestions) -> None:
    write_verifiers(questions, tmp_path)
    module = tmp_path / "saccade_visual_search"
    compile((module / "__init__.py").read_text(), "module", "exec")
    rows = [json.loads(line) for line in (module / "data" / "train.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [task.id for task in questions.splits["train"]]
    assert [part for part in rows[0]["user"] if not isinstance(part, str)] == [0]
    assert all((module / "data" / name).is_file() for row in rows for name in row["images"])
    assert (module / bundle_name() / "__init__.py").is_file()
    assert f"saccade_visual_search.{bundle_name()}" in (module / "__init__.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--family", "visual_serach", "--to", "verl"], "no task family"),
        (["--family", "visual_search", "--to", "inspect"], "questions are exported to"),
        (["somewhere", "--to", "verl"], "give --family NAME instead"),
        (["--family", "visual_search", "--to", "verl", "--difficulty", "0.5", "--out", "FULL"], "no export of Saccade"),
    ],
)
def test_mistakes_are_told_before_anything_is_drawn(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    out = ["--out", str(tmp_path / "out")] if "--out" not in arguments else []
    given = [str(tmp_path / "full") if one == "FULL" else one for one in arguments]
    done = CliRunner().invoke(saccade, ["export", *given, *out])
    assert done.exit_code != 0
    assert said in done.output + str(done.exception)


def test_the_command_writes_and_overwrites_its_own_folder(tmp_path: Path) -> None:
    command = [
        "export",
        "--family",
        "counting",
        "-n",
        "1",
        "--test",
        "1",
        "--to",
        "dataset",
        "--out",
        str(tmp_path / "x"),
    ]
    for _ in range(2):
        done = CliRunner().invoke(saccade, command)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "x" / "data" / "test.parquet").is_file()
