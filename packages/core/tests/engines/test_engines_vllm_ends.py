"""A server knows stop strings alone: the turn still ends with the token that completes its action."""

import asyncio
from dataclasses import dataclass, field

from saccade.engines.engine import Sampling
from saccade.engines.vllm.slot import VllmSlot
from saccade.engines.vllm.wire import SampledTokens, TokenRules, sampling_params
from saccade.turn_ends import FencedActions

RULE = FencedActions(languages=("python",), tags=("code", "answer"), tag="code")
SAMPLING = Sampling(seed=0, max_tokens=200, stop=("</code>", "</answer>"), fenced_actions=RULE)


@dataclass
class LetterServer:
    """Writes a text, a letter a token, until a stop string of the request is complete."""

    text: str
    eos_id: int = 0
    asked: list[int] = field(default_factory=list)
    """Length of what had been written when each request came."""

    @property
    def end_ids(self) -> frozenset[int]:
        return frozenset({self.eos_id})

    async def ask(self, ids, images, sampling, *, seed, max_tokens):
        del images
        rules = TokenRules(eos_id=self.eos_id, end_ids=self.end_ids, image_token_id=-1, forbidden={})
        stops = sampling_params(sampling, rules, seed=seed, max_tokens=max_tokens)["stop"]
        self.asked.append(len(ids))
        said = ""
        for letter in self.text[len(ids) :]:
            said += letter
            if any(said.endswith(stop) for stop in stops):
                break
        written = (*map(ord, said), *([] if len(ids) + len(said) < len(self.text) else [self.eos_id]))
        return SampledTokens(ids=written, logprobs=(-1.0,) * len(written), weights=("w",) * len(written))

    def check(self, slot, ids, images, sampling):
        pass

    def token_bytes(self, token):
        return chr(token).encode() if token != self.eos_id else b""

    def versions_of(self, weights):
        del weights
        return ()


def written(text: str) -> tuple[str, str, int]:
    """What the slot takes of the text, how the turn ends, and how often the server was asked."""
    server = LetterServer(text=text)
    done = asyncio.run(VllmSlot("a", server, server.ask).sample((), (), SAMPLING))
    return "".join(map(chr, done.ids)).rstrip("\0"), done.finish, len(server.asked)


def test_a_bare_block_ends_the_turn_at_the_server_too():
    assert written("I run:\n```python\nprint(1)\n```\nOutput: 1") == ("I run:\n```python\nprint(1)\n```\n", "stop", 1)


def test_a_block_in_its_tag_is_written_on_to_the_closing_tag():
    text = "<think></think><code>\n```python\nprint(1)\n```\n</code>"
    assert written(f"{text} and more") == (text, "stop", 2)


def test_what_a_server_wrote_beyond_the_action_is_cut_off():
    text = "<code>\n```python\nprint(1)\n```\nO"
    assert written(f"{text}utput: 1\n<answer>1</answer>") == (text, "stop", 2)
    marks = "~~~python\nprint(1)\n~~~\n"
    assert written(f"{marks}Output: 1") == (marks, "stop", 1)


def test_a_block_of_another_language_is_written_over():
    assert written("It says\n```\nrows\n```\nso <answer>1</answer>") == (
        "It says\n```\nrows\n```\nso <answer>1</answer>",
        "stop",
        3,
    )


def test_a_stop_string_in_a_thought_is_written_over():
    text = "<think>I end it with </code>, so.</think><answer>1</answer>"
    assert written(f"{text} and more") == (text, "stop", 2)
