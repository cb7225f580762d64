"""Script of a benchmark: questions and forced replies, the same tokens in every framework."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from saccade.bench.workload import WORDS, BenchSpec, Workload
from saccade.errors import UserError
from saccade.seeding import generator_for

EOS = "<|im_end|>"
_SEED = 0


def crop_call(left: int, top: int, side: int) -> str:
    """The call that a turn ends with, as the model writes it."""
    return f'<tool_call>{{"name": "crop", "arguments": {{"left": {left}, "top": {top}, "side": {side}}}}}</tool_call>'


@dataclass(frozen=True, kw_only=True)
class Script:
    """The texts of a workload for one tokenizer; equal for equal tokenizers."""

    workload: Workload
    tokenizer: PreTrainedTokenizerFast
    question: str
    """Brings the opening to ``workload.prompt_tokens``."""
    observation: str
    """Text of the tool's result: it brings an observation to ``workload.observation_tokens``; empty without tools."""
    fillers: tuple[int, ...]
    """Ids that a thought is drawn from: one word each."""

    @classmethod
    def of(cls, workload: Workload, tokenizer: PreTrainedTokenizerFast) -> "Script":
        """UserError when a length of the workload cannot be met."""

        def opening(text: str) -> int:
            message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}
            rendered = tokenizer.apply_chat_template([message], tokenize=False, add_generation_prompt=True)
            return _length(tokenizer, rendered) - 1 + workload.image_tokens

        def answered(text: str) -> int:
            message = {"role": "tool", "content": [{"type": "image"}, {"type": "text", "text": text}]}
            rendered = tokenizer.apply_chat_template([message], tokenize=False, add_generation_prompt=True)
            # The newline after the end-of-turn token belongs to it too.
            return _length(tokenizer, "\n" + rendered) - 1 + workload.crop_tokens

        fillers = sorted({ids[0] for word in WORDS if len(ids := _ids(tokenizer, f" {word}")) == 1})
        if not fillers:
            raise UserError("no word of the script is one token of this tokenizer; use one that was made for English")
        observed = workload.observation_tokens if workload.turns > 1 else 0
        return cls(
            workload=workload,
            tokenizer=tokenizer,
            question=_filler_text(tokenizer, fillers, workload.prompt_tokens, opening, "prompt_tokens"),
            observation=_filler_text(tokenizer, fillers, observed, answered, "observation_tokens") if observed else "",
            fillers=tuple(fillers),
        )

    def turn(self, step: int, prompt: int, sample: int, turn: int) -> tuple[int, ...]:
        """Exactly ``turn_tokens`` ids: a thought of random words, then a call or, in the last turn, an answer."""
        workload = self.workload
        if turn + 1 < workload.turns:
            act = crop_call(*workload.corner(step, prompt, sample, turn), workload.crop_px)
        else:
            act = "<answer>yes</answer>"
        head, tail = _ids(self.tokenizer, "<think>"), _ids(self.tokenizer, f"</think>{act}{EOS}")
        room = workload.turn_tokens - len(head) - len(tail)
        if room < 0:
            raise UserError(f"turn_tokens={workload.turn_tokens} is too short; a turn needs {len(head) + len(tail)}")
        chosen = generator_for(_SEED, "thought", step, prompt, sample, turn).integers(0, len(self.fillers), size=room)
        return (*head, *(self.fillers[index] for index in chosen), *tail)

    def turns(self, step: int, prompt: int, sample: int) -> tuple[int, ...]:
        """All that a trajectory says, turn after turn."""
        return tuple(token for turn in range(self.workload.turns) for token in self.turn(step, prompt, sample, turn))


def check_script(spec: BenchSpec) -> None:
    """UserError when the model's tokenizer cannot say the script in the lengths of the workload."""
    tokenizer = AutoTokenizer.from_pretrained(spec.model, local_files_only=True, trust_remote_code=False)
    tokenizer.chat_template = spec.chat_template.read_text()
    script = Script.of(spec.workload, tokenizer)
    for turn in range(spec.workload.turns):
        script.turn(0, 0, 0, turn)


def _ids(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return ids


def _length(tokenizer: PreTrainedTokenizerFast, text: str) -> int:
    return len(_ids(tokenizer, text))


def _filler_text(
    tokenizer: PreTrainedTokenizerFast, fillers: Sequence[int], wanted: int, length: Callable[[str], int], name: str
) -> str:
    """A text of whole words with which ``length`` is exactly ``wanted``."""
    words = [tokenizer.decode([token]) for token in fillers]
    room = wanted - length("")
    if room < 0:
        raise UserError(f"{name}={wanted} is too short; with its image alone it is {length('')}")
    text = "".join(words[index % len(words)] for index in range(room))
    if length(text) != wanted:
        raise UserError(f"{name}={wanted} cannot be met: {room} words made it {length(text)}")
    return text
