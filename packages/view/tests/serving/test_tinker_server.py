"""``saccade tinker`` by a plain client: samples, gradients, steps, snapshots and checkpoints of a tiny model."""

import re

import numpy as np
import pytest
import torch
from tinker_served import (
    ADAM,
    PlainTraining,
    example,
    json_picture,
    json_text,
    loss_body,
    picture_chunk,
    png,
    serving_tinker,
    text_chunk,
    write_tiny,
)

from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence, weighted
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_model, write_merged
from saccade.serving.tinker.adapters import SavedAdapter
from saccade.serving.tinker.wire import WireFields


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tinker") / "tiny"
    write_tiny(directory)
    return directory


@pytest.fixture(scope="module")
def server(tiny, tmp_path_factory):
    with serving_tinker(tiny, tmp_path_factory.mktemp("checkpoints"), models=64, snapshots=2) as client:
        yield client


@pytest.fixture
def client(server):
    return server.begin()


@pytest.fixture(scope="module")
def tokenizer(server):
    return server.server.service.base.tokenizer


PICTURE = png()
COUNT = 20
"""Tokens of the picture."""


def words(tokenizer):
    """A prompt, as text before and after its picture, and its answer."""
    before = tokenizer.encode("<|im_start|>user\n<|vision_start|>")
    after = tokenizer.encode("<|vision_end|>How many circles are there?<|im_end|>\n<|im_start|>assistant\n")
    return before, after, tokenizer.encode("There are 3.<|im_end|>")


def asked(tokenizer):
    """The prompt as JSON."""
    before, after, _ = words(tokenizer)
    return [json_text(before), json_picture(PICTURE, COUNT), json_text(after)]


def shown(tokenizer, text, **inputs):
    """A Datum of the prompt and a text, with the numbers of its tokens; 0 elsewhere."""
    before, after, _ = words(tokenizer)
    chunks = [text_chunk(before), picture_chunk(PICTURE, COUNT), text_chunk([*after, *text[:-1]])]
    lead = len(before) + COUNT + len(after) - 1
    targets = [*before[1:], *[0] * (COUNT + 1), *after[1:], *text]
    return example(chunks, target_tokens=targets, **{name: [0.0] * lead + [*v] for name, v in inputs.items()})


def test_supervised_steps_lower_the_loss_and_the_answer_is_learned(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    data = [shown(tokenizer, answer, weights=[1.0] * len(answer))]
    losses = []
    for _ in range(25):
        losses.append(training.loss(data)[0] / len(answer))
        assert training.step()["metrics"]["gradient_norm"] > 0
    assert losses[0] > 3
    assert losses[-1] < 0.1
    [(ids, _)] = client.sample(training.snapshot(), asked(tokenizer), max_tokens=12, temperature=0)
    assert ids.tolist() == answer


def test_three_ways_to_a_log_probability_agree(client, tokenizer):
    """The sampler's, ``compute_logprobs`` and the learner's forward, with an adapter on the head too."""
    training = client.train()
    training.loss([shown(tokenizer, words(tokenizer)[2], weights=[1.0] * len(words(tokenizer)[2]))])
    training.step(learning_rate=3e-3)
    snapshot = training.snapshot()
    samples = client.sample(snapshot, asked(tokenizer), count=3, max_tokens=6, seed=5)
    assert len({tuple(ids) for ids, _ in samples}) > 1
    for ids, sampled in samples:
        computed = client.prompt_logprobs(snapshot, [*asked(tokenizer), json_text(ids)])
        numbers = {"logprobs": sampled, "advantages": np.ones(len(ids))}
        value, [learned] = training.loss(
            [shown(tokenizer, ids.tolist(), **numbers)], "importance_sampling", forward_only=True
        )
        # Tinker's cookbook takes None for the first token alone, also where there are pictures.
        assert np.flatnonzero(np.isnan(computed)).tolist() == [0]
        assert np.abs(computed[-len(ids) :] - sampled).max() < 1e-5
        assert np.abs(learned[-len(ids) :] - sampled).max() < 1e-5
        assert value == pytest.approx(-len(ids), abs=1e-4)


def test_the_same_seed_samples_the_same(client, tokenizer):
    sampler = client.sampler(base_model="tiny")
    first, again, other = (
        client.sample(sampler, asked(tokenizer), count=2, max_tokens=8, seed=seed) for seed in (7, 7, 8)
    )
    assert [ids.tolist() for ids, _ in first] == [ids.tolist() for ids, _ in again]
    assert [ids.tolist() for ids, _ in first] != [ids.tolist() for ids, _ in other]


def test_the_engine_samples_what_it_samples_by_itself(client, tokenizer):
    """A picture chunk stands in the prompt as the chat of the model writes a picture."""
    base = client.server.service.base
    before, after, _ = words(tokenizer)
    image = base.media.add_encoded(PICTURE, "the test's picture")
    text = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>How many circles are there?<|im_end|>\n"
    own = base.chat.tokens_of(text + "<|im_start|>assistant\n", [image])
    assert own.ids == (*before, *[base.image_token_id] * COUNT, *after)
    [(ids, _)] = client.sample(client.sampler(base_model="tiny"), asked(tokenizer), max_tokens=8, temperature=0)
    greedy, context = [], list(own.ids)
    with torch.no_grad():
        for _ in range(len(ids)):
            hidden = base.hidden(
                base.embed(torch.tensor([context]), base.encode_images([image])),
                base.positions(context, [image])[:, None],
            )
            greedy.append(int(base.logprob_logits(hidden[0, -1], 1.0).argmax()))
            context.append(greedy[-1])
    assert ids.tolist() == greedy


def test_gradients_are_those_of_our_own_learner(client, tiny, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    own = client.server.service.runs[training.model_id].training
    training.loss([shown(tokenizer, answer, weights=[1.0 / len(answer)] * len(answer))])
    before, after, _ = words(tokenizer)
    model = load_model(tiny, media := MediaStore(), LoadSettings(device="cpu"))
    model.forbidden_ids = own.model.forbidden_ids
    image = media.add_encoded(PICTURE, "the test's picture")
    prompt = (*before, *[model.image_token_id] * COUNT, *after)
    sequence = TrainingSequence(
        ids=(*prompt, *answer),
        is_action=(False,) * len(prompt) + (True,) * len(answer),
        images=(image,),
        prompt_tokens=len(prompt),
        prompt_images=1,
        sampled_logprobs=(0.0,) * len(answer),
        advantages=(0.0,) * len(answer),
        token_weight=1.0,
    )
    learner = Learner(model, OptimizerSettings(lora=own.plan.settings(model)))
    learner.accumulate(weighted([sequence], Aggregation(over="tokens")), negative_log_likelihood, temperature=1.0)
    ours = [master.grad for master in learner.optimizer.masters]
    theirs = [master.grad for master in own.learner.optimizer.masters]
    assert len(ours) == len(theirs)
    assert any(float(one.abs().max()) > 1e-3 for one in ours)
    for one, other in zip(ours, theirs):
        assert torch.allclose(one, other, atol=1e-6)


def test_gradients_add_up_until_the_step(client, tokenizer):
    answer = words(tokenizer)[2]
    data = [shown(tokenizer, answer, weights=[1.0] * len(answer))]
    twice, whole = client.train(), client.train()
    norms = []
    for training, calls in ((twice, [data, data]), (whole, [data * 2])):
        for examples in calls:
            training.loss(examples)
        norms.append(training.step()["metrics"]["gradient_norm"])
    assert norms[0] == pytest.approx(norms[1], rel=1e-5)
    # After the step there is none.
    assert "forward_backward first" in twice.step()["error"]


def test_a_step_is_that_of_adamw_with_the_numbers_that_came_along(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    training.loss([shown(tokenizer, answer, weights=[1.0] * len(answer))])
    own = client.server.service.runs[training.model_id].training.learner.optimizer
    before = [one.detach().clone() for one in own.masters]
    gradients = [one.grad.clone() for one in own.masters]
    norm = float(torch.stack([one.square().sum() for one in gradients]).sum().sqrt())
    told = training.step(learning_rate=0.1, eps=0.05, weight_decay=0.5, grad_clip_norm=1.0)["metrics"]
    assert told["gradient_norm"] == pytest.approx(norm, rel=1e-5)
    assert norm > 1
    for weight, start, gradient in zip(own.masters, before, gradients):
        # Both moments, with their bias taken out, are those of the first gradient.
        clipped = gradient / norm
        expected = start * (1 - 0.1 * 0.5) - 0.1 * clipped / (clipped.abs() + 0.05)
        assert torch.allclose(weight, expected, atol=1e-5)


def test_a_loss_that_is_no_number_drops_the_gradient(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    training.loss([shown(tokenizer, answer, weights=[1.0] * len(answer))])
    numbers = {"logprobs": [-90.0] * len(answer), "advantages": [3e38] * len(answer)}
    assert "not a finite number" in training.loss([shown(tokenizer, answer, **numbers)], "importance_sampling")["error"]
    assert "forward_backward first" in training.step()["error"]


def test_a_forward_alone_leaves_no_gradient(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    data = [shown(tokenizer, answer, weights=[1.0] * len(answer))]
    value, _ = training.loss(data, forward_only=True)
    assert "forward_backward first" in training.step()["error"]
    assert training.loss(data)[0] == pytest.approx(value, abs=1e-4)


def test_snapshots_stay_as_they_were_saved_and_the_oldest_makes_room(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    data = [shown(tokenizer, answer, weights=[1.0] * len(answer))]
    chunks = [*asked(tokenizer), json_text(answer)]
    first = training.snapshot()
    before = client.prompt_logprobs(first, chunks)
    training.loss(data)
    training.step()
    second = training.snapshot()
    assert np.array_equal(client.prompt_logprobs(first, chunks), before, equal_nan=True)
    assert client.prompt_logprobs(second, chunks)[-len(answer) :].sum() > before[-len(answer) :].sum() + 1
    training.snapshot()
    assert "let go" in client.ask(first, chunks, max_tokens=1)["error"]


def test_samplers_in_flight_take_newer_weights(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    chunks = [*asked(tokenizer), json_text(answer)]
    sampler = training.snapshot(kind="inflight")
    before = client.prompt_logprobs(sampler, chunks)
    training.loss([shown(tokenizer, answer, weights=[1.0] * len(answer))])
    training.step()
    assert np.array_equal(client.prompt_logprobs(sampler, chunks), before, equal_nan=True)
    training.snapshot(kind="inflight")
    assert not np.array_equal(client.prompt_logprobs(sampler, chunks), before, equal_nan=True)


def test_a_loaded_state_goes_on_as_the_one_that_was_saved(client, tokenizer, tiny):
    training, answer = client.train(), words(tokenizer)[2]
    data = [shown(tokenizer, answer, weights=[1.0] * len(answer))]
    training.loss(data)
    training.step()
    path = client.result("save_weights", training.body(path="one"))["path"]
    assert path == f"tinker://{training.model_id}/weights/one"
    loaded = []
    for number, optimizer in ((90, True), (91, False)):
        asked = {"session_id": client.session, "model_seq_id": number, "path": path, "optimizer": optimizer}
        loaded.append(PlainTraining(client, client.result("load_weights", asked)["model_id"]))
    after = []
    for one in (training, *loaded):
        one.loss(data)
        one.step()
        after.append(one.loss(data, forward_only=True)[0])
    assert after[0] == after[1] != after[2]
    info = client.post("weights_info", {"tinker_path": path}).json()
    assert (info["base_model"], info["lora_rank"]) == ("tiny", 4)
    found = client.get(f"training_runs/{training.model_id}/checkpoints").json()["checkpoints"]
    assert [one["tinker_path"] for one in found] == [path]
    assert "overwrite" in client.result("save_weights", training.body(path="one"))["error"]
    # It is a checkpoint that any command of ours loads.
    directory = client.server.service.root / training.model_id.replace(":", "-") / "weights" / "one"
    assert load_model(directory, MediaStore(), LoadSettings(device="cpu")).adapter is not None


def test_an_adapter_of_a_head_that_is_the_embedding_too_is_not_merged(client, tmp_path):
    """The sum would change what tokens are read as; without the head the merged model is the adapter's."""
    with_head, without = client.train(), client.train(train_unembed=False)
    paths = []
    for training in (with_head, without):
        training.loss([example([text_chunk([5, 6, 7])], target_tokens=[6, 7, 8])])
        training.step()
        path = client.result("save_weights", training.body(path="end"))["path"]
        paths.append(SavedAdapter.at(path).directory(client.server.service.root))
    with pytest.raises(UserError, match="train_unembed=False"):
        write_merged(paths[0], tmp_path / "wrong")
    write_merged(paths[1], tmp_path / "merged")
    ids = torch.tensor([[5, 6, 7]])
    models = [load_model(one, MediaStore(), LoadSettings(device="cpu")) for one in (paths[1], tmp_path / "merged")]
    with torch.no_grad():
        places = models[0].positions([5, 6, 7], [])[:, None]
        adapted, merged = (one.head_logits(one.hidden(one.embed(ids, []), places)) for one in models)
    assert torch.allclose(adapted, merged, atol=1e-4)


def test_a_sampler_of_a_saved_path(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    training.loss([shown(tokenizer, answer, weights=[1.0] * len(answer))])
    training.step()
    chunks = [*asked(tokenizer), json_text(answer)]
    path = client.result("save_weights_for_sampler", training.body(path="end"))["path"]
    expected = client.prompt_logprobs(training.snapshot(), chunks)
    sampler = client.sampler(model_path=path)
    assert np.array_equal(client.prompt_logprobs(sampler, chunks), expected, equal_nan=True)
    assert client.get(f"samplers/{sampler}").json()["model_path"] == path


def test_several_targets_at_a_token(client, tokenizer):
    training, ids = client.train(), words(tokenizer)[2]
    chunks = [text_chunk(ids)]
    targets = np.asarray([[one, one + 1] for one in ids])
    value, [wide] = training.loss([example(chunks, target_tokens=targets, weights=np.full(targets.shape, 0.5))])
    narrow = [training.loss([example(chunks, target_tokens=targets[:, k])])[1][0] for k in (0, 1)]
    assert wide.shape == targets.shape
    assert np.abs(wide - np.stack(narrow, axis=1)).max() < 1e-5
    assert value == pytest.approx(-0.5 * wide.sum(), rel=1e-4)


def test_the_ratio_of_a_sequence_is_of_its_own_tokens(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    # Ratios are e^0.1 for all: of tokens outside the mask, whose numbers are 0, none counts.
    _, [logprobs] = training.loss([shown(tokenizer, answer, weights=[1.0] * len(answer))], forward_only=True)
    sampled = logprobs[-len(answer) :] - 0.1
    numbers = {"logprobs": sampled, "advantages": [1.0] * len(answer), "sequence_ratio_mask": [1.0] * len(answer)}
    value, [again] = training.loss([shown(tokenizer, answer, **numbers)], "gspo")
    assert value == pytest.approx(-len(answer) * np.exp(0.1), rel=1e-4)
    assert np.abs(again - logprobs).max() < 1e-5


def test_a_number_that_comes_again_is_the_same_work(client, tokenizer):
    training, answer = client.train(), words(tokenizer)[2]
    body = loss_body(training.model_id, 1, [shown(tokenizer, answer, weights=[1.0] * len(answer))], "cross_entropy")
    assert client.post("forward_backward", body).json() == client.post("forward_backward", body).json()
    step = {"model_id": training.model_id, "seq_id": 2, "adam_params": ADAM}
    first, again = client.result("optim_step", step), client.result("optim_step", step)
    assert first == again
    assert first["metrics"]["gradient_norm"] > 0
    assert "passed over" in str(client.post("optim_step", step | {"seq_id": 0}).json())


WRONG = [
    ({"target_tokens": [1]}, "cross_entropy", "one for each of the 3 tokens"),
    ({"target_tokens": [1, 2, 3], "weights": [1, 1]}, "cross_entropy", r"weights has the shape \[2\]"),
    ({"target_tokens": [1, 2, 3]}, "ppo", "lacks 'logprobs'"),
    ({"target_tokens": [1, 2, 3], "mask": [1, 1, 1]}, "cross_entropy", "'mask'"),
    ({"target_tokens": [1, 2, 10**6]}, "cross_entropy", "none of the model's"),
    ({"target_tokens": [1, 2, 3], "weights": [1, 1, np.nan]}, "cross_entropy", "not finite"),
]


@pytest.mark.parametrize(("inputs", "loss", "told"), WRONG)
def test_inputs_that_do_not_fit(client, inputs, loss, told):
    training = client.train()
    answer = training.loss([example([text_chunk([5, 6, 7])], **inputs)], loss)
    assert answer["category"] == "user"
    assert re.search(told, answer["error"])


@pytest.mark.parametrize(
    ("chunk", "told"),
    [
        (picture_chunk(b"no picture at all"), "picture 0"),
        (picture_chunk(PICTURE[:200]), "damaged or cut off"),
        (picture_chunk(PICTURE, 7), "is 20 tokens and expected_tokens says 7"),
        (text_chunk([-1]), "none of the model's"),
        (b"\x1a\x02\x0a\x00", "sound is not served"),
    ],
)
def test_chunks_that_the_model_cannot_take(client, chunk, told):
    answer = client.train().loss([example([text_chunk([5]), chunk], target_tokens=[1, 2])])
    assert told in str(answer)


def test_a_placeholder_in_the_text_is_no_picture(client):
    base = client.server.service.base
    answer = client.train().loss([example([text_chunk([base.image_token_id])], target_tokens=[1])])
    assert "send the picture as a chunk" in answer["error"]
    never = client.train().loss([example([text_chunk([5])], target_tokens=[base.image_token_id])])
    assert "never writes" in never["error"]


def test_what_cannot_be_done_is_refused_in_words(client, tokenizer):
    made = {"session_id": client.session, "model_seq_id": 50, "base_model": "tiny", "lora_config": {"rank": 4}}
    for change, told in (
        ({"base_model": "Qwen/Qwen3-8B"}, "it is 'tiny'"),
        ({"lora_config": None}, "adapters alone"),
        ({"lora_config": {"rank": 0}}, "rank=0"),
        ({"optimizer_config": {"type": "dimuon"}}, "AdamW"),
        ({"session_id": "s-none"}, "no session"),
    ):
        assert told in client.post("create_model", made | change).json()["detail"]
    training, sampler = client.train(), client.sampler(base_model="tiny")
    assert "finite" in client.result("optim_step", training.body(adam_params=ADAM | {"beta1": 1.0}))["detail"]
    assert "letters" in client.result("save_weights", training.body(path="../../etc"))["detail"]
    assert "tinker://RUN" in client.result("load_weights", training.body(path="/etc/passwd", optimizer=False))["detail"]
    for params, told in (
        ({"temperature": -1}, "temperature"),
        ({"max_tokens": 10**9}, "the model takes"),
        ({"stop": []}, "stop must be"),
        ({"stop": [10**9]}, "stop has"),
    ):
        assert told in str(client.ask(sampler, [json_text([5])], **{"max_tokens": 2, **params}))
    assert "target_prompt_logprobs" in str(
        client.ask(sampler, [json_text([5])], more={"target_prompt_logprobs": {"a": 1}})
    )
    assert client.post("asample", {"sampling_session_id": "s:sample:0"}).status_code == 404
    assert client.post("retrieve_future", {"request_id": "none"}).status_code == 404
    assert "not served" in client.post("copy_weights", {}).json()["detail"]
    assert client.post("create_session", b"{").status_code == 400


def test_stop_tokens_end_a_sample_and_count_as_stopped(client, tokenizer):
    sampler = client.sampler(base_model="tiny")
    for seed in range(50):
        [(ids, _)] = client.sample(sampler, asked(tokenizer), max_tokens=8, seed=seed)
        texts = [tokenizer.decode([int(one)]) for one in ids]
        # One that spells a text by itself, which no token before it does.
        if texts[4].isalnum() and texts[4].isascii() and texts[4] not in "".join(texts[:4]):
            break
    for stop in (texts[4], [int(ids[4])], [texts[4]]):
        answer = client.ask(sampler, asked(tokenizer), max_tokens=8, seed=seed, stop=stop)
        [sequence] = [WireFields(part) for part in answer.parts(1)]
        assert sequence.number(1) == 0
        assert np.frombuffer(sequence.part(2), "<i4").tolist() == ids[:5].tolist()
    [whole] = [WireFields(one) for one in client.ask(sampler, asked(tokenizer), max_tokens=8, seed=seed).parts(1)]
    assert whole.number(1) == 1


def test_models_of_a_session_that_ended_are_gone(client):
    training = client.train()
    assert client.post("get_info", {"model_id": training.model_id}).json()["lora_rank"] == 4
    assert client.post(f"sessions/{client.session}/finish", {}).status_code == 200
    assert client.post("get_info", {"model_id": training.model_id}).status_code == 404
    assert client.post("session_heartbeat", {"session_id": client.session}).status_code == 404


def test_a_server_with_a_token_asks_for_it(tiny, tmp_path):
    with serving_tinker(tiny, tmp_path, token="tml-secret", models=1) as client:
        refused = client.post("create_session", {})
        assert refused.status_code == 401
        assert "X-API-Key" in refused.json()["detail"]
        client.headers = {"X-API-Key": "tml-wrong"}
        assert client.post("create_session", {}).status_code == 401
        client.headers = {"X-API-Key": "tml-secret"}
        client.begin().train()
        more = {"session_id": client.session, "model_seq_id": 9, "base_model": "tiny", "lora_config": {"rank": 1}}
        assert "--models" in client.post("create_model", more).json()["detail"]
