"""Rows as published data sets and other trainers' documents have them, and the task that each one means.

Pictures are ``{name}.png`` of 96 x 64 pixels; ``PNG`` stands for the bytes of one, ``BASE64`` for its base64.
"""

import io
import json
from typing import NamedTuple

from PIL import Image

BOX = [24, 16, 48, 40]
OTHER = [50, 20, 60, 30]
PNG, BASE64 = "<bytes>", "<base64>"
COLOUR = "What colour is the dot?"
OPTIONS = "(A) red\n(B) green\n(C) blue\n(D) yellow"
THINK = "You FIRST think. The final answer MUST BE put in \\boxed{}."


def png() -> bytes:
    raw = io.BytesIO()
    Image.new("RGB", (96, 64), "red").save(raw, "PNG")
    return raw.getvalue()


class Published(NamedTuple):
    """A row with what it means."""

    row: dict[str, object]
    question: str
    answer: str
    kind: str = "exact"
    images: int = 1
    choices: tuple[str, ...] = ()
    left_out: str = ""
    """A word of the line that says what is left out."""


def chat(question: object, answer: object, names: tuple[str, str, str, str] = ("role", "content", "user", "assistant")):  # type: ignore[no-untyped-def]
    role, content, user, assistant = names
    asked = [{role: user, content: question}]
    return [*asked, {role: assistant, content: answer}] if answer is not None else asked


def llava(question: object, answer: object):  # type: ignore[no-untyped-def]
    return chat(question, answer, ("from", "value", "human", "gpt"))


def part(**fields: object) -> list[dict[str, object]]:
    return [{"type": "image", **fields}, {"type": "text", "text": COLOUR}]


REC = "Please provide the bounding box coordinate of the region this sentence describes: the red dot."
DETECT = "Detect all dots, and provide the bounding boxes (between 0 and 1000, integer) and confidence."
BOXES = json.dumps([BOX, OTHER])

AUDITED: dict[str, Published] = {
    "geometry3k": Published(
        {"images": [{"bytes": PNG, "path": None}], "problem": "<image>Find x.", "answer": "2 \\sqrt { 221 }"},
        "Find x.",
        "2 \\sqrt { 221 }",
        "math",
    ),
    "open-r1-8k": Published(
        {
            "image": {"bytes": PNG, "path": "a.png"},
            "problem": "Which is x?\nChoices:\nA: 20\nB: 40",
            "solution": "<think>It is 20.</think>\n\n<answer>A</answer>",
            "original_answer": "The answer is A",
        },
        "Which is x?\nChoices:\nA: 20\nB: 40",
        "A",
        "choice",
        left_out="thoughts",
    ),
    "vlm-r1": Published(
        {"image": "a.png", "conversations": llava("<image>How many?", "0")}, "How many?", "0", "integer"
    ),
    "vlm-r1 number": Published(
        {"image": "a.png", "conversations": llava("<image>How many?", 3)}, "How many?", "3", "integer"
    ),
    "vlm-r1 rec": Published(
        {"image": "a.png", "problem": None, "conversations": llava(f"<image>{REC}", [24.0, 16.0, 48.0, 40.0])},
        REC,
        str(BOX),
        "boxes",
    ),
    "vlm-r1 rec, old": Published(
        {"image": "a.png", "problem": "the red dot", "solution": [24.0, 16.0, 48.0, 40.0], "normal_caption": "dot"},
        "the red dot",
        str(BOX),
        "boxes",
    ),
    "llama-factory": Published(
        {
            "messages": [*chat("<image>Who?", "Kane."), *chat("What are they doing?", "Celebrating.")],
            "images": ["a.png"],
        },
        "Question: [image 1]Who?\nAnswer: Kane.\nQuestion: What are they doing?",
        "Celebrating.",
    ),
    "ms-swift grounding": Published(
        {
            "messages": chat("<image>Find the <ref-object> in the image", "<bbox><bbox>"),
            "images": ["a.png"],
            "objects": {"ref": ["sheep"], "bbox": [BOX, OTHER]},
        },
        "Find the sheep in the image",
        BOXES,
        "boxes",
    ),
    "ms-swift grpo": Published(
        {"messages": chat(f"<image>{COLOUR}", None), "images": ["a.png"], "solution": "<answer> red </answer>"},
        COLOUR,
        "red",
    ),
    "ms-swift agent": Published(
        {
            "tools": "[]",
            "messages": [
                *chat("<image>What time is it?", "<think>\nopen the calendar\n</think>\n"),
                {"role": "tool_call", "content": '{"name": "click", "arguments": {}}'},
                {"role": "tool_response", "content": '{"images": "<image>"}'},
                {"role": "assistant", "content": "11:00"},
            ],
            "images": ["a.png", "b.png"],
        },
        "What time is it?",
        "11:00",
        left_out="tools",
    ),
    "ms-swift query": Published({"query": f"<image>{COLOUR}", "response": "red", "images": ["a.png"]}, COLOUR, "red"),
    "alpaca": Published(
        {"instruction": f"<image>{COLOUR}", "input": "", "output": "red", "images": ["a.png"]}, COLOUR, "red"
    ),
    "trl prompt": Published({"prompt": chat(COLOUR, None), "images": ["a.png"], "solution": "red"}, COLOUR, "red"),
    "trl grpo": Published(
        {
            "prompt": chat(part(text=None), None),
            "image": {"bytes": PNG, "path": None},
            "solution": "<answer>red</answer>",
        },
        COLOUR,
        "red",
    ),
    "trl prompt-completion": Published(
        {"prompt": chat(COLOUR, None), "completion": [{"role": "assistant", "content": "red"}], "images": ["a.png"]},
        COLOUR,
        "red",
    ),
    "trl messages": Published(
        {"messages": chat(part(text=None), [{"type": "text", "text": "red"}]), "images": [{"bytes": PNG}]},
        COLOUR,
        "red",
    ),
    "verl geo3k": Published(
        {
            "data_source": "hiyouga/geometry3k",
            "prompt": [{"role": "system", "content": "You are an expert."}, *chat(f"<image>Find x. {THINK}", None)],
            "images": [{"bytes": PNG, "path": None}],
            "reward_model": {"style": "rule", "ground_truth": "\\frac { 3 } { 4 }"},
            "extra_info": {"split": "train", "index": 1, "question": "<image>Find x."},
        },
        "Find x.",
        "\\frac { 3 } { 4 }",
        "math",
        left_out="text cut from prompts",
    ),
    "deepeyes": Published(
        {
            "data_source": "vstar",
            "prompt": chat(f"<image>\n{COLOUR}\n{OPTIONS}\nThink first, call **image_zoom_in_tool** if needed.", None),
            "images": [{"bytes": PNG, "path": None}],
            "reward_model": {"ground_truth": "A", "style": "model"},
            "extra_info": {"answer": "red", "index": "0", "question": COLOUR, "split": "train"},
        },
        f"{COLOUR}\n{OPTIONS}",
        "A",
        "choice",
        left_out="text cut from prompts",
    ),
    "virl39k": Published(
        {"question": "<image>\nSolve it. (A) 1 (B) 2", "answer": "\\boxed{A}", "image": ["a.png"], "qid": "q1"},
        "Solve it. (A) 1 (B) 2",
        "A",
        "choice",
    ),
    "mmk12": Published(
        {
            "id": "1",
            "question": "Find $\\angle A$. <image>",
            "answer": "$60^\\circ$",
            "image": {"bytes": PNG, "path": None},
        },
        "Find $\\angle A$.",
        "60^\\circ",
        "math",
    ),
    "mm-eureka": Published(
        {"id": "1", "conversations": json.dumps(chat(part(image="a.png"), None)), "answer": "red"}, COLOUR, "red"
    ),
    "openrlhf-m": Published(
        {"message": json.dumps(chat(part(image="file://{folder}/a.png"), None)), "answer": "red"}, COLOUR, "red"
    ),
    "visual-rft": Published(
        {
            "image": {"bytes": PNG, "path": None},
            "problem": DETECT,
            "solution": "<answer>[{'Position': [250, 250, 500, 625], 'Confidence': 1}]</answer>",
        },
        DETECT,
        str(BOX),
        "boxes",
    ),
    "r1-v clevr": Published(
        {"image": {"bytes": PNG}, "problem": "How many?", "solution": "<answer> 4 </answer>"},
        "How many?",
        "4",
        "integer",
    ),
    "llava": Published(
        {"id": "1", "image": "a.png", "conversations": llava(f"<image>\n{COLOUR}", "red")}, COLOUR, "red"
    ),
    "llama-factory tools": Published(
        {
            "conversations": [
                {"from": "human", "value": "<image>What is the total?"},
                {"from": "function_call", "value": '{"name":"crop","arguments":{"bbox_2d":[0,0,10,10]}}'},
                {"from": "observation", "value": "<image>"},
                {"from": "gpt", "value": "14"},
            ],
            "tools": "[]",
            "images": ["a.png", "b.png"],
        },
        "What is the total?",
        "14",
        "integer",
        left_out="pictures of tools",
    ),
    "pixel-reasoner": Published(
        {"qid": "p", "question": "What colour? \nchoices: A: red B: green", "answer": ["A"], "image": ["a.png"]},
        "What colour? \nchoices: A: red B: green",
        "A",
        "choice",
    ),
    "journeybench": Published(
        {"images": ["a.png", "b.png"], "problem": "<image><image>Which is red? A. first B. second", "answer": "A"},
        "Which is red? A. first B. second",
        "A",
        "choice",
        images=2,
    ),
    "text alone": Published(
        {"images": [], "problem": "What is 2+2?", "answer": "4"}, "What is 2+2?", "4", "integer", images=0
    ),
    "llava-cot": Published(
        {
            "image": "a.png",
            "conversations": llava(
                COLOUR, "<SUMMARY> s </SUMMARY>\n\n<REASONING> r </REASONING>\n\n<CONCLUSION> red </CONCLUSION>"
            ),
        },
        COLOUR,
        "red",
        left_out="thoughts",
    ),
    "r1-onevision": Published(
        {"image": "a.png", "conversations": llava(COLOUR, "<think>It is red.</think>\n\n<answer>red</answer>")},
        COLOUR,
        "red",
        left_out="thoughts",
    ),
    "openai file": Published(
        {
            "messages": chat(
                [{"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "text", "text": COLOUR}], "red"
            )
        },
        COLOUR,
        "red",
    ),
    "thyme": Published(
        {"question": f"<image>{COLOUR}", "response": "<think>x</think><answer>red</answer>", "image": [BASE64]},
        COLOUR,
        "red",
        left_out="thoughts",
    ),
}
"""Layouts that were tried one after the other before any of these rules was written."""

FOUND: dict[str, Published] = {
    "box as list": Published(
        {"question": "Where is the dot?", "answer": BOX, "image": "a.png"}, "Where is the dot?", str(BOX), "boxes"
    ),
    "box by kind": Published(
        {"question": "the dot", "answer": str(BOX), "answer_kind": "boxes", "image": "a.png"},
        "the dot",
        str(BOX),
        "boxes",
    ),
    "box of shares": Published(
        {"question": "Where is it?", "answer": [0.25, 0.25, 0.5, 0.625], "image": "a.png"},
        "Where is it?",
        str(BOX),
        "boxes",
    ),
    "qwen2.5-vl grounding": Published(
        {
            "image": "a.png",
            "conversations": llava(
                "<image>\nLocate the dot, output the bbox in JSON.", '{\n"bbox_2d": [24, 16, 48, 40]\n}'
            ),
        },
        "Locate the dot, output the bbox in JSON.",
        str(BOX),
        "boxes",
    ),
    "ms-swift qwen3-vl grounding": Published(
        {
            "messages": chat(
                "<image>Find <ref-object>",
                '[\n\t{"bbox_2d": <bbox>, "label": "<ref-object>"}\n\t{"bbox_2d": <bbox>, "label": "<ref-object>"}\n]',
            ),
            "images": ["a.png"],
            "objects": {"ref": ["sheep", "sheep", "sheep"], "bbox": [BOX, OTHER]},
        },
        "Find sheep",
        BOXES,
        "boxes",
    ),
    "ms-swift grounding, old": Published(
        {
            "query": "Find <ref-object>",
            "response": "<bbox>",
            "images": ["a.png"],
            "objects": json.dumps(
                [{"caption": "guy in red", "bbox": [BOX, OTHER][:1], "bbox_type": "real", "image": 0}]
            ),
        },
        "Find guy in red",
        str(BOX),
        "boxes",
    ),
    "internlm-xcomposer": Published(
        {
            "id": "1",
            "image": ["a.png"],
            "conversations": [
                {"from": "user", "value": "Can you guide me to the location of the dot?"},
                {"from": "assistant", "value": "The bounding box is [24, 16, 48, 40]"},
            ],
        },
        "Can you guide me to the location of the dot?",
        str(BOX),
        "boxes",
    ),
    "qwen-vl": Published(
        {
            "id": "1",
            "conversations": [
                {"from": "user", "value": f"Picture 1: <img>a.png</img>\n{COLOUR}"},
                {"from": "assistant", "value": "red"},
            ],
        },
        COLOUR,
        "red",
    ),
    "paligemma": Published({"image": "a.png", "prefix": COLOUR, "suffix": "red"}, COLOUR, "red"),
    "torchtune": Published({"dialogue": llava(COLOUR, "red"), "image_path": "a.png"}, COLOUR, "red"),
    "openai, picture second": Published(
        {
            "messages": [
                {"role": "user", "content": COLOUR},
                *chat([{"type": "image_url", "image_url": {"url": "a.png"}}], "red"),
            ]
        },
        COLOUR,
        "red",
    ),
    "openai, data url": Published(
        {
            "messages": chat(
                [
                    {"type": "text", "text": COLOUR},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}},
                ],
                "red",
            )
        },
        COLOUR,
        "red",
    ),
    "q-bench2": Published(
        {
            "image1": {"bytes": PNG},
            "image2": {"bytes": PNG},
            "question": "Which is sharper?",
            "option0": "first",
            "option1": "second",
            "answer": "A",
        },
        "Which is sharper?",
        "A",
        "choice",
        images=2,
        choices=("first", "second"),
    ),
    "pmc-vqa": Published(
        {
            "image": {"bytes": PNG},
            "question": COLOUR,
            "answer": "red",
            "choice a": "red",
            "choice b": "green",
            "answer label": "A",
        },
        COLOUR,
        "red",
        "choice",
        choices=("red", "green"),
    ),
    "geommbench": Published(
        {
            "index": 1,
            "question": COLOUR,
            "answer": "B",
            "A": "red",
            "B": "green",
            "C": None,
            "D": None,
            "image": {"bytes": PNG},
        },
        COLOUR,
        "B",
        "choice",
        choices=("red", "green"),
    ),
    "pictures as text": Published({"question": COLOUR, "answer": "red", "images": '["a.png"]'}, COLOUR, "red"),
    "chestx-reasoner": Published(
        {
            "data_source": "mimic",
            "prompt": chat(f"<image>{COLOUR}\nLet's think step by step.", None),
            "images": ["a.png"],
            "reward_model": {"style": "rule", "ground_truth": "red"},
            "extra_info": {"split": "train", "index": 0, "answer": "red", "question": f"<image>{COLOUR}"},
        },
        COLOUR,
        "red",
        left_out="text cut from prompts",
    ),
    "refcoco of vlm-r1": Published(
        {
            "height": 64,
            "id": 0,
            "bbox_list": [[24, 16, 24, 24]],
            "image": "a.png",
            "problem": REC,
            "solution": [24.0, 16.0, 48.0, 40.0],
            "normalized_solution": [250, 250, 500, 625],
        },
        REC,
        str(BOX),
        "boxes",
    ),
}
"""Rows of cards and trackers that were looked at while the readers were written."""

HELD_BACK: dict[str, Published] = {
    "apex-gro-rl": Published(
        {
            "data_source": "APEX-GRO",
            "prompt": [{"role": "system", "content": "Tools."}, *chat(f"<image>{COLOUR}", None)],
            "images": [{"bytes": PNG, "name": "a", "path": None}],
            "ability": "counting",
            "reward_model": json.dumps({"ground_truth": "red", "style": "model"}),
            "extra_info": json.dumps({"index": "7", "split": "train"}),
        },
        COLOUR,
        "red",
        left_out="system prompts",
    ),
    "skyrl geometry3k": Published(
        {
            "data_source": "geometry3k",
            "prompt": chat(
                [
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}},
                    {"type": "text", "text": "Find x."},
                ],
                None,
            ),
            "env_class": "geometry3k",
            "reward_spec": {"method": "rule", "ground_truth": "20"},
            "extra_info": {"split": "train", "index": 3},
        },
        "Find x.",
        "20",
        "integer",
    ),
    "mmsearch-r1": Published(
        {
            "data_source": "imsearch/fvqa",
            "prompt": chat(f"<image>{COLOUR}", None),
            "images": [{"bytes": PNG}],
            "reward_model": {"ground_truth": "red", "candidate_answers": "[]"},
            "image_urls": ["https://example.com/a.png"],
        },
        COLOUR,
        "red",
    ),
    "unsloth": Published(
        {
            "messages": chat(
                [{"type": "text", "text": COLOUR}, {"type": "image", "image": {"bytes": PNG, "path": None}}],
                [{"type": "text", "text": "red", "image": None}],
            )
        },
        COLOUR,
        "red",
    ),
    "axolotl": Published(
        {
            "messages": chat(
                [{"type": "image", "url": "a.png"}, {"type": "text", "text": COLOUR}], [{"type": "text", "text": "red"}]
            )
        },
        COLOUR,
        "red",
    ),
    "internvl grounding": Published(
        {
            "id": 1,
            "image": "a.png",
            "width": 96,
            "height": 64,
            "conversations": llava(
                "<image>\nPlease provide the bounding box of <ref>the dot</ref>.",
                "<ref>the dot</ref><box>[[250, 250, 500, 625]]</box>",
            ),
        },
        "Please provide the bounding box of <ref>the dot</ref>.",
        str(BOX),
        "boxes",
    ),
    "cauldron": Published(
        {"images": [{"bytes": PNG, "path": None}], "texts": [{"user": COLOUR, "assistant": "red", "source": "VQAv2"}]},
        COLOUR,
        "red",
    ),
    "slime": Published({"prompt": chat(f"<image>{COLOUR}", None), "label": "red", "images": ["a.png"]}, COLOUR, "red"),
    "radvlm": Published(
        {
            "image": "a.png",
            "conversations": llava("<image>\nWhere is the dot? Give a bounding box.", "[0.25, 0.25, 0.50, 0.625]"),
        },
        "Where is the dot? Give a bounding box.",
        str(BOX),
        "boxes",
    ),
    "mmmu": Published(
        {
            "id": "x1",
            "question": f"<image 1> {COLOUR}",
            "options": "['red', 'green']",
            "answer": "A",
            "question_type": "multiple-choice",
            "image_1": {"bytes": PNG, "path": "a.png"},
            "image_2": None,
        },
        COLOUR,
        "A",
        "choice",
        choices=("red", "green"),
    ),
    "llava-onevision": Published(
        {
            "id": "1",
            "image": {"bytes": PNG, "path": None},
            "conversations": llava(f"<image>\n{COLOUR}", "red"),
            "data_source": "x",
        },
        COLOUR,
        "red",
    ),
    "seed-bench": Published(
        {
            "question": COLOUR,
            "choice_a": "red",
            "choice_b": "green",
            "choice_c": "blue",
            "choice_d": "grey",
            "answer": "A",
            "image": [{"bytes": PNG}],
            "data_type": "image",
        },
        COLOUR,
        "A",
        "choice",
        choices=("red", "green", "blue", "grey"),
    ),
    "egm": Published(
        {
            "id": 1,
            "image": "a.png",
            "height": 64,
            "width": 96,
            "conversations": llava(
                "<image>\nLocate the dot.", '```json\n[\n\t{"bbox_2d": [24, 16, 48, 40], "label": "the dot"}\n]\n```'
            ),
        },
        "Locate the dot.",
        str(BOX),
        "boxes",
    ),
}
"""Rows of cards and documents that were written down once the readers were done, and read at the first try."""
