"""Teachers that are right, wrong, careless or lying, in the real sandbox."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from curation_teachers import Knowing, answer_turn, code_turn, expert_code, turns_so_far

from saccade.chat.chat_model import ChatModel
from saccade.curation.codedance.outcomes import Rejected
from saccade.curation.codedance.settings import CurationSettings, Way
from saccade.curation.codedance.solutions import Solved, Solver, answer_of
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError
from saccade.geometry import Box
from saccade.rollout.conversation import play
from saccade.testing.scripted import ScriptedTeacher, text_of
from saccade.types import Answer, Example, Malformed, Message, Target, ToolCall

Make = Callable[[int], VisualReasoningEnv]


def solve(
    teacher: ChatModel,
    make_env: Make,
    example: Example,
    way: Way,
    hints: Sequence[Target] = (),
    attempt: int = 0,
    chains: dict[str, str] | None = None,
    **settings,
) -> Solved | Rejected:
    async def solved() -> Solved | Rejected:
        with ThreadPoolExecutor(2) as pool:
            solver = Solver(
                teacher=teacher,
                make_env=make_env,
                settings=CurationSettings(**settings),
                chains=chains or {},
                run_blocking=lambda operation: asyncio.get_running_loop().run_in_executor(pool, operation),
            )
            return await solver.solve(example.task, way, attempt, seed=0, hints=hints)

    return asyncio.run(solved())


def says(*turns: str) -> ScriptedTeacher:
    """The turns of a trajectory; the last of them for ever."""
    return ScriptedTeacher(reply=lambda messages: turns[min(turns_so_far(messages), len(turns) - 1)])


def test_a_teacher_that_solves_by_code_gives_an_example(make_env: Make, dots: list[Example]) -> None:
    example = dots[0]
    teacher = ScriptedTeacher(reply=Knowing(dots))
    solved = solve(teacher, make_env, example, "play", kinds=("compute",))
    assert isinstance(solved, Solved)
    assert (solved.way, solved.asked_kind) == ("play", "compute")
    assert solved.example == Example(task=example.task, turns=example.turns)
    assert solved.turns[0].result is not None
    assert solved.turns[0].result.text == example.task.answer
    # The advice is the teacher's own; what the model will see stays as it is.
    first, second = teacher.asked
    assert "use code to measure on the pixels" in first.text
    assert first.messages[1:] == second.messages[1:2]
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert f"Output:\n{example.task.answer}" in second.text
    assert first.seed != second.seed


@pytest.mark.parametrize(
    ("turns", "reason", "detail"),
    [
        ((answer_turn("no number"),), "wrong_answer", "answered 'no number'"),
        (("I do not know.",), "ill_formed", "the turn does nothing"),
        (("<code>\nprint(1)\n</code>",), "ill_formed", ""),
        ((code_turn("1 / 0"),), "failed_run", "ZeroDivisionError"),
        ((code_turn("# nothing"),), "failed_run", "does nothing"),
        ((code_turn("print(1)"),), "no_answer", ""),
    ],
)
def test_a_trajectory_with_a_flaw_is_left_out(
    make_env: Make, dots: list[Example], turns: tuple[str, ...], reason: str, detail: str
) -> None:
    rejected = solve(says(*turns), make_env, dots[0], "play")
    assert isinstance(rejected, Rejected)
    assert (rejected.way, rejected.reason) == ("play", reason)
    assert detail in rejected.detail


def test_a_flaw_ends_the_trajectory_so_that_no_more_is_asked(make_env: Make, dots: list[Example]) -> None:
    teacher = says(code_turn("1 / 0"))
    solve(teacher, make_env, dots[0], "play")
    assert len(teacher.asked) == 1


def test_an_answer_without_code_is_no_demonstration_of_code(make_env: Make, dots: list[Example]) -> None:
    rejected = solve(says(answer_turn(dots[0].task.answer)), make_env, dots[0], "play")
    assert rejected == Rejected(way="play", reason="no_code")


@pytest.mark.parametrize(
    "code",
    [
        "import random\nprint(random.random())",
        "import numpy as np\nprint(np.random.rand())",
        "import time\nprint(time.time())",
    ],
)
def test_code_that_lives_by_chance_is_left_out(make_env: Make, dots: list[Example], code: str) -> None:
    rejected = solve(says(code_turn(code), answer_turn(dots[0].task.answer)), make_env, dots[0], "play")
    assert rejected == Rejected(way="play", reason="not_repeatable")


def test_what_a_teacher_writes_after_its_code_is_cut_off(make_env: Make, dots: list[Example]) -> None:
    answer = dots[0].task.answer
    first = code_turn(expert_code(dots[0])) + "<interpreter>1000</interpreter>" + answer_turn("1000")
    solved = solve(says(first, answer_turn(answer)), make_env, dots[0], "play")
    assert isinstance(solved, Solved)
    assert [type(turn.action) for turn in solved.turns] == [ToolCall, Answer]


def test_attempts_go_through_the_kinds_and_hints_are_told(make_env: Make, dots: list[Example]) -> None:
    asked = []
    for attempt in range(3):
        teacher = ScriptedTeacher(reply=Knowing(dots))
        hint = Target(label="dot", box=Box(1.2, 2, 3, 4), point=Box(1.2, 2, 3, 4).center)
        solved = solve(teacher, make_env, dots[1], "play", hints=(hint,), attempt=attempt)
        assert isinstance(solved, Solved)
        asked.append(solved.asked_kind)
        assert "look here (left, top, right, bottom in pixels of image 1): dot [1, 2, 3, 4]" in teacher.asked[0].text
    assert sorted(asked, key=str) == ["compute", "draw", "transform"]


def test_code_persists_from_turn_to_turn(make_env: Make, dots: list[Example]) -> None:
    answer = dots[0].task.answer
    turns = (code_turn("part = input_image.crop((0, 0, 9, 9))"), code_turn("print(part.getextrema())"))
    solved = solve(says(*turns, answer_turn(answer)), make_env, dots[0], "play")
    assert isinstance(solved, Solved)
    assert [turn.result.data["work"] for turn in solved.turns if turn.result] == ["idle", "looks"]


@pytest.mark.parametrize(
    "code", ["print({answer})", "n = {answer}\nprint(f'{n} dots')", "print(3 - 3 + {answer})", "x = 1"]
)
def test_code_that_only_prints_the_answer_is_left_out(make_env: Make, dots: list[Example], code: str) -> None:
    answer = dots[0].task.answer
    code = code.replace("{answer}", answer)
    played = solve(says(code_turn(code), answer_turn(answer)), make_env, dots[0], "play")
    assert played == Rejected(way="play", reason="idle_code")
    rewritten = solve(rewrites(dots, rewriting(claim="{answer}", code=code)), make_env, dots[0], "rewrite")
    assert rewritten == Rejected(way="rewrite", reason="idle_code")


def rewriting(*, claim: str, code: str = "{code}", last: str = "So that many.", answer: str = "{answer}") -> str:
    return (
        f"I count the dots.\n<code>\n```python\n{code}\n```\n</code>\n<interpreter>{claim}</interpreter>\n{last}\n"
        f"<answer>{answer}</answer>"
    )


def rewrites(dots: list[Example], text: str, **said: str) -> ScriptedTeacher:
    return ScriptedTeacher(reply=Knowing(dots, rewriting=lambda example, _: filled(text, example), **said))


def filled(text: str, example: Example) -> str:
    return text.replace("{answer}", example.task.answer).replace("{code}", expert_code(example))


def test_a_chain_is_rewritten_and_its_outputs_are_really_run(make_env: Make, dots: list[Example]) -> None:
    answer = dots[0].task.answer
    teacher = rewrites(dots, rewriting(claim="{answer}"))
    solved = solve(teacher, make_env, dots[0], "rewrite")
    assert isinstance(solved, Solved)
    assert [turn.thought for turn in solved.example.turns] == ["I count the dots.", "So that many."]
    assert solved.example.turns[0].action == ToolCall(
        name="execute_python_code", arguments={"code": expert_code(dots[0])}
    )
    assert solved.example.turns[1].action == Answer(text=answer)
    chain, rewritten = teacher.asked
    assert f"<solution>\n{chain.texts[0]}\n</solution>" in rewritten.text


@pytest.mark.parametrize(
    ("text", "reason", "detail"),
    [
        (rewriting(claim="1000"), "output_mismatch", "claimed '1000', printed"),
        (rewriting(claim="{answer}.0"), "output_mismatch", ""),
        (rewriting(claim="{answer}", code="print({answer}"), "failed_run", "SyntaxError"),
        (rewriting(claim="{answer}", answer="1000"), "wrong_answer", "1000"),
        (rewriting(claim="{answer}", last="<tool_response>5</tool_response>"), "ill_formed", "environment"),
        ("It is <answer>{answer}</answer>", "no_code", ""),
        ("no answer", "unreadable_rewriting", "gives no <answer>"),
        (rewriting(claim="{answer}").replace("<answer>", rewriting(claim="{answer}") * 4), "unreadable_rewriting", ""),
    ],
)
def test_a_rewriting_that_does_not_hold_is_left_out(
    make_env: Make, dots: list[Example], text: str, reason: str, detail: str
) -> None:
    rejected = solve(rewrites(dots, text), make_env, dots[0], "rewrite")
    assert isinstance(rejected, Rejected)
    assert (rejected.way, rejected.reason) == ("rewrite", reason)
    assert detail in rejected.detail


def test_more_code_than_turns_is_left_out(make_env: Make, dots: list[Example]) -> None:
    piece = "<code>\n```python\nprint(1)\n```\n</code><interpreter>1</interpreter>"
    rejected = solve(rewrites(dots, piece * 6 + "<answer>{answer}</answer>"), make_env, dots[0], "rewrite")
    assert rejected == Rejected(way="rewrite", reason="no_answer")


def test_a_chain_with_a_wrong_answer_is_not_rewritten(make_env: Make, dots: list[Example]) -> None:
    for chain in ("It is <answer>1000</answer>", "It is 5."):
        teacher = ScriptedTeacher(reply=Knowing(dots, chain=chain))
        rejected = solve(teacher, make_env, dots[0], "rewrite")
        assert isinstance(rejected, Rejected)
        assert rejected.reason == "wrong_chain"
        assert len(teacher.asked) == 1


def test_a_chain_that_is_there_already_is_rewritten_first(make_env: Make, dots: list[Example]) -> None:
    name, answer = dots[0].task.id, dots[0].task.answer
    for chain in (f"I see {answer}.", f"I see <answer>{answer}</answer>"):
        teacher = rewrites(dots, rewriting(claim="{answer}"))
        assert isinstance(solve(teacher, make_env, dots[0], "rewrite", chains={name: chain}), Solved)
        [asked] = teacher.asked
        assert f"<solution>\n{chain}\n</solution>" in asked.text
    wrong = solve(teacher, make_env, dots[0], "rewrite", chains={name: "<answer>1000</answer>"})
    assert isinstance(wrong, Rejected)
    assert wrong.reason == "wrong_chain"
    # When that came to nothing, the teacher thinks for itself.
    teacher = rewrites(dots, rewriting(claim="{answer}"))
    assert isinstance(solve(teacher, make_env, dots[0], "rewrite", attempt=1, chains={name: "bad"}), Solved)
    assert len(teacher.asked) == 2


def test_a_wrong_claim_may_be_replaced_where_nothing_goes_on_with_it(make_env: Make, dots: list[Example]) -> None:
    kept = solve(rewrites(dots, rewriting(claim="1000")), make_env, dots[0], "rewrite", on_mismatch="replace")
    assert isinstance(kept, Solved)
    text = rewriting(claim="1000", last="So 1000 in all.")
    rejected = solve(rewrites(dots, text), make_env, dots[0], "rewrite", on_mismatch="replace")
    assert rejected == Rejected(way="rewrite", reason="contradiction", detail="goes on with 1000, never printed")


def test_easy_questions_are_answered_at_once(make_env: Make, dots: list[Example]) -> None:
    teacher = says("never asked")
    solved = solve(teacher, make_env, dots[0], "direct")
    assert isinstance(solved, Solved)
    assert [turn.text for turn in solved.turns] == [f"<think></think><answer>{dots[0].task.answer}</answer>"]
    assert teacher.asked == []


def test_a_teacher_that_is_down_is_the_machines_failure(make_env: Make, dots: list[Example]) -> None:
    def down(messages: Sequence[Message]) -> str:
        raise MachineError("the server is down")

    with pytest.raises(MachineError):
        solve(ScriptedTeacher(reply=down), make_env, dots[0], "play")


def test_a_model_that_is_only_measured_may_go_on_after_a_flaw(make_env: Make, dots: list[Example]) -> None:
    async def played() -> list:
        turns = await play(
            says("hm", code_turn("1 / 0"), answer_turn("5")),
            make_env(0),
            dots[0].task,
            temperature=1.0,
            seed=0,
            run_blocking=lambda operation: asyncio.get_running_loop().run_in_executor(None, operation),
        )
        return [type(turn.action) for turn in turns]

    assert asyncio.run(played()) == [Malformed, ToolCall, Answer]


def test_the_last_answer_of_a_chain_counts() -> None:
    assert answer_of("<answer>1</answer> no, <answer> 2 </answer>") == "2"
    assert answer_of("<answer>1") is None
    assert answer_of("1") is None
    assert text_of((Message(role="user", parts=("a", "b")),)) == "a\nb"
