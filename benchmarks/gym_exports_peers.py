"""What ``gym_exports.py`` runs in the Pythons of others, and TRL's trainer on exported rows."""

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

VERL = """
import json, sys
from pathlib import Path
import numpy as np, torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from transformers import Qwen2_5_VLProcessor, Qwen2TokenizerFast, Qwen2VLImageProcessor, Qwen2VLVideoProcessor
from verl import DataProto
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.utils.import_utils import load_extern_object
from verl.workers.reward_manager.naive import NaiveRewardManager

work = Path(sys.argv[1])
tokenizer = Qwen2TokenizerFast.from_pretrained(work / "tiny")
images = Qwen2VLImageProcessor.from_pretrained(work / "tiny")
processor = Qwen2_5_VLProcessor(images, tokenizer, Qwen2VLVideoProcessor(), chat_template=tokenizer.chat_template)
config = OmegaConf.create({"max_prompt_length": 4096, "filter_overlong_prompts_workers": None,
    "cache_dir": str(work / "verl_cache")})
rows = RLHFDataset([str(work / "verl" / "train.parquet")], tokenizer, config, processor=processor)
batch = collate_fn([rows[i] for i in range(4)])
score = load_extern_object(str(work / "verl" / "reward.py"), "compute_score")
replies = json.loads((work / "replies.json").read_text())
first = rows[0]
by_function = [score("s", one, first["reward_model"]["ground_truth"], first["extra_info"])["score"] for one in replies]

class Texts:
    def decode(self, ids, skip_special_tokens=True):
        return replies[int(ids[0])] if len(ids) else ""

count = len(replies)
ids = torch.arange(count)[:, None]
one = torch.ones(count, 2, dtype=torch.long)
tensors = TensorDict({"prompts": ids, "responses": ids, "attention_mask": one}, batch_size=count)
others = {"reward_model": [first["reward_model"]] * count, "data_source": [first["data_source"]] * count,
    "extra_info": [first["extra_info"]] * count}
data = DataProto(batch=tensors, non_tensor_batch={k: np.array(v, dtype=object) for k, v in others.items()})
paid = NaiveRewardManager(Texts(), 0, compute_score=score)(data).sum(-1).tolist()
assert paid == by_function, (paid, by_function)
print(json.dumps({"rows": len(rows), "columns": sorted(batch), "rewards": paid}))
"""

EASYR1 = """
import json, sys
from pathlib import Path
import numpy as np, torch
from tensordict import TensorDict
from transformers import Qwen2_5_VLProcessor, Qwen2TokenizerFast, Qwen2VLImageProcessor, Qwen2VLVideoProcessor
from verl.protocol import DataProto
from verl.utils.dataset import RLHFDataset, collate_fn
from verl.workers.reward.config import RewardConfig
from verl.workers.reward.function import AutoRewardManager

work = Path(sys.argv[1])
tokenizer = Qwen2TokenizerFast.from_pretrained(work / "tiny")
images = Qwen2VLImageProcessor.from_pretrained(work / "tiny")
processor = Qwen2_5_VLProcessor(images, tokenizer, Qwen2VLVideoProcessor(), chat_template=tokenizer.chat_template)
rows = RLHFDataset(str(work / "easyr1" / "train.parquet"), tokenizer, processor, prompt_key="problem",
    answer_key="answer", max_prompt_length=4096, filter_overlong_prompts_workers=1)
batch = collate_fn([rows[i] for i in range(4)])
replies = json.loads((work / "replies.json").read_text())
config = RewardConfig(reward_function=str(work / "easyr1" / "reward.py") + ":compute_score")
config.post_init()

class Texts:
    def decode(self, ids, skip_special_tokens=True):
        return replies[int(ids[0])]

count = len(replies)
ids = torch.arange(count)[:, None]
tensors = TensorDict({"responses": ids, "response_mask": torch.ones(count, 1, dtype=torch.long)}, batch_size=count)
truths = np.array([rows[0]["ground_truth"]] * count, dtype=object)
data = DataProto(batch=tensors, non_tensor_batch={"ground_truth": truths})
paid, _ = AutoRewardManager(config, Texts()).compute_reward(data)
print(json.dumps({"rows": len(rows), "columns": sorted(batch), "rewards": paid.sum(-1).tolist()}))
"""

VERIFIERS = """
import asyncio, json, sys
from pathlib import Path
import verifiers as vf
from verifiers.types import AssistantMessage

work = Path(sys.argv[1])
env = vf.load_environment(sys.argv[2])
row = env.get_dataset()[0]
replies = json.loads((work / "replies.json").read_text())
[rubric] = [one for one in env.rubric.rubrics if "answer_reward" in [func.__name__ for func in one.funcs]]

async def paid(reply):
    state = vf.State(input=dict(row))
    state.update({"prompt": row["prompt"], "completion": [AssistantMessage(content=reply)], "answer": row["answer"]})
    return await rubric._call_individual_reward_func(rubric.funcs[0], state)

print(json.dumps({"rows": len(env.get_dataset()), "rewards": [asyncio.run(paid(one)) for one in replies]}))
"""

OPENENV = """
import json, sys
from importlib.metadata import version
from pathlib import Path
from openenv.core.generic_client import GenericEnvClient

url, calls = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
played = []
client = GenericEnvClient(base_url=url)
with (client.sync() if hasattr(client, "sync") else client) as env:
    for episode in calls:
        first = env.reset(seed=episode["seed"])
        shown = [first.observation["text"]]
        for reply in episode["replies"]:
            result = env.step({"text": reply})
            shown.append(result.observation["text"])
        state = env.state()
        played.append({
            "shown": shown, "pictures": len(first.observation["images"]), "reward": result.reward, "done": result.done,
            "steps": state["step_count"], "tells_answer": "answer" in state,
        })
print(json.dumps({"version": version("openenv"), "played": played}))
"""
"""OpenEnv's own client, which knows nothing of this project: episodes of given replies, and what it saw of them."""


def trl_steps(work: Path, rows: object, answers: Sequence[str], steps: int = 2) -> dict:
    """Steps of GRPOTrainer on exported rows; the tokens that are drawn say the answer in every other rollout."""
    import numpy as np
    import torch
    from transformers import AutoImageProcessor, AutoTokenizer, LogitsProcessorList, Qwen2_5_VLForConditionalGeneration
    from trl import GRPOConfig, GRPOTrainer

    from saccade.bench.trl_side import PictureProcessor, ScriptedLogits

    sys.path.insert(0, str(work / "trl"))
    from reward import answer_reward

    tokenizer = AutoTokenizer.from_pretrained(work / "tiny", padding_side="left")
    images = AutoImageProcessor.from_pretrained(work / "tiny")
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(work / "tiny", dtype="float32")
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    generate, asked = model.generate, iter(answers)

    def forced(*, input_ids: torch.Tensor, **inputs: object) -> torch.Tensor:
        said = []
        for answer in itertools.islice(asked, len(input_ids) // 2):
            said += [f"<think>a</think><answer>{answer}</answer>", "<think>a</think><answer>none</answer>"]
        ids = [[*tokenizer(text, add_special_tokens=False).input_ids, tokenizer.eos_token_id] for text in said]
        longest = max(map(len, ids))
        padded = torch.tensor([one + [tokenizer.eos_token_id] * (longest - len(one)) for one in ids])
        forcing = LogitsProcessorList([ScriptedLogits(padded, input_ids.shape[1])])
        return generate(input_ids=input_ids, logits_processor=forcing, **inputs)

    model.generate = forced
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=answer_reward,
        train_dataset=rows,
        processing_class=PictureProcessor(images, tokenizer),
        args=GRPOConfig(
            output_dir=str(work / "trl_out"),
            per_device_train_batch_size=4,
            num_generations=2,
            max_completion_length=128,
            max_steps=steps,
            learning_rate=1e-3,
            beta=0.0,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            logging_steps=1,
            report_to="none",
            shuffle_dataset=False,
            dataloader_pin_memory=False,
        ),
    )
    trainer.train()
    rewards = [one["reward"] for one in trainer.state.log_history if "reward" in one]
    changed = sum(not torch.equal(before[name], value) for name, value in model.named_parameters())
    return {
        "steps": len(rewards),
        "rewards": rewards,
        "parameters_changed": changed,
        "parameters": len(before),
        "is_as_expected": changed > 0 and np.allclose(rewards, 0.5),
    }
