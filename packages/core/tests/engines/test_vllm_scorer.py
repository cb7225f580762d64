"""A teacher at a server that speaks vLLM's wire: what it says of tokens, and servers that cannot teach."""

import pytest
import torch

from saccade.engines.vllm.scorer import PlaceRequest, VllmScorer
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.tasks import tiny_example
from saccade.testing.vllm_server import FakeVllm
from saccade.types import Json, Message
from saccade.waiting import run_to_end

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
TEXTS = ["Which colour has the square? I look."] * 9


def model_of(media: MediaStore, *, seed: int = 4, texts: list[str] = TEXTS) -> VisionLanguageModel:
    return tiny_model(texts, media, size=SIZE, vocab_size=320, seed=seed)


def asked(policy: VisionLanguageModel) -> PlaceRequest:
    [image] = tiny_example(policy.media).task.images
    prompt = policy.chat.prompt([Message(role="user", parts=(image, "Which colour?"))])
    said = policy.chat.encode("I look.")
    start = len(prompt.ids)
    return PlaceRequest(
        ids=(*prompt.ids, *said), images=prompt.images, places=tuple(range(start + 1, start + len(said)))
    )


@torch.no_grad()
def distributions(model: VisionLanguageModel, one: PlaceRequest) -> torch.Tensor:
    embedded = model.embed(torch.tensor([one.ids]), model.encode_images(one.images))
    hidden = model.hidden(embedded, model.positions(one.ids, one.images)[:, None])[0]
    return model.head_logits(hidden)[[place - 1 for place in one.places]].float().log_softmax(-1)


def test_it_tells_the_log_probability_of_each_token_and_the_likeliest_ones() -> None:
    media = MediaStore()
    policy, teacher = model_of(media), model_of(media, seed=9)
    request = asked(policy)
    with FakeVllm(teacher) as server:
        scorer = VllmScorer(policy, server.url)
        run_to_end(scorer.check_tokens())
        [plain, listed] = [run_to_end(scorer.scores([request], top=top))[0] for top in (0, 3)]
        assert "/update_weights" not in server.posted
    expected = distributions(teacher, request)
    chosen = [float(row[request.ids[place]]) for row, place in zip(expected, request.places)]
    assert plain.logprobs == pytest.approx(chosen, abs=1e-4)
    assert plain.listed == ((),) * len(request.places)
    assert listed.logprobs == pytest.approx(chosen, abs=1e-4)
    values, tokens = expected.topk(3, dim=-1)
    assert [[token for token, _ in row] for row in listed.listed] == tokens.tolist()
    assert [[value for _, value in row] for row in listed.listed] == [
        pytest.approx(row, abs=1e-4) for row in values.tolist()
    ]


def test_a_server_with_another_tokenizer_is_refused_in_words() -> None:
    media = MediaStore()
    # Of as many tokens, so that the special ones have the same ids.
    words = ["Which colour has the square? I look at the green field beside the river and the red house"] * 9
    others = ["Quite another text: twenty zebras jump over six black boxes, while dogs sleep near my warm oven"] * 9
    policy, other = model_of(media, texts=words), model_of(media, texts=others)
    assert policy.image_token_id == other.image_token_id
    with FakeVllm(other) as server, pytest.raises(UserError, match=r"another tokenizer: token \d+ is"):
        run_to_end(VllmScorer(policy, server.url, patience_s=0.0).check_tokens())


def test_weights_that_change_under_a_run_are_an_error_of_the_machine() -> None:
    policy = model_of(MediaStore())
    with FakeVllm(policy) as server:
        scorer = VllmScorer(policy, server.url)
        run_to_end(scorer.scores([asked(policy)]))
        server.version = "somebody-elses"
        with pytest.raises(MachineError, match="has other weights than before"):
            run_to_end(scorer.scores([asked(policy)]))


def test_a_server_that_lists_too_few_tokens_or_is_gone_gives_no_answer() -> None:
    policy = model_of(MediaStore())

    def without_lists(reply: dict[str, Json]) -> dict[str, Json]:
        return {**reply, "prompt_logprobs": [None, {"5": {"logprob": -1.0}}]}

    with FakeVllm(policy) as server:
        scorer = VllmScorer(policy, server.url, patience_s=0.0)
        server.lies = without_lists
        with pytest.raises(MachineError, match="no log-probabilities"):
            run_to_end(scorer.scores([asked(policy)]))
        server.lies = lambda reply: reply
        server.is_down = True
        with pytest.raises(MachineError, match="gave no answer"):
            run_to_end(scorer.scores([asked(policy)]))
        assert server.ends == 0
