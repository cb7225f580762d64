"""Advantages beside those that TRL's trainers work out in a real step of a tiny language model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from algorithm_samples import group, trajectory

from saccade.algorithms.advantages import group_relative, leave_one_out
from saccade.algorithms.gdpo import by_term
from saccade.models.tokenizer import build_tokenizer
from saccade.types import Group, Score, Term

pytest.importorskip("trl", reason='compares with TRL; pip install -e ".[trl]"')
pytest.importorskip("datasets", reason='TRL reads its prompts from a data set; pip install -e ".[datasets]"')

import torch
from datasets import Dataset
from transformers import Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

REWARDS = ((1.0, 1.0, 0.0, 0.0), (0.3, 0.3, 0.3, 0.3), (3.0, 0.0, 0.5, None))
"""By group; None could not be scored."""
TRL_STD_FLOOR, OUR_STD_FLOOR = 1e-4, 1e-6

# TRL calls functions that transformers is about to rename.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def groups() -> list[Group]:
    return [
        group(*[trajectory(one, status="answered" if one is not None else "failed") for one in rewards])
        for rewards in REWARDS
    ]


def rewards_in_order(completions: list[str], **_: object) -> list[float | None]:
    flat = [reward for of_group in REWARDS for reward in of_group]
    assert len(completions) == len(flat)
    return flat


def trl_advantages(
    trainer_class: type,
    config_class: type,
    directory: Path,
    reward_funcs: Sequence[Callable[..., list[float | None]]] = (rewards_in_order,),
    **settings: object,
) -> list[list[float]]:
    """Of a step in which TRL samples two tokens per completion and is given our rewards."""
    tokenizer = build_tokenizer(["a b c d e"] * 3)
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            num_attention_heads=2,
            num_key_value_heads=1,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            **size,
        )
    )
    count = sum(map(len, REWARDS))
    arguments = config_class(
        output_dir=str(directory),
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=count,
        num_generations=len(REWARDS[0]),
        max_completion_length=2,
        report_to=[],
        beta=0.0,
        **settings,
    )
    prompts = [{"prompt": name} for name in "abc" for _ in REWARDS[0]]
    trainer = trainer_class(
        model=model,
        reward_funcs=list(reward_funcs),
        args=arguments,
        train_dataset=Dataset.from_list(prompts),
        processing_class=tokenizer,
    )
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    advantages = trainer._generate_and_score_completions(prompts)["advantages"]
    return advantages.view(len(REWARDS), -1).tolist()


def first_turns(advantages: list[list[list[float]]]) -> list[list[float]]:
    return [[turns[0] for turns in of_group] for of_group in advantages]


def assert_close(found: list[list[float]], expected: list[list[float]]) -> None:
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-6, atol=1e-6)


def test_group_relative_without_std_equals_trl_s(tmp_path: Path) -> None:
    expected = trl_advantages(GRPOTrainer, GRPOConfig, tmp_path, scale_rewards="none")
    assert_close(first_turns(group_relative(groups(), scale_by_std=False)), expected)


def test_group_relative_equals_trl_s_but_for_the_floor_of_the_std(tmp_path: Path) -> None:
    expected = trl_advantages(GRPOTrainer, GRPOConfig, tmp_path, scale_rewards="group")
    stds = [float(torch.tensor([one for one in rewards if one is not None]).std()) for rewards in REWARDS]
    ours = [
        [one * (std + OUR_STD_FLOOR) / (std + TRL_STD_FLOOR) for one in of_group]
        for of_group, std in zip(first_turns(group_relative(groups())), stds)
    ]
    assert_close(ours, expected)


def test_leave_one_out_equals_trl_s(tmp_path: Path) -> None:
    expected = trl_advantages(RLOOTrainer, RLOOConfig, tmp_path, normalize_advantages=False)
    assert_close(first_turns(leave_one_out(groups())), expected)


FORMATS = ((1.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 0.0, None))
"""A second term of each trajectory's reward."""


def formats_in_order(completions: list[str], **_: object) -> list[float | None]:
    return [reward for of_group in FORMATS for reward in of_group]


def test_gdpo_equals_trl_s_but_for_the_floors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saccade.algorithms.advantages.STD_FLOOR", TRL_STD_FLOOR)
    weights = [1.0, 0.3]
    expected = trl_advantages(
        GRPOTrainer,
        GRPOConfig,
        tmp_path,
        (rewards_in_order, formats_in_order),
        multi_objective_aggregation="normalize_then_sum",
        reward_weights=weights,
    )
    two_terms = [
        replace(
            one,
            trajectories=tuple(
                replace(each, score=Score(terms=(Term("accuracy", right, 1.0), Term("format", form, 0.3))))
                if right is not None and form is not None
                else each
                for each, right, form in zip(one.trajectories, rewards, formats)
            ),
        )
        for one, rewards, formats in zip(groups(), REWARDS, FORMATS)
    ]
    assert_close(first_turns(by_term(two_terms)), expected)
