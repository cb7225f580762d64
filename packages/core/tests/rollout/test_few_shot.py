"""Episodes shown before each question: the very tokens of an episode, and never the question's own."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.code import code_protocol
from saccade.protocols.code_words import PYTHON_TOOL
from saccade.protocols.few_shot import with_few_shot
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.rollout.batch import rollout_batch
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest, RolloutSettings, shown_inputs
from saccade.rollout.shown_episodes import shown_episodes
from saccade.rollout.trajectory import demonstrate
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.tools.images import IMAGE_TOOLS
from saccade.types import Attempt, Message, Task, ToolSpec, Trajectory

PLAYED = RolloutSettings(max_turn_tokens=8, max_tokens=4000)


@pytest.fixture(scope="module", params=["qwen3_vl", "qwen2_5_vl", "internvl"])
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    return tiny_model(["Which colour has the square?"] * 9, MediaStore(), family=request.param)


def spec(model: VisionLanguageModel, **rollout: object) -> EpisodeSpec:
    return EpisodeSpec(protocol=tagged_protocol(), tools=IMAGE_TOOLS, rollout=replace(PLAYED, **rollout))  # type: ignore[arg-type]


def demonstration(model: VisionLanguageModel, index: int) -> Trajectory:
    example = tiny_example(model.media, index)
    return demonstrate(example, env=spec(model).environment(model.media, model.view), chat=model.chat)


def recorded(model: VisionLanguageModel, folder: Path, attempts: Sequence[Attempt]) -> str:
    """A run with these trajectories, in the file that is given."""
    (folder / "run.json").write_text("{}")
    path = folder / "trajectories" / "rl" / "step-000001.jsonl"
    position = Position(stage="rl", step=1)
    write_records(path, position, attempts, media=model.media, media_directory=folder / "media")
    return str(path)


def attempts_of(model: VisionLanguageModel, *indices: int) -> list[Attempt]:
    return [Attempt(task=tiny_example(model.media, one).task, trajectory=demonstration(model, one)) for one in indices]


def prompt_of(model: VisionLanguageModel, task: Task, media: MediaStore, **rollout: object) -> tuple[Message, ...]:
    env = spec(model, **rollout).environment(media, model.view)
    env.reset(options={"task": task})
    return env.prompt


def test_a_recorded_episode_is_shown_by_the_tokens_that_it_was_and_the_question_follows(
    model: VisionLanguageModel, tmp_path: Path
) -> None:
    file = recorded(model, tmp_path, attempts_of(model, 0, 1, 2))
    asked, media = tiny_example(model.media, 7).task, MediaStore()
    media.add(model.media.get(asked.images[0]))
    shown = model.chat.conversation(prompt_of(model, asked, media, few_shot=2, few_shot_file=file))
    first, second = demonstration(model, 0), demonstration(model, 1)
    assert shown.ids[: len(first.ids)] == first.ids
    assert shown.images == (*first.images, *second.images, *asked.images)
    later = [token for one in second.segments[1:] for token in one.ids]
    ends = [
        place + len(later) for place in range(len(shown.ids)) if list(shown.ids[place : place + len(later)]) == later
    ]
    question = model.chat.prompt(prompt_of(model, asked, media)).ids
    assert len(ends) == 1
    # After the last shown turn the template goes on as after any other.
    last = model.chat.decode(shown.ids[ends[0] :]).lstrip("\n")
    assert model.chat.decode(question).endswith(last)
    # The pictures came out of the run's own folder.
    assert all(image.hash in media for image in shown.images)


def test_only_right_and_well_formed_trajectories_are_shown_each_question_once(
    model: VisionLanguageModel, tmp_path: Path
) -> None:
    good = attempts_of(model, 0, 0, 1)
    wrong = replace(good[0], task=replace(good[0].task, id="wrong", answer="blue"))
    loose = replace(good[2].trajectory.turns[0], is_well_formed=False)
    turns = (loose, *good[2].trajectory.turns[1:])
    untidy = Attempt(
        task=replace(good[2].task, id="untidy"), trajectory=replace(good[2].trajectory, task_id="untidy", turns=turns)
    )
    wrong = replace(wrong, trajectory=replace(wrong.trajectory, task_id="wrong"))
    file = recorded(model, tmp_path, [wrong, untidy, *good])
    assert [one.task.id for one in shown_episodes(file, 2, MediaStore())] == ["tiny/000000", "tiny/000001"]
    with pytest.raises(UserError, match=r"holds 2 episodes that can be shown; lower rollout\.few_shot=3"):
        shown_episodes(file, 3, MediaStore())


def test_a_question_is_never_shown_its_own_episode(model: VisionLanguageModel, tmp_path: Path) -> None:
    file = recorded(model, tmp_path, attempts_of(model, 0, 1))
    for asked, shown in ((0, 1), (1, 0), (2, 0)):
        task = tiny_example(model.media, asked).task
        prompt = prompt_of(model, task, model.media, few_shot=1, few_shot_file=file)
        assert [one.parts[-1] for one in prompt if one.role == "assistant"] == [
            turn.text for turn in demonstration(model, shown).turns
        ]


def test_without_shown_episodes_nothing_changes_and_plain_prompts_are_the_template_s(
    model: VisionLanguageModel,
) -> None:
    task = tiny_example(model.media).task
    prompt = prompt_of(model, task, model.media)
    assert [one.role for one in prompt] == ["system", "user"]
    assert model.chat.conversation(prompt) == model.chat.prompt(prompt)


def test_shown_episodes_count_in_the_budget_and_an_expert_and_a_policy_play_after_them(
    model: VisionLanguageModel, tmp_path: Path
) -> None:
    file = recorded(model, tmp_path, attempts_of(model, 0, 1))
    task = tiny_example(model.media, 5)
    shown = spec(model, few_shot=2, few_shot_file=file)
    played = demonstrate(task, env=shown.environment(model.media, model.view), chat=model.chat)
    bare = demonstrate(task, env=spec(model).environment(model.media, model.view), chat=model.chat)
    assert [one.ids for one in played.segments[1:]] == [one.ids for one in bare.segments[1:]]
    length = len(played.segments[0].ids)
    for limit, status in ((length, "failed"), (length + 4, "token_limit")):
        rollout = replace(shown.rollout, max_tokens=limit)
        [one] = rollout_batch(
            [RolloutRequest(task=task.task, stream="main", sample=0, seed=1)],
            engine=LocalEngine(model),
            chat=model.chat,
            make_env=lambda: shown.environment(model.media, model.view),
            settings=rollout,
        )
        assert one.status == status
        assert "fewer than few_shot=2" in one.failure or status != "failed"


def written(path: Path, *conversations: Sequence[tuple[str, str]]) -> str:
    rows = [{"messages": [{"role": role, "content": text} for role, text in one]} for one in conversations]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


CODE = "<think>I count.</think><code>\n```python\nprint(1)\n```\n</code>"
COUNTED = [
    ("user", "How many?"),
    ("assistant", CODE),
    ("tool", "1 <answer>2</answer>"),
    ("assistant", "<think>So.</think><answer>1</answer>"),
]
ASKED = Task(id="t", family="t", question="How many now?", answer="3", answer_kind="integer", images=())
PYTHON = ToolSpec(name=PYTHON_TOOL, description="Runs Python.", parameters={})


def test_a_conversation_is_shown_with_its_results_as_the_protocol_observes_them(tmp_path: Path) -> None:
    episodes = shown_episodes(written(tmp_path / "shown.jsonl", COUNTED), 1, MediaStore())
    prompt = with_few_shot(code_protocol(), episodes, 1).prompt(ASKED, (PYTHON,), TINY_VIEW)
    assert prompt[1:] == (
        Message(role="user", parts=("How many?",)),
        Message(role="assistant", parts=(CODE,)),
        Message(role="tool", parts=("The code ran. Output:\n1 < answer>2< /answer>",)),
        Message(role="assistant", parts=("<think>So.</think><answer>1</answer>",)),
        Message(role="user", parts=("How many now?",)),
    )
    assert prompt[0].role == "system"


@pytest.mark.parametrize(
    ("conversation", "why"),
    [
        ([("user", "?"), ("assistant", "It is 1.")], "turn 1 does not follow the protocol code: the turn does nothing"),
        ([("user", "?"), ("assistant", CODE)], "ends without an answer"),
        ([*COUNTED, ("user", "And?"), ("assistant", CODE)], "goes on after its answer"),
        ([("user", "?"), ("user", "!"), ("assistant", CODE)], "must be a question, and then turns"),
    ],
)
def test_a_conversation_that_is_no_episode_of_the_protocol_says_where(
    tmp_path: Path, conversation: Sequence[tuple[str, str]], why: str
) -> None:
    file = written(tmp_path / "shown.jsonl", conversation)
    with pytest.raises(UserError, match=rf"shown\.jsonl, conversation 1: .*{why}"):
        with_few_shot(code_protocol(), shown_episodes(file, 1, MediaStore()), 1).prompt(ASKED, (PYTHON,), TINY_VIEW)


def test_an_episode_of_another_protocol_is_not_shown(tmp_path: Path) -> None:
    episodes = shown_episodes(written(tmp_path / "shown.jsonl", COUNTED), 1, MediaStore())
    with pytest.raises(UserError, match="does not follow the protocol direct"):
        with_few_shot(direct_protocol(), episodes, 1).prompt(ASKED, (), TINY_VIEW)


def test_a_number_without_a_file_and_a_file_without_a_number_are_refused() -> None:
    with pytest.raises(UserError, match="name it with rollout"):
        shown_episodes("", 2, MediaStore())
    with pytest.raises(UserError, match="few_shot=0 shows nothing"):
        RolloutSettings(few_shot_file="shown.jsonl")


def test_a_run_knows_the_episodes_that_it_shows_by_what_they_say(tmp_path: Path) -> None:
    def shown(*conversations: Sequence[tuple[str, str]]) -> dict[str, str]:
        path = tmp_path / f"shown{len(list(tmp_path.iterdir()))}.jsonl"
        file = written(path, *conversations)
        return shown_inputs([RolloutSettings(few_shot=1, few_shot_file=file)], MediaStore())

    other = [*COUNTED[:-1], ("assistant", "<think>So.</think><answer>2</answer>")]
    assert shown(COUNTED).keys() == {"few_shot_sha256"}
    # One more than are shown is read, in place of one whose question is asked.
    assert shown(COUNTED, COUNTED, COUNTED) == shown(COUNTED, COUNTED, other)
    assert shown(COUNTED, COUNTED) != shown(COUNTED, other) != shown(other, COUNTED)
    assert shown_inputs([RolloutSettings()], MediaStore()) == {}


def test_a_run_knows_the_pictures_of_the_episodes_that_it_shows(model: VisionLanguageModel, tmp_path: Path) -> None:
    hashes = []
    for index in (0, 1):
        (tmp_path / str(index)).mkdir()
        file = recorded(model, tmp_path / str(index), attempts_of(model, index))
        hashes.append(shown_inputs([RolloutSettings(few_shot=1, few_shot_file=file)], MediaStore()))
    assert hashes[0] != hashes[1]
