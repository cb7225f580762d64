"""The recipe for pairs: of a file, and of a run's trajectories, from what lies there to a model that prefers."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli.entry import run_command
from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.recipes.dpo import dpo
from saccade.recipes.dpo_data import read_requested
from saccade.runs.position import Position
from saccade.runs.progress import Progress
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.train.run import run_plan
from saccade.train.stages import PreferenceStage
from saccade.types import (
    Answer,
    Attempt,
    Message,
    Score,
    Segment,
    Task,
    Term,
    Trajectory,
    TrajectoryPair,
    Turn,
)

QUESTION = "Which colour has the square?"
COLOURS = ("red", "blue", "green", "white")
FAST = ("dpo.steps=12", "dpo.batch_size=4", "dpo.optimizer.learning_rate=0.003", "dpo.warmup_steps=0")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    texts = [QUESTION, *(f"<think>seen</think><answer>{colour}</answer>" for colour in COLOURS)]
    size = TinySize(hidden=48, heads=2, kv_heads=1, mlp=96, vision_hidden=32, vision_mlp=48, view_px=32)
    tiny_model(texts * 9, MediaStore(), size=size, vocab_size=420).save(folder)
    return folder


def answer(colour: str) -> str:
    return f"<think>seen</think><answer>{colour}</answer>"


def picture(folder: Path, number: int) -> Path:
    image = Image.new("RGB", (64, 64), COLOURS[number % 4])
    image.putpixel((number, number), (9, 9, 9))
    image.save(path := folder / f"{number}.png")
    return path


def rows_of_pairs(folder: Path, count: int) -> list[dict[str, object]]:
    asked = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": QUESTION}]}]
    return [
        {
            "prompt": asked,
            "chosen": [{"role": "assistant", "content": answer(COLOURS[number % 4])}],
            "rejected": [{"role": "assistant", "content": answer(COLOURS[(number + 1) % 4])}],
            "images": [str(picture(folder, number))],
        }
        for number in range(count)
    ]


def written(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def metrics_of(run: Path, stage: str) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if row["stage"] == stage]


def test_pairs_of_a_file_and_questions_beside_them(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data, out = written(tmp_path / "pairs.jsonl", rows_of_pairs(tmp_path, 10)), tmp_path / "run"
    train = ["train", "dpo", "--data", str(data), "--model", str(model), "--out", str(out)]
    options = [word for one in (*FAST, "held_out_share=0.2") for word in ("--set", one)]
    assert run_command([*train, *options]) == 0
    assert f"{data}: 10 pairs" in caplog.text
    steps = metrics_of(out, "dpo")
    assert steps[-1]["rewards/margins"] > steps[0]["rewards/margins"] == 0.0
    assert steps[-1]["rewards/accuracies"] == 1.0
    assert steps[-1]["held_out/pairs"] == 2.0
    assert (out / "checkpoints/dpo-000012/model.safetensors").exists()
    assert run_command(["check-data", str(data), "--for", "dpo", "--model", str(model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "9 pairs to learn from, 1 held out" in lines
    assert sum(line.startswith("  >") for line in lines) == 2
    questions = [{"question": QUESTION, "answer": "red", "image": str(picture(tmp_path, 20))}]
    asked = replace(
        RecipeContext(data=data, model=model, held_out=written(tmp_path / "q.jsonl", questions)), overrides=FAST
    )
    assert [stage.name for stage in dpo(asked).stages] == [
        *("before_with_tools", "before_without_tools", "dpo", "after_dpo_with_tools", "after_dpo_without_tools")
    ]


def played(model: VisionLanguageModel, task: Task, colour: str, sample: int, **changes: object) -> Trajectory:
    prompt = model.chat.prompt([Message(role="user", parts=(*task.images, task.question))])
    text = answer(colour)
    said = model.chat.encode(text)
    is_right = colour == task.answer
    return replace(
        Trajectory(
            task_id=task.id,
            family=task.family,
            stream="main",
            sample=sample,
            seed=sample,
            policy_version=0,
            segments=(
                Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images),
                Segment(role="action", turn=0, ids=said, logprobs=(-1.0,) * len(said)),
            ),
            turns=(Turn(index=0, text=text, thought="seen", action=Answer(text=colour), is_well_formed=True),),
            status="answered",
            score=Score(terms=(Term("accuracy", float(is_right)),), is_right=is_right),
        ),
        **changes,
    )


def run_of(folder: Path, model: Path, *, colours: Sequence[str] = COLOURS, trained: bool = True) -> Path:
    """A run of six questions, each answered with these colours, and two more that it measured alone."""
    run, media = folder / "played", MediaStore()
    paths, loaded = RunPaths(root=run), load_model(model, media)
    tasks = [
        Task(
            id=f"t{number}",
            family="colours",
            question=QUESTION,
            answer=COLOURS[number % 4],
            answer_kind="exact",
            images=(media.add(Image.open(picture(folder, number))),),
        )
        for number in range(8)
    ]
    groups = [[played(loaded, task, colour, place) for place, colour in enumerate(colours)] for task in tasks]
    broken = played(loaded, tasks[0], "red", 4, status="failed", failure="the judge was down", score=None)
    groups[0].append(broken)
    attempts = [[Attempt(task=task, trajectory=one) for one in group] for task, group in zip(tasks, groups)]
    first = paths.trajectories(Position(stage="rl", step=1)) if trained else paths.evaluation("sampled")
    for path, chosen in ((first, attempts[:6]), (paths.evaluation("before"), [one[:1] for one in attempts[6:]])):
        records = [one for group in chosen for one in group]
        write_records(path, Position(stage="rl", step=1), records, media=media, media_directory=paths.media)
    paths.info.write_text("{}")
    paths.settings.write_text(json.dumps({"inputs": {"model": str(model)}}))
    return run


def test_pairs_of_a_run_better_against_worse_and_its_own_held_out_questions_before_and_after(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, out = run_of(tmp_path, model), tmp_path / "run"
    read = read_requested(RecipeContext(data=run))
    # Of four answers one is right: one pair of each group, and none of what the machine failed.
    assert read.model == model
    assert [pair.task.id for pair in read.learned] == [f"t{number}" for number in range(6)]
    assert all(pair.chosen.answer == pair.task.answer != pair.rejected.answer for pair in read.learned)
    assert [task.id for task in read.questions] == ["t6", "t7"]
    command = ["train", "dpo", "--data", str(run), "--out", str(out)]
    assert run_command([*command, *(word for one in FAST for word in ("--set", one))]) == 0
    assert "6 pairs of 6 groups with several trajectories" in caplog.text
    steps = metrics_of(out, "dpo")
    assert steps[-1]["rewards/margins"] > 0
    assert {path.stem for path in (out / "evaluations").glob("*.jsonl")} == {
        *("before_with_tools", "before_without_tools", "after_dpo_with_tools", "after_dpo_without_tools")
    }


def test_a_run_that_only_measured_gives_pairs_and_holds_a_share_of_its_questions_out(
    model: Path, tmp_path: Path
) -> None:
    run = run_of(tmp_path, model, trained=False)
    read = read_requested(RecipeContext(data=run, overrides=("held_out_share=0.25",)))
    # Of eight questions, of which six have a pair.
    assert len(read.questions) == 2
    assert len(read.learned) + len(read.held_out) == 6
    assert {pair.task.id for pair in read.held_out} <= {task.id for task in read.questions}
    assert len(dpo(RecipeContext(data=run)).stages) == 5
    shown = {image.hash for pair in read.learned for image in pair.task.images}
    assert shown.isdisjoint(image.hash for task in read.questions for image in task.images)
    everything = read_requested(RecipeContext(data=run, overrides=("held_out_share=0",)))
    assert (len(everything.learned), everything.questions) == (6, ())


def test_a_run_without_a_pair_or_of_another_model_is_refused_in_words(model: Path, tmp_path: Path) -> None:
    equal = run_of(tmp_path, model, colours=("purple", "pink"))
    with pytest.raises(UserError, match=r"none of its 6 groups gives a pair: 0 have one trajectory"):
        dpo(RecipeContext(data=equal))
    (other := tmp_path / "other").mkdir()
    run = run_of(other, model)
    foreign = tmp_path / "foreign"
    size = TinySize(hidden=48, heads=2, kv_heads=1, mlp=96, vision_hidden=32, vision_mlp=48, view_px=32)
    tiny_model(["Other words, other tokens."] * 9, MediaStore(), size=size, vocab_size=300).save(foreign)
    with pytest.raises(UserError, match="the trajectories are in other tokens than the model's"):
        dpo(RecipeContext(data=run, model=foreign))
    with pytest.raises(UserError, match=r"its pictures took \d+ tokens in a trajectory, and take \d+ now"):
        dpo(RecipeContext(data=run, overrides=("model.max_pixels=256", "model.min_pixels=64")))
    for file in (run / "media").glob("*.png"):
        file.unlink()
    with pytest.raises(UserError, match="is not in the folder media of its run"):
        dpo(RecipeContext(data=run))


def test_pairs_without_data_too_long_or_with_too_large_pictures_are_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--data PATH"):
        dpo(RecipeContext())
    data = written(tmp_path / "pairs.jsonl", rows_of_pairs(tmp_path, 4))
    with pytest.raises(UserError, match=r"1, 2, 3 and 4: takes \d+ tokens of max_tokens=9, and nothing is cut"):
        dpo(RecipeContext(data=data, model=model, overrides=("max_tokens=9",)))
    with pytest.raises(UserError, match=r"tokens of dpo\.optimizer\.micro_batch_tokens=3"):
        dpo(RecipeContext(data=data, model=model, overrides=("dpo.optimizer.micro_batch_tokens=3",)))
    same = written(tmp_path / "same.jsonl", [{"prompt": "?", "chosen": "red", "rejected": "red"}])
    with pytest.raises(UserError, match="nothing to prefer"):
        dpo(RecipeContext(data=same, model=model))


def test_an_adapter_learns_beside_weights_in_8_bits_and_all_weights_do_not(model: Path, tmp_path: Path) -> None:
    data, out = written(tmp_path / "pairs.jsonl", rows_of_pairs(tmp_path, 8)), tmp_path / "run"
    train = ["train", "dpo", "--data", str(data), "--model", str(model), "--set", "model.frozen_weights=int8"]
    options = [word for one in (*FAST, "dpo.optimizer.lora.rank=4") for word in ("--set", one)]
    assert run_command([*train, *options, "--out", str(out)]) == 0
    assert metrics_of(out, "dpo")[-1]["rewards/accuracies"] == 1.0
    assert (out / "checkpoints/dpo-000012/adapter_model.safetensors").exists()
    assert "in 8 bits" in (out / "log.txt").read_text()
    assert run_command([*train, "--out", str(tmp_path / "refused")]) == 2
    assert not (tmp_path / "refused").exists()


class Killed(BaseException):
    """What a process does not survive."""


def test_a_death_beside_weights_in_8_bits_changes_no_byte(model: Path, tmp_path: Path) -> None:
    data = written(tmp_path / "pairs.jsonl", rows_of_pairs(tmp_path, 8))
    own = ("model.frozen_weights=int8", "dpo.optimizer.lora.rank=4", "held_out_share=0", "dpo.checkpoint_every=2")

    def run(out: Path, *, die_at: int = -1, resume: bool = False) -> None:
        context = RecipeContext(data=data, model=model, overrides=(*FAST, *own, "dpo.steps=4"))
        plan = dpo(context)
        (stage,) = plan.stages
        assert isinstance(stage, PreferenceStage)
        source = stage.source

        def pair(index: int) -> TrajectoryPair:
            if index == die_at:
                raise Killed
            return source(index)

        dying = replace(plan, stages=(replace(stage, source=pair),))
        run_plan(dying, out=out, media=context.media, seed=0, resume=resume, progress=Progress("quiet"))

    def weights(out: Path) -> bytes:
        return (out / "checkpoints/dpo-000004/adapter_model.safetensors").read_bytes()

    run(tmp_path / "left_alone")
    with pytest.raises(Killed):
        run(tmp_path / "died", die_at=13)
    run(tmp_path / "died", resume=True)
    assert weights(tmp_path / "died") == weights(tmp_path / "left_alone")


def test_steps_are_those_that_the_epochs_need(model: Path, tmp_path: Path) -> None:
    data = written(tmp_path / "pairs.jsonl", rows_of_pairs(tmp_path, 10))
    overrides = ("epochs=3", "dpo.batch_size=4", "held_out_share=0.2")
    (stage,) = dpo(RecipeContext(data=data, model=model, overrides=overrides)).stages
    assert isinstance(stage, PreferenceStage)
    assert stage.settings.steps == 6
    assert len(stage.held_out) == 2
