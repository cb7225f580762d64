"""Solutions of a question: the teacher's own turns with code, or its chain of thought rewritten into one with code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from saccade.chat.chat_model import ChatModel
from saccade.curation.codedance import prompts
from saccade.curation.codedance.outcomes import Reason, Rejected, Step, StepVerdict, Value
from saccade.curation.codedance.prompts import read_boxes, read_verdict
from saccade.curation.codedance.rewriting import contradiction, mismatches, read_rewritten
from saccade.curation.codedance.settings import CurationSettings, Kind, Way
from saccade.curation.playing import as_example, demonstration_fault, final_answer, replay
from saccade.envs.environment import ExpertEnvironment
from saccade.errors import UserError
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rewards.judges.llm_judge import without_thinking
from saccade.rewards.tool_use import call_outcome
from saccade.rollout.conversation import play
from saccade.rollout.trajectory import RunBlocking
from saccade.seeding import seed_for
from saccade.types import Answer, Example, ExpertTurn, Message, Target, Task, ToolCall, Turn

MakeSeededEnvironment = Callable[[int], ExpertEnvironment]
"""An environment of the code protocol with the Python tool, from the seed of its tools. Its tool checks the work of
runs, by ``saccade.tools.code_work``, at least with the seed ``REPLAYED``."""

DETAIL_CHARS = 300

PLAYED, REPLAYED = 0, 1
"""Seeds of the tools."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Solved:
    """A solution that holds: each turn keeps to the protocol, each run succeeds, again too, at least one does some
    work, and the answer is right."""

    example: Example
    turns: tuple[Turn, ...]
    """As the environment took them."""
    way: Way
    asked_kind: Kind | None = None


@dataclass(frozen=True, kw_only=True)
class Solver:
    """Tries one question in one way."""

    teacher: ChatModel
    make_env: MakeSeededEnvironment
    settings: CurationSettings
    run_blocking: RunBlocking
    chains: Mapping[str, str] = field(default_factory=dict)
    """Chains of thought in words that are there already, by task id; the first try at rewriting takes them."""

    async def solve(
        self, task: Task, way: Way, attempt: int, *, seed: int, hints: Sequence[Target] = ()
    ) -> Solved | Rejected:
        """An example of the task, or why there is none. ``MachineError`` when teacher or sandbox fail."""
        seed = seed_for(seed, "solve", task.id, way, attempt)
        match way:
            case "play":
                kind = self._kind(task, attempt)
                return await self._play(task, kind, seed=seed, hints=hints)
            case "rewrite":
                return await self._rewrite(task, self.chains.get(task.id) if attempt == 0 else None, seed=seed)
            case "direct":
                answer = ExpertTurn(thought="", action=Answer(text=task.answer))
                return await self._check_by_replay(Example(task=task, turns=(answer,)), way="direct")

    def _kind(self, task: Task, attempt: int) -> Kind:
        kinds = self.settings.kinds
        return kinds[(seed_for(0, "kind", task.id) + attempt) % len(kinds)]

    async def _play(self, task: Task, kind: Kind, *, seed: int, hints: Sequence[Target]) -> Solved | Rejected:
        env = self.make_env(PLAYED)
        try:
            turns = await play(
                self.teacher,
                env,
                task,
                temperature=self.settings.teacher_temperature,
                seed=seed,
                run_blocking=self.run_blocking,
                advice=prompts.playing_advice(kind, hints),
                fault=demonstration_fault,
            )
        finally:
            await self.run_blocking(env.close)
        flaw = _flaw(task, turns, way="play")
        if flaw is not None:
            return flaw
        return await self._check_by_replay(as_example(task, turns), way="play", played=turns, asked_kind=kind)

    async def _rewrite(self, task: Task, given: str | None, *, seed: int) -> Solved | Rejected:
        temperature = self.settings.teacher_temperature
        chain = given or ""
        if given is None:
            [reply] = await self.teacher(
                prompts.step_by_step(task), temperature=temperature, samples=1, seed=seed_for(seed, "chain")
            )
            chain = without_thinking(reply)
        answer = answer_of(chain)
        # Solutions from a data set often name their answer without tags.
        if not answer_is_right(task, answer) and (given is None or answer is not None):
            return Rejected(way="rewrite", reason="wrong_chain", detail=f"answered {(answer or 'nothing')[:80]!r}")
        [text] = await self.teacher(
            prompts.with_code(task, chain), temperature=temperature, samples=1, seed=seed_for(seed, "rewriting")
        )
        rewritten = read_rewritten(text)
        if isinstance(rewritten, str):
            return Rejected(way="rewrite", reason="unreadable_rewriting", detail=rewritten)
        held = await self._check_by_replay(rewritten.as_example(task), way="rewrite")
        if isinstance(held, Rejected):
            return held
        outputs = [turn.result.text for turn in held.turns if turn.result is not None]
        differing = mismatches(rewritten.claims, outputs)
        if differing and self.settings.on_mismatch == "reject":
            first = differing[0]
            detail = f"claimed {rewritten.claims[first][:100]!r}, printed {outputs[first][:100]!r}"
            return Rejected(way="rewrite", reason="output_mismatch", detail=detail)
        wrong = contradiction(rewritten, outputs)
        if wrong:
            return Rejected(way="rewrite", reason="contradiction", detail=f"goes on with {wrong}, never printed")
        return held

    async def _check_by_replay(
        self, example: Example, *, way: Way, played: Sequence[Turn] = (), asked_kind: Kind | None = None
    ) -> Solved | Rejected:
        """The example run anew from its expert turns alone, as the imitation will.

        With another seed, so that code which lives by chance shows something else than it did before.
        """
        env = self.make_env(REPLAYED)
        try:
            turns = await self.run_blocking(lambda: replay(example, env))
        except UserError as error:
            return Rejected(way=way, reason="ill_formed", detail=str(error)[:DETAIL_CHARS])
        finally:
            await self.run_blocking(env.close)
        flaw = _flaw(example.task, turns, way=way)
        if flaw is not None:
            return flaw
        if played and [turn.observation for turn in turns] != [turn.observation for turn in played]:
            return Rejected(way=way, reason="not_repeatable")
        if way != "direct" and not any(call_outcome(turn) == "succeeded" for turn in turns):
            return Rejected(way=way, reason="idle_code")
        return Solved(example=example, turns=tuple(turns), way=way, asked_kind=asked_kind)


def answer_of(text: str) -> str | None:
    """The text between the last ``<answer>`` and its end, or None."""
    _, opened, rest = text.rpartition("<answer>")
    answer, closed, _ = rest.partition("</answer>")
    return answer.strip() if opened and closed else None


def _flaw(task: Task, turns: Sequence[Turn], *, way: Way) -> Rejected | None:
    """Why turns are no demonstration, or None."""

    def rejected(reason: Reason, detail: str = "") -> Rejected:
        return Rejected(way=way, reason=reason, detail=detail[:DETAIL_CHARS])

    for turn in turns:
        fault = demonstration_fault(turn)
        if fault == "ill_formed":
            return rejected("ill_formed", turn.observation.text if turn.observation else turn.text)
        if fault == "failed_run":
            return rejected("failed_run", turn.observation.text if turn.observation else "")
    answer = final_answer(turns)
    if answer is None:
        return rejected("no_answer")
    if not answer_is_right(task, answer):
        return rejected("wrong_answer", f"answered {answer[:80]!r}")
    if way != "direct" and not any(isinstance(turn.action, ToolCall) for turn in turns):
        return rejected("no_code")
    return None


SECOND_TRY_TEMPERATURE = 0.7
"""At 0 a model that gave no verdict would say the same again."""


@dataclass(kw_only=True)
class Checker:
    """Checks one question; ``verdicts`` holds what was found, in order."""

    teacher: ChatModel
    task: Task
    settings: CurationSettings
    seed: int
    verdicts: list[StepVerdict] = field(default_factory=list)

    async def image(self) -> Value:
        """Whether the question's image is rich enough."""
        return await self._verdict(
            "image", prompts.image_suitability(self.task), good=prompts.SUITABLE, bad=prompts.UNSUITABLE
        )

    async def question(self) -> Value:
        """Whether question and answer are worth training on."""
        return await self._verdict("question", prompts.question_quality(self.task), good=prompts.GOOD, bad=prompts.BAD)

    async def solution(self, turns: Sequence[Turn]) -> Value:
        """Whether the checker agrees with a solution."""
        messages = prompts.agreement(self.task, turns)
        return await self._verdict("solution", messages, good=prompts.AGREES, bad=prompts.DISAGREES)

    async def boxes(self) -> tuple[Target, ...]:
        """Boxes to look at; empty when the reply cannot be read."""
        [reply] = await self._ask("boxes", prompts.locating(self.task), attempt=0)
        boxes = read_boxes(reply, self.task.images[0])
        self.verdicts.append(StepVerdict(step="boxes", value="none" if boxes is None else "good"))
        return boxes or ()

    async def _verdict(self, step: Step, messages: Sequence[Message], *, good: str, bad: str) -> Value:
        value: Value = "none"
        for attempt in range(self.settings.verdict_tries):
            [reply] = await self._ask(step, messages, attempt=attempt)
            verdict = read_verdict(reply, good=good, bad=bad)
            if verdict is not None:
                value = "good" if verdict else "bad"
                break
        self.verdicts.append(StepVerdict(step=step, value=value))
        return value

    async def _ask(self, step: Step, messages: Sequence[Message], *, attempt: int) -> Sequence[str]:
        return await self.teacher(
            messages,
            temperature=SECOND_TRY_TEMPERATURE if attempt else 0.0,
            samples=1,
            seed=seed_for(self.seed, "check", step, self.task.id, len(self.verdicts), attempt),
        )
