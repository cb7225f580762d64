"""Probes: what they take away, what they cannot change, and a policy that reads positions exposed."""

from dataclasses import replace

import pytest
from PIL import Image

from saccade.envs.environment import Environment
from saccade.errors import UserError
from saccade.evaluation.figures import figures, table
from saccade.evaluation.probes import GREY, WITHHELD, Probe, ProbeName, probe
from saccade.evaluation.samples import SampleHeader, SampleSet, StoredSample, stored_sample
from saccade.media.store import MediaStore
from saccade.protocols import direct_protocol
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import tool_from
from saccade.types import Answer, Attempt, Observation, Task, Trajectory, Turn

MEDIA = MediaStore()
TOOLS = EpisodeSpec(protocol=tagged_protocol(max_turns=3), tools=IMAGE_TOOLS, rollout=RolloutSettings(), max_turns=3)
PLAIN = EpisodeSpec(protocol=direct_protocol(), rollout=RolloutSettings(), max_turns=1)
LOOK = '<think>look</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 9, 9], "image": 1}}</tool_call>'


def question(number: int, **changes: object) -> Task:
    picture = MEDIA.add(Image.new("RGB", (20, 10 + number), (number, 0, 0)))
    task = Task(
        id=f"q{number}",
        family="mine",
        question="Which colour?",
        answer="A",
        answer_kind="choice",
        images=(picture,),
        choices=("red", "green", "blue"),
    )
    return replace(task, **changes)  # type: ignore[arg-type]


TASKS = [question(number) for number in range(4)]


def probed(name: ProbeName, tasks: list[Task] = TASKS, episodes: EpisodeSpec = PLAIN) -> Probe:
    return probe(name, tasks, episodes, media=MEDIA, seed=0)


def test_blank_pictures_are_grey_and_of_the_same_size() -> None:
    found = probed("blank")
    assert [task.id for task in found.tasks] == [task.id for task in TASKS]
    for task, before in zip(found.tasks, TASKS):
        [image], [was] = task.images, before.images
        assert (image.width, image.height) == (was.width, was.height)
        assert MEDIA.get(image).getcolors() == [(image.width * image.height, GREY)]
        # One picture for many questions: they are as independent as the questions were.
        assert found.cluster(task) == before.images[0].hash[:32]


def test_another_questions_picture_is_never_ones_own() -> None:
    tasks = [*TASKS, question(0, id="twin")]
    found = probed("other-image", tasks)
    own = {task.id: task.images for task in tasks}
    assert all(task.images != own[task.id] for task in found.tasks)
    assert len(found.tasks) == 5
    with pytest.raises(UserError, match="no pictures, or all the same"):
        probed("other-image", [question(0), question(0, id="twin")])


def test_options_are_cycled_with_their_right_answer() -> None:
    found = probed("cycled", [question(1, answer="B")])
    assert [(task.id, task.choices, task.answer) for task in found.tasks] == [
        ("q1#cycle0", ("red", "green", "blue"), "B"),
        ("q1#cycle1", ("green", "blue", "red"), "A"),
        ("q1#cycle2", ("blue", "red", "green"), "C"),
    ]
    assert len({found.cluster(task) for task in found.tasks}) == 1


def test_shuffled_options_keep_the_right_text_and_do_not_move_between_runs() -> None:
    first, second = probed("shuffled"), probed("shuffled")
    assert first.tasks == second.tasks
    assert {task.choices["ABC".index(task.answer)] for task in first.tasks} == {"red"}
    assert len({task.answer for task in first.tasks}) > 1


def test_questions_that_name_their_options_cannot_be_reordered_and_are_counted() -> None:
    fixed = question(2, question="Is it red, green or blue?", answer="red")
    assert probed("cycled", [TASKS[0], fixed]).left_out == 1
    with pytest.raises(UserError, match="can change none of the 1 questions"):
        probed("shuffled", [fixed])
    with pytest.raises(UserError, match="can change none"):
        probed("no-question", [question(0, choices=(), answer="red", answer_kind="exact")])


def test_withheld_results_run_the_tool_and_show_grey_pictures_in_its_place() -> None:
    found = probed("withheld-results", episodes=TOOLS)
    env: Environment = found.episodes.environment(MEDIA, ORIGINAL_VIEW)
    plain: Environment = TOOLS.environment(MEDIA, ORIGINAL_VIEW)
    for one in (env, plain):
        one.reset(options={"task": found.tasks[0]})
        one.step(LOOK)
        one.step(LOOK)
    for turn, ordinary in zip(env.turns, plain.turns):
        assert turn.result is not None
        assert turn.observation is not None
        assert ordinary.observation is not None
        assert turn.result == ordinary.result
        [grey], [crop] = turn.observation.images, ordinary.observation.images
        assert (grey.width, grey.height) == (crop.width, crop.height)
        assert MEDIA.get(grey).getcolors() == [(grey.width * grey.height, GREY)]
        # The numbers of the pictures are those of an ordinary episode, so the model may go on naming them.
        assert turn.observation.text == ordinary.observation.text.replace(turn.result.text, WITHHELD)
    with pytest.raises(UserError, match="offers no tools"):
        probed("withheld-results")


def test_withheld_results_hide_words_and_still_tell_the_models_own_mistakes() -> None:
    def reading(line: int) -> str:
        """Reads a line.

        Args:
            line: Number of the line.
        """
        return "the answer is blue"

    tools = (tool_from(reading),)
    episodes = EpisodeSpec(protocol=TOOLS.protocol, tools=tools, rollout=RolloutSettings(), max_turns=3)
    found = probed("withheld-results", episodes=episodes)
    env: Environment = found.episodes.environment(MEDIA, ORIGINAL_VIEW)
    env.reset(options={"task": found.tasks[0]})
    env.step('<think>look</think><tool_call>{"name": "reading", "arguments": {"line": 1}}</tool_call>')
    env.step("what?")
    observed = [turn.observation for turn in env.turns]
    assert observed[0] == Observation(text=WITHHELD)
    assert observed[1] is not None
    assert observed[1].text.startswith("Error: ")


def always_first(task: Task) -> StoredSample:
    turn = Turn(index=0, text="A", thought="", action=Answer(text="A"), is_well_formed=True)
    trajectory = Trajectory(
        task_id=task.id, family=task.family, stream="evaluation", sample=0, seed=0, policy_version=0,
        segments=(), turns=(turn,), status="answered",
    )  # fmt: skip
    attempt = Attempt(task=task, trajectory=trajectory)
    return stored_sample(attempt, key="", tools=(), cluster=task.id.split("#")[0], tokens_in=0, tokens_out=0)


def test_a_policy_that_picks_the_first_option_is_exposed_by_cycling() -> None:
    """As V* is published, with the right option always first."""
    tasks = [question(number) for number in range(30)]
    plain = SampleSet(
        header=SampleHeader(name="plain", model={}, asked={}), samples=tuple(always_first(task) for task in tasks)
    )
    asked = {"probe": "cycled"}
    cycled = SampleSet(
        header=SampleHeader(name="cycled", model={}, asked=asked),
        samples=tuple(always_first(task) for task in probed("cycled", tasks).tasks),
    )
    before, after = figures(plain), figures(cycled)
    assert before.accuracy.mean == 1.0
    assert after.accuracy.mean == pytest.approx(1 / 3)
    assert after.chance == pytest.approx(1 / 3)
    assert after.all_cycles is not None
    assert after.all_cycles.mean == 0.0
    # No more questions than before, only asked three times.
    assert (after.accuracy.n, after.accuracy.clusters) == (30, 30)
    assert after.by_option["A"] == {"n": 30, "accuracy": 1.0, "picked": 1.0}
    assert after.by_option["B"] == {"n": 30, "accuracy": 0.0, "picked": 0.0}


def test_chance_is_a_guess_among_options_and_never_the_commonest_answer_of_open_questions() -> None:
    answers = ["7", "7", "7", "8", "9"]
    tasks = [question(place, choices=(), answer=answer, answer_kind="exact") for place, answer in enumerate(answers)]
    header = SampleHeader(name="open", model={}, asked={})
    found = figures(SampleSet(header=header, samples=tuple(always_first(task) for task in tasks)))
    assert (found.chance, found.commonest_answer) == (None, 0.6)
    assert "always the commonest answer 60.0%" in found.describe()
    assert "chance" not in found.describe()
    single = figures(SampleSet(header=header, samples=(always_first(tasks[0]),)))
    assert (single.chance, single.commonest_answer) == (None, None)


def test_kinds_of_errors_are_named_in_words() -> None:
    samples = tuple(replace(always_first(question(number)), errors=("E1", "E5")[: number + 1]) for number in range(2))
    found = figures(SampleSet(header=SampleHeader(name="code", model={}, asked={}), samples=samples))
    assert table([found]).splitlines()[-1] == (
        "    errors: 2 without a readable call (E1), 1 with nothing usable from a tool (E5)"
    )
