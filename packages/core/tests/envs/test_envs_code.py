"""Episodes of code in the real sandbox: the environment, whole rollouts, demonstrations."""

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import gymnasium
import pytest
from PIL import Image

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.protocols.code import code_protocol, write
from saccade.protocols.instructions import Style
from saccade.protocols.protocol import Reading
from saccade.protocols.readings import with_reading
from saccade.rewards.reward import keeps_format
from saccade.rollout.batch import rollout_batch
from saccade.rollout.chat_player import ChatPlayer
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest, RolloutSettings
from saccade.rollout.trajectory import demonstrate
from saccade.runs.trajectory_json import trajectory_from_json, trajectory_to_json
from saccade.sandbox import Sandbox, Session
from saccade.testing import TINY_VIEW, ScriptedEngine, check_environment, letter_chat, tiny_example
from saccade.testing.scripted import ScriptedTeacher
from saccade.tools.code import Sessions, python_tool
from saccade.types import Answer, Example, ExpertTurn, Malformed, ToolCall, Trajectory

CHAT = letter_chat(TINY_VIEW)
ANSWER = "<think>so</think><answer>red</answer>"
OK = {"ok": True, "error_kind": None, "error_name": None}


def call(code: str) -> ExpertTurn:
    return ExpertTurn(thought="I run it.", action=ToolCall(name="execute_python_code", arguments={"code": code}))


def run(code: str) -> str:
    return write(call(code))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@dataclass
class Watched:
    """The sandbox, with its sessions remembered."""

    sandbox: Sandbox
    sessions: list[Session] = field(default_factory=list)

    def session(self, *, images: Mapping[str, Image.Image], seed: int) -> Session:
        self.sessions.append(self.sandbox.session(images=images, seed=seed))
        return self.sessions[-1]

    def kill(self, index: int) -> None:
        """What a machine that runs out of memory may do."""
        signal.pidfd_send_signal(self.sessions[index]._pidfd, signal.SIGKILL)


def make_env(sandbox: Sessions, *, style: Style = "brief", max_turns: int = 6, **settings):
    media = MediaStore()
    return VisualReasoningEnv(
        tasks=[tiny_example(media, index).task for index in range(3)],
        media=media,
        protocol=code_protocol(style=style, max_turns=max_turns),
        tools=(python_tool(sandbox, **settings),),
        view=TINY_VIEW,
        max_turns=max_turns,
    )


def played(env: VisualReasoningEnv, *texts: str) -> list[str]:
    """What is shown after each turn."""
    env.reset(seed=0)
    return [env.step(text)[0]["text"] for text in texts]


@pytest.mark.parametrize("style", ["brief", "full"])
def test_the_environment_keeps_its_contract_and_gymnasiums_checker_is_content(sandbox: Sandbox, style: Style) -> None:
    texts = [
        run("n = 1\ninput_image.crop((0, 0, 64, 64))"),
        run("print(n, object(), hash('x'))"),
        run("n = 2\nn / 0"),
        run("import random, numpy\nprint(n, random.random(), numpy.random.rand())"),
        ANSWER,
    ]
    check_environment(lambda: make_env(sandbox, style=style), texts)


def test_code_sees_the_original_image_as_a_variable_and_as_a_file(sandbox: Sandbox) -> None:
    code = "from PIL import Image\nprint(input_image.size, Image.open('input_image.png').size)"
    assert played(make_env(sandbox), run(code)) == ["(256, 256) (256, 256)"]
    assert played(make_env(sandbox, shows="view"), run(code)) == ["(64, 64) (64, 64)"]


def test_code_sees_every_image_of_a_question(sandbox: Sandbox) -> None:
    env = make_env(sandbox)
    env.reset(seed=0)
    both = replace(env.task, images=(env.task.images[0], env.media.add(Image.new("RGB", (80, 64)))))
    env.reset(options={"task": both})
    code = "import os\nprint([image.size for image in input_images], sorted(os.listdir('.')))"
    assert env.step(run(code))[0]["text"] == "[(256, 256), (80, 64)] ['input_image.png', 'input_image_2.png']"


def test_variables_and_files_stay_and_a_failed_run_is_undone(sandbox: Sandbox) -> None:
    env = make_env(sandbox)
    shown = played(
        env,
        run("a = 1\nopen('f', 'w').write('x')"),
        run("a = 2\nopen('f', 'w').write('y')\nb"),
        run("print(a, open('f').read())"),
    )
    assert shown == ["1", "error NameError", "1 x"]
    data = [turn.result.data for turn in env.turns if turn.result]
    assert data == [OK, {"ok": False, "error_kind": "exception", "error_name": "NameError"}, OK]


def test_episodes_know_nothing_of_each_other(sandbox: Sandbox) -> None:
    env = make_env(sandbox)
    assert played(env, run("a = 1\nprint(a)")) == ["1"]
    assert played(env, run("print(a)")) == ["error NameError"]


def test_images_are_numbered_after_the_questions_and_kept_in_the_media_store(sandbox: Sandbox) -> None:
    env = make_env(sandbox, style="full")
    (text,) = played(env, run("print('two')\ninput_image.rotate(90).show()\ninput_image.crop((0, 0, 128, 64))"))
    assert text == "The code ran and showed images 2 to 3. Output:\ntwo"
    assert [(image.width, image.height) for image in env.images] == [(256, 256), (256, 256), (128, 64)]
    assert all(image.hash in env.media for image in env.images)


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        ("x =", "exception", "SyntaxError"),
        ("raise KeyError('<' + 'answer>red<' + '/answer>')", "exception", "KeyError"),
        ("import os; os._exit(0)", "exit", None),
        ("# nothing", "empty", None),
        ("x = '\x00'", "exception", "SyntaxError"),
    ],
)
def test_every_failure_is_a_result_by_its_kind(sandbox: Sandbox, code: str, kind: str, name: str | None) -> None:
    env = make_env(sandbox, style="full")
    (text,) = played(env, run(code))
    (turn,) = env.turns
    assert turn.result is not None
    assert (turn.result.is_ok, turn.result.data) == (False, {"ok": False, "error_kind": kind, "error_name": name})
    assert text.startswith(f"Error: the run failed ({name or kind}) and was undone.")
    assert "<answer>" not in text


def test_a_run_over_its_time_is_a_failure_of_the_policy(sandbox: Sandbox) -> None:
    env = make_env(sandbox, timeout_s=1.5)
    assert played(env, run("import time; time.sleep(99)"), run("print(1)")) == ["error timeout", "1"]


def test_what_code_prints_is_no_answer_and_no_action(sandbox: Sandbox) -> None:
    env = make_env(sandbox)
    code = "print('<' + 'answer>red<' + '/answer>')\nprint('`' * 3 + 'python\\nprint(1)\\n' + '`' * 3)"
    (text,) = played(env, run(code))
    assert "<answer>" not in text
    assert isinstance(env.protocol.parse(text).action, Malformed)
    assert (env.status, len(env.turns)) == ("running", 1)


def test_a_question_answered_at_once_costs_no_session_and_code_in_the_last_turn_is_not_run(sandbox: Sandbox) -> None:
    watched = Watched(sandbox)
    played(make_env(watched), ANSWER)
    env = make_env(watched, max_turns=2)
    played(env, run("# nothing"), run("print(1)"))
    assert watched.sessions == []
    assert env.status == "turn_limit"
    assert env.turns[1].result is None


def test_a_lost_session_is_the_machines_failure_and_nothing_runs_on_half_a_state(sandbox: Sandbox) -> None:
    watched = Watched(sandbox)
    env = make_env(watched)
    played(env, run("a = 1"))
    watched.kill(0)
    for _ in range(2):
        with pytest.raises(MachineError):
            env.step(run("a += 1"))
    assert (len(env.turns), env.status, len(watched.sessions)) == (1, "running", 1)
    assert played(env, run("a = 5"), run("a")) == ["", "5"]


def test_closing_during_a_run_ends_it(sandbox: Sandbox) -> None:
    env = make_env(sandbox)
    env.reset(seed=0)
    errors: list[str] = []

    def step() -> None:
        try:
            env.step(run("import time\nprint('started')\ntime.sleep(99)"))
        except MachineError as error:
            errors.append(str(error))

    thread = threading.Thread(target=step)
    thread.start()
    thread.join(0.5)
    env.close()
    thread.join(120)
    assert not thread.is_alive()
    assert len(errors) == 1


def requests_for(media: MediaStore, count: int) -> list[RolloutRequest]:
    tasks = [tiny_example(media, index).task for index in range(count)]
    return [RolloutRequest(task=task, stream="main", sample=0, seed=index) for index, task in enumerate(tasks)]


def rolled_out(sandbox: Sessions, script: Sequence[Sequence[str]], reading: Reading = "strict") -> list[Trajectory]:
    media = MediaStore()

    def make() -> VisualReasoningEnv:
        return VisualReasoningEnv(
            media=media,
            protocol=with_reading(code_protocol(style="brief"), reading),
            tools=(python_tool(sandbox),),
            view=TINY_VIEW,
            shows_pixels=False,
        )

    return rollout_batch(
        requests_for(media, len(script)),
        engine=ScriptedEngine(script=script, chat=CHAT),
        chat=CHAT,
        make_env=make,
        settings=RolloutSettings(max_turn_tokens=2000, max_tokens=20_000, retry_wait_s=0.01),
    )


SCRIPT = (
    (run("import numpy as np\na = np.asarray(input_image)\nprint(a[20, 20].tolist())"), ANSWER),
    (run("b"), run("b = 3\nprint(b)"), "nonsense", run("input_image.crop((0, 0, 64, 64))"), ANSWER),
    (ANSWER,),
)


def test_rollouts_with_code_are_the_same_twice_and_survive_their_files(sandbox: Sandbox) -> None:
    first, second = rolled_out(sandbox, SCRIPT), rolled_out(sandbox, SCRIPT)
    assert [trajectory_to_json(one) for one in first] == [trajectory_to_json(one) for one in second]
    assert [one.status for one in first] == ["answered"] * 3
    assert [trajectory_from_json(trajectory_to_json(one)) for one in first] == first
    fate = [None if turn.result is None else turn.result.is_ok for turn in first[1].turns]
    assert fate == [False, True, None, True, None]


INVENTS = "<code>\n```python\nprint(input_image.size)\n```\nOutput: (1, 1)\n<answer>red</answer>"


@pytest.mark.parametrize("reading", ["strict", "lenient"])
def test_a_lenient_reading_runs_the_first_code_and_pays_its_form_no_more_than_the_strict_one(
    sandbox: Sandbox, reading: Reading
) -> None:
    trajectories = rolled_out(sandbox, [(INVENTS, ANSWER), (INVENTS, *["red"] * 5)], reading)
    first = trajectories[0].turns[0]
    assert isinstance(first.action, ToolCall) == (reading == "lenient")
    assert (first.result is not None and first.result.text == "(256, 256)") == (reading == "lenient")
    assert [turn.is_well_formed for turn in trajectories[0].turns] == [False, True]
    assert [keeps_format(one) for one in trajectories] == [False, False]
    # The second one never answers in a form that is asked for: a bare word is no answer that a policy learns by.
    assert [one.status for one in trajectories] == ["answered", "turn_limit"]
    assert first.text == (INVENTS if reading == "strict" else INVENTS[: INVENTS.index("\nOutput")])


def test_a_chat_model_is_shown_its_turn_up_to_the_first_complete_action(sandbox: Sandbox) -> None:
    says = ScriptedTeacher(reply=lambda messages: ANSWER if len(messages) > 3 else INVENTS)
    media = MediaStore()
    spec = EpisodeSpec(
        protocol=with_reading(code_protocol(style="brief"), "lenient"),
        tools=(python_tool(sandbox),),
        rollout=RolloutSettings(),
    )
    [sample] = ChatPlayer(model=says).play(requests_for(media, 1), spec.played_as(media, TINY_VIEW), lambda *_: None)
    ran = INVENTS[: INVENTS.index("\nOutput")]
    assert [turn.text for turn in sample.trajectory.turns] == [ran, ANSWER]
    assert [message.parts for message in says.asked[1].messages if message.role == "assistant"] == [(ran,)]


@dataclass
class Fragile(Watched):
    """Loses the named session right before its second run."""

    loses: int = 0

    def session(self, *, images: Mapping[str, Image.Image], seed: int) -> Session:
        session = super().session(images=images, seed=seed)
        if len(self.sessions) - 1 == self.loses:
            session.run("keep = 1")
            self.kill(self.loses)
        return session


def test_a_session_lost_before_anything_ran_is_replaced_and_the_trajectory_goes_on(sandbox: Sandbox) -> None:
    fragile = Fragile(sandbox)
    (trajectory,) = rolled_out(fragile, [(run("print(1)"), run("print(2)"), ANSWER)])
    assert (trajectory.status, len(fragile.sessions)) == ("answered", 2)
    assert [turn.observation.text for turn in trajectory.turns[:2] if turn.observation] == ["1", "2"]


def test_a_session_lost_later_fails_its_trajectory(sandbox: Sandbox) -> None:
    watched = Watched(sandbox)

    def say(label: str, turn: int) -> str:
        if turn == 1:
            watched.kill(0)
        return (run("a = 1"), run("print(a)"), ANSWER)[turn]

    media = MediaStore()
    (lost,) = rollout_batch(
        requests_for(media, 1),
        engine=ScriptedEngine(script=say, chat=CHAT),
        chat=CHAT,
        make_env=lambda: VisualReasoningEnv(
            media=media, protocol=code_protocol(style="brief"), tools=(python_tool(watched),), view=TINY_VIEW
        ),
        settings=RolloutSettings(max_turn_tokens=2000, max_tokens=20_000, retry_wait_s=0.01),
    )
    assert (lost.status, lost.score, len(lost.turns)) == ("failed", None, 1)
    assert "lost" in lost.failure
    assert len(watched.sessions) == 1


def test_a_session_is_gone_when_its_episode_is_over(sandbox: Sandbox) -> None:
    watched = Watched(sandbox)
    for end in ("answer", "reset", "close"):
        env = make_env(watched)
        played(env, run("print(1)"))
        if end == "answer":
            env.step(ANSWER)
        elif end == "reset":
            env.reset()
        else:
            env.close()
        with pytest.raises(MachineError, match="closed"):
            watched.sessions[-1].run("print(1)")
    assert len(watched.sessions) == 3


def test_no_descriptor_is_left_of_many_episodes(sandbox: Sandbox) -> None:
    env = make_env(sandbox)
    played(env, run("print(1)"), ANSWER)
    before = len(list(Path(f"/proc/{os.getpid()}/fd").iterdir()))
    for _ in range(8):
        played(env, run("print(1)"))
    env.close()
    assert len(list(Path(f"/proc/{os.getpid()}/fd").iterdir())) <= before


def test_an_expert_that_corrects_itself_is_a_demonstration_where_runs_may_fail(sandbox: Sandbox) -> None:
    env = make_env(sandbox)
    env.reset(seed=0)
    answer = ExpertTurn(thought="so", action=Answer(text=env.task.answer))
    example = Example(task=env.task, turns=(call("print(c)"), call("c = 1\nprint(c)"), answer))
    with pytest.raises(UserError, match=r"turn 1 .* was refused: error NameError"):
        demonstrate(example, env=env, chat=CHAT)
    trajectory = demonstrate(example, env=env, chat=CHAT, may_fail=True)
    assert [turn.result.is_ok for turn in trajectory.turns if turn.result] == [False, True]
    assert all(turn.is_well_formed for turn in trajectory.turns)


def test_an_experts_call_that_is_refused_is_no_demonstration_even_where_runs_may_fail(sandbox: Sandbox) -> None:
    env = make_env(sandbox, max_turns=2)
    env.reset(seed=0)
    # Nothing is run in the last turn.
    turns = (call("print(1)"), call("print(2)"))
    with pytest.raises(UserError, match="refused"):
        demonstrate(Example(task=env.task, turns=turns), env=env, chat=CHAT, may_fail=True)


def test_gymnasium_makes_an_environment_with_code(sandbox: Sandbox) -> None:
    made = gymnasium.make(
        "saccade/VisualReasoning-v0", family="counting", protocol=code_protocol(), tools=(python_tool(sandbox),)
    )
    made.reset(seed=0)
    assert "The code ran. Output:\n2" in made.step(run("print(1 + 1)"))[0]["text"]
    made.close()
