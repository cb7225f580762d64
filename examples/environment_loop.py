"""The Gymnasium environment played by hand: a drawn question, a crop, an answer and its reward.

python examples/environment_loop.py
"""

import gymnasium

import saccade.envs  # noqa: F401, registers saccade/VisualReasoning-v0


def main() -> None:
    env = gymnasium.make("saccade/VisualReasoning-v0", family="visual_search", difficulty=0.0)
    observation, _ = env.reset(seed=0)
    print(observation["text"].splitlines()[-1])
    print("pictures:", [picture.shape for picture in observation["images"]])
    call = '{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}'
    observation, *_ = env.step(f"<think>The upper left first.</think><tool_call>{call}</tool_call>")
    print(observation["text"])
    _, reward, answered, _, _ = env.step("<think>Seen.</think><answer>rows</answer>")
    print(f"reward {reward}, answered: {answered}")
    env.close()


if __name__ == "__main__":
    main()
