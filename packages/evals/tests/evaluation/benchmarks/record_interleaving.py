"""Records where the harnesses' own functions put the pictures of a question, in the environment of ``record_rules.py``.

    python record_interleaving.py > recorded_interleaving.json

Each record has the row, how many pictures it has, and the content that is sent: texts, and pictures by their number.
"""

import contextlib
import io
import json
import os

from record_rules import shells, stand_ins

stand_ins("torch", "torch.nn", "torch.distributed", "torchvision", "torchvision.transforms", "decord", "accelerate")
stand_ins("accelerate.utils", "vlmeval.api", "vlmeval.vlm", "lmms_eval.api.model")
shells("vlmeval", "vlmeval.dataset")
shells("lmms_eval", "lmms_eval.tasks", "lmms_eval.api")
os.environ.update(OPENAI_API_KEY="none", OPENAI_BASE_URL="http://127.0.0.1:9/v1")

import pandas as pd  # noqa: E402
from lmms_eval.tasks.mindcube import utils as lmms_mindcube  # noqa: E402
from lmms_eval.tasks.mmmu import utils as lmms_mmmu  # noqa: E402
from vlmeval.dataset.image_mcq import MMMUDataset  # noqa: E402
from vlmeval.dataset.mindcubebench import MindCubeBench  # noqa: E402

OPTIONS = {"A": "red", "B": "blue"}
MMMU_ROWS = (
    ({"question": "<image 1> What is it?", **OPTIONS}, 1),
    ({"question": "What does <image 1> show?", **OPTIONS}, 1),
    ({"question": "Between <image 1> and <image 2>, which is older?", **OPTIONS}, 2),
    ({"question": "<image 1>\n<image 2>\nCompare.", **OPTIONS}, 2),
    ({"question": "First <image 2>, then <image 1>: which?", **OPTIONS}, 2),
    ({"question": "<image 1> and again <image 1>.", **OPTIONS}, 1),
    ({"question": "Which of these fits <image 1>?", "A": "<image 2>", "B": "<image 3>", "C": "none"}, 3),
    ({"question": "Which?", "A": "<image 1>", "B": "<image 2>"}, 2),
    ({"question": "No place is named.", **OPTIONS}, 2),
    ({"question": "Only <image 2> is named.", **OPTIONS}, 2),
    ({"question": "Ends with <image 1>", "hint": "Look well.", **OPTIONS}, 1),
    ({"question": "<image 1>", **OPTIONS}, 1),
)
CUBES = (
    ("Here are views: <image>\n<image>\nWhat is behind me?\nA. a box B. a bag", 2),
    ("<image>", 1),
    ("  Before <image> between   <image> after  ", 2),
    ("Three places <image> <image> <image> and two pictures", 2),
    ("One place <image> and two pictures", 2),
)


def of_mmmu():
    dataset = MMMUDataset.__new__(MMMUDataset)
    dataset.meta_only = True
    for row, count in MMMU_ROWS:
        line = pd.Series({"index": "1", **row, "image_path": str([f"{n}.png" for n in range(1, count + 1)])})
        sent = dataset.build_prompt(line)
        content = [one["value"] if one["type"] == "text" else int(one["value"].split(".")[0]) for one in sent]
        yield "mmmu-val", "vlmevalkit", row, count, [one for one in content if one != ""]


def of_mindcube():
    for prompt, count in CUBES:
        row = {"input_prompt": prompt, "question": prompt}
        sent = MindCubeBench.build_msgs([f"{n}.png" for n in range(1, count + 1)], prompt)
        content = [one["value"] if one["type"] == "text" else int(one["value"].split(".")[0]) for one in sent]
        yield "mindcube-tiny", "vlmevalkit", row, count, content
        pictures = [Picture(number) for number in range(1, count + 1)]
        [message] = lmms_mindcube.mindcube_doc_to_messages({"input_prompt": prompt, "images": pictures})
        yield "mindcube-tiny", "lmms-eval", row, count, [part.get("text") or part["url"] for part in message["content"]]


def of_lmms_mmmu():
    """The order alone: lmms-eval words the request otherwise."""
    for row, count in MMMU_ROWS:
        options = [row[letter] for letter in "ABC" if letter in row]
        pictures = {f"image_{number}": Picture(number) for number in range(1, count + 1)}
        doc = {"question": row["question"], "options": str(options), "question_type": "multiple-choice", **pictures}
        asked = {"multiple_choice_prompt": "Letter.", "open_ended_prompt": "Word.", "prompt_type": "format"}
        [message] = lmms_mmmu.mmmu_doc_to_messages(doc, asked)
        content = [part["text"] if part["type"] == "text" else part["url"] for part in message["content"]]
        yield "mmmu-val", "lmms-eval", row, count, [one for one in content if one != ""]


class Picture:
    """Stands for a PIL picture, by its number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def convert(self, _: str) -> int:
        return self.number


def main() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        records = [
            {"benchmark": benchmark, "harness": harness, "row": row, "pictures": count, "content": content}
            for of in (of_mmmu, of_mindcube, of_lmms_mmmu)
            for benchmark, harness, row, count, content in of()
        ]
    print("[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in records) + "\n]")


if __name__ == "__main__":
    main()
