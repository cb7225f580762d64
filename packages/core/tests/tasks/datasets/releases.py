"""Small releases of every data set, in the layout in which it is published; questions and pictures are our own."""

import io
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from document_releases import DOCUMENT_RELEASES
from PIL import Image

SIZE = (60, 40)


def picture(colour: str = "red") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", SIZE, colour).save(buffer, format="PNG")
    return buffer.getvalue()


def write(root: Path, files: Mapping[str, object]) -> Path:
    """Bytes as they are, lists and objects as JSON."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content, indent=1).encode())
    return root


def parquet(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def hub_image(colour: str = "red") -> dict[str, object]:
    return {"bytes": picture(colour), "path": None}


def chartqa(root: Path) -> Path:
    human = [
        {"imgname": "41.png", "query": "How many bars are above 20?", "label": "3"},
        {"imgname": "41.png", "query": "In which year was the peak?", "label": "2014"},
    ]
    augmented = [{"imgname": "42.png", "query": "Which country is the highest?", "label": "Peru"}]
    return write(
        root,
        {
            "train/train_human.json": human,
            "train/train_augmented.json": augmented,
            "train/png/41.png": picture("red"),
            "train/png/42.png": picture("blue"),
        },
    )


def figureqa(root: Path) -> Path:
    def row(answer: int, question: str) -> dict[str, object]:
        return {
            "question_string": question,
            "question_id": 2,
            "answer": answer,
            "color1_name": "Red",
            "color1_id": 1,
            "color1_rgb": [255, 0, 0],
            "color2_name": "--None--",
            "color2_id": -1,
            "color2_rgb": [-1, -1, -1],
            "image_index": 0,
        }

    pairs = [row(1, "Is Red the maximum?"), row(0, "Is Red the minimum?")]
    return write(
        root,
        {
            "train1/qa_pairs.json": {"qa_pairs": pairs, "total_distinct_questions": 15, "total_distinct_colors": 100},
            "train1/png/0.png": picture(),
        },
    )


def plotqa(root: Path) -> Path:
    pairs = [
        {
            "image_index": 7,
            "qid": 1,
            "question_string": "What is the value of rainfall in May?",
            "answer_bbox": {"x": 5, "y": 10, "w": 20, "h": 15},
            "template": "data_retrieval",
            "answer": 57.25,
            "answer_id": 0,
            "type": "vbar_categorical",
        },
        {
            "image_index": 7,
            "qid": 2,
            "question_string": "Is the value in May greater than that in June?",
            "answer_bbox": {},
            "template": "structural",
            "answer": "Yes",
            "answer_id": 1,
            "type": "vbar_categorical",
        },
    ]
    return write(root, {"test/qa_pairs_V1.json": {"qa_pairs": pairs}, "test/png/7.png": picture()})


def geometry3k(root: Path) -> Path:
    data = {
        "problem_text": "In circle X, A B = 12. Find A C.",
        "choices": ["6", "6 \\sqrt { 3 }", "12", "24"],
        "answer": "B",
        "problem_type_graph": ["Circle"],
        "problem_type_goal": ["Length"],
        "id": 11,
        "compact_choices": ["6", "6\\sqrt{3}", "12", "24"],
        "precise_value": [6.0, 10.39, 12.0, 24.0],
        "compact_text": "In circle X, AB = 12. Find AC.",
        "annotat_text": "In circle X, $AB=12$. Find $AC$.",
    }
    return write(
        root,
        {
            "train/11/data.json": data,
            "train/11/img_diagram.png": picture(),
        },
    )


def _pickled(rows: list[dict[str, object]]) -> bytes:
    return pickle.dumps(rows, protocol=2)


DIAGRAM = np.array([[0, 255, 255], [255, 0, 255]], dtype=np.uint8)


def geoqa(root: Path) -> Path:
    row = {
        "id": 4321,
        "subject": "如图，AB是直径，角BOC等于三十度，则角BAD的度数是（）",
        "choices": ["15°", "30°", "45°", "60°"],
        "choice_nums": [15.0, 30.0, 45.0, np.float64(60.0)],
        "label": 0,
        "formal_point": ["圆周角"],
        "answer": "解：由圆周角定理得十五度，故选A。",
        "token_list": ["如图", "N_0"],
        "manual_program": ["g_half", "N_0"],
        "numbers": [30.0],
        "image": DIAGRAM,
    }
    return write(root, {"train.pk": _pickled([row])})


def unigeo(root: Path) -> Path:
    calculation = {
        "id": 99,
        "English_problem": "In the figure, AB is parallel to CD and angle 1 is N_0. What is angle 2?",
        "choice_nums": [50.0, 60.0, 65.5, 90.0],
        "label": 2,
        "manual_program": ["g_double", "N_0"],
        "numbers": [50.0],
        "image": DIAGRAM,
    }
    proof = {"id": 1, "input_text": "Prove that ...", "proving_sequence": ["E_0"], "img": DIAGRAM}
    return write(root, {"calculation_test.pk": _pickled([calculation]), "proving_test.pk": _pickled([proof])})


def mathvision(root: Path) -> Path:
    rows = [
        {
            "id": "4",
            "question": "Which piece is missing?\n<image1>",
            "options": ["A", "B", "C", "D", "E"],
            "image": "images/4.jpg",
            "answer": "D",
            "solution": None,
            "level": 1,
            "subject": "combinatorial geometry",
        },
        {
            "id": "5",
            "question": "<image1> The square in <image1> has side 2. What is its diagonal?",
            "options": [],
            "image": "images/5.jpg",
            "answer": "2\\sqrt{2}",
            "solution": None,
            "level": 2,
            "subject": "metric geometry - length",
        },
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return write(root, {"test.jsonl": lines, "images/4.jpg": picture(), "images/5.jpg": picture("blue")})


def mathv360k(root: Path) -> Path:
    def row(image: str, asked: str, said: str) -> dict[str, object]:
        return {
            "image": image,
            "conversations": [{"from": "human", "value": asked}, {"from": "gpt", "value": said}],
        }

    hint = "Hint: Please answer the question and provide the correct option letter, e.g., A, B, C, D, at the end.\n"
    rows = [
        row(
            "Geometry3K/1.png",
            f"<image>\n{hint}Question: Find x.\nChoices:\n(A) 25\n(B) 30\n(C) 35",
            "The answer is B",
        ),
        row("Geometry3K/1.png", f"{hint}Question: Find y.\nChoices:\n(A) 25\n(B) 30", "Answer: (A) 25"),
        row("TabMWP/2.png", "<image>\nQuestion: How many in all?", "The answer is 1,204."),
        row("TabMWP/2.png", "<image>\nQuestion: Explain.", "Because " + "it is so and " * 20),
        {
            "image": "TabMWP/2.png",
            "conversations": [
                {"from": "human", "value": "One?"},
                {"from": "gpt", "value": "1"},
                {"from": "human", "value": "Two?"},
                {"from": "gpt", "value": "2"},
            ],
        },
    ]
    return write(
        root,
        {
            "train_samples_all_tuning.json": rows,
            "data_images/Geometry3K/1.png": picture(),
            "data_images/TabMWP/2.png": picture("blue"),
        },
    )


def mapqa(root: Path) -> Path:
    rows = [
        {
            "question_id": "q1",
            "map_id": "map_3",
            "question_text": "Which states have the highest value?",
            "answer": ["Ohio", "Texas"],
        },
        {"question_id": "q2", "map_id": "map_3.png", "question_text": "What is Utah's value?", "answer": "10-20"},
    ]
    return write(root, {"questions/test-QA.json": rows, "images/map_3.png": picture()})


def docvqa(root: Path) -> Path:
    rows = [
        {
            "questionId": 337,
            "question": "What is the date in the letter?",
            "question_types": ["form"],
            "image": "documents/xnbl0037_1.png",
            "docId": 279,
            "ucsf_document_id": "xnbl0037",
            "ucsf_document_page_no": "1",
            "answers": ["1/8/93", "January 8, 1993", "1/8/93"],
            "data_split": "train",
        }
    ]
    data = {"dataset_name": "docvqa", "dataset_split": "train", "dataset_version": "1.0", "data": rows}
    return write(root, {"train_v1.0_withQT.json": data, "documents/xnbl0037_1.png": picture()})


def infographicvqa(root: Path) -> Path:
    rows = [
        {
            "questionId": 65718,
            "question": "What share reads the news daily?",
            "image_local_name": "20471.jpeg",
            "image_url": "https://example.org/20471.jpeg",
            "ocr_output_file": "20471.json",
            "answers": ["40%"],
            "data_split": "train",
        }
    ]
    data = {"dataset_name": "infographicVQA", "dataset_version": "v1.0", "dataset_split": "train", "data": rows}
    return write(
        root,
        {"infographicsVQA_train_v1.0.json": data, "infographicsvqa_images/20471.jpeg": picture()},
    )


def thinkvl(root: Path) -> Path:
    rows = [
        {
            "id": "clevr_math-1",
            "image": "clevr_math/1.png",
            "question": "Subtract all balls. How many are left?",
            "gt": 3,
        },
        {
            "id": "geoqa170k-2",
            "image": "clevr_math/1.png",
            "question": "Find the angle.\nChoices:\nA: 15\nB: 30",
            "gt": "B",
            "ds_answer": "<think>So</think> B",
        },
        {
            "id": "synthesis-2",
            "image": "clevr_math/1.png",
            "question": "What is the function's equation?",
            "gt": "Step 1: put in the point.\nStep 2: solve.\n\n†Answer: y = -5 * sin(-5 * x).",
        },
        {
            "id": "laion-1",
            "image": "clevr_math/1.png",
            "question": "Describe it.",
            "gt": "It shows " + "a hill and " * 30,
        },
    ]
    return write(root, {"train.json": rows, "images/clevr_math/1.png": picture()})


def vizwiz(root: Path) -> Path:
    said = ["basil leaves", "basil", "basil", "basil", "basil leaves", "basil", "unsuitable", "basil", "basil", "basil"]
    rows = [
        {
            "image": "VizWiz_train_00000000.jpg",
            "question": "What is this?",
            "answers": [{"answer": answer, "answer_confidence": "yes"} for answer in said],
            "answer_type": "other",
            "answerable": 1,
        },
        {"image": "VizWiz_train_00000000.jpg", "question": "And this?"},
    ]
    return write(root, {"Annotations/train.json": rows, "train/VizWiz_train_00000000.jpg": picture()})


def scienceqa(root: Path) -> Path:
    def problem(split: str, image: str | None) -> dict[str, object]:
        return {
            "question": "Which is a liquid?",
            "choices": ["ice", "water"],
            "answer": 1,
            "hint": "Look at the picture.",
            "image": image,
            "task": "closed choice",
            "grade": "grade2",
            "subject": "natural science",
            "topic": "physics",
            "category": "States of matter",
            "skill": "Identify liquids",
            "lecture": "",
            "solution": "",
            "split": split,
        }

    problems = {"1": problem("train", "image.png"), "2": problem("train", None), "3": problem("test", "image.png")}
    return write(
        root,
        {"problems.json": problems, "train/1/image.png": picture(), "test/3/image.png": picture("blue")},
    )


def clevr(root: Path) -> Path:
    def row(index: int, question: str, answer: str) -> dict[str, object]:
        return {
            "image_index": 0,
            "program": [{"function": "scene", "inputs": [], "value_inputs": []}],
            "question_index": index,
            "image_filename": "CLEVR_train_000000.png",
            "question_family_index": 2,
            "split": "train",
            "answer": answer,
            "question": question,
        }

    rows = [row(0, "Are there more cubes than balls?", "yes"), row(1, "How many balls are there?", "3")]
    data = {"info": {"split": "train", "license": "CC BY 4.0", "version": "1.0"}, "questions": rows}
    return write(
        root,
        {"questions/CLEVR_train_questions.json": data, "images/train/CLEVR_train_000000.png": picture()},
    )


def clevr_math(root: Path) -> Path:
    rows = [
        {
            "image_filename": "CLEVR_v1_000001.png",
            "question": "Subtract all red cubes. How many objects are left?",
            "answer": 4,
            "template_filename": "subtraction.json",
            "split": "test",
        }
    ]
    return write(
        root,
        {
            "clevr-math-test.json": {"info": {}, "questions": rows},
            "CLEVR_v1.0/images/test/CLEVR_v1_000001.png": picture(),
        },
    )


_AOKVQA = [
    {
        "split": "train",
        "image_id": 299207,
        "question_id": "22MexNkBPpdZGX6sxbxVBH",
        "question": "What is the man by the bags awaiting?",
        "choices": ["skateboarder", "train", "delivery", "cab"],
        "correct_choice_idx": 3,
        "direct_answers": ["ride", "ride", "bus", "taxi", "travelling", "cab", "cab", "cab", "taxi", "his ride"],
        "difficult_direct_answer": False,
        "rationales": ["He stands at a street with luggage."],
    },
    {
        "split": "train",
        "image_id": 299207,
        "question_id": "difficult",
        "question": "What is he thinking?",
        "choices": ["a", "b"],
        "correct_choice_idx": 0,
        "direct_answers": ["hm", "nothing"],
        "difficult_direct_answer": True,
        "rationales": [],
    },
]


def aokvqa(root: Path) -> Path:
    return write(root, {"aokvqa_v1p0_train.json": _AOKVQA, "train2017/000000299207.jpg": picture()})


def tabmwp(root: Path) -> Path:
    def problem(question: str, answer: str, ans_type: str, **rest: object) -> dict[str, object]:
        return {
            "question": question,
            "choices": None,
            "answer": answer,
            "unit": None,
            "table_title": "Pies",
            "table": "a | b",
            "table_for_pd": {"a": [1]},
            "row_num": 2,
            "column_num": 2,
            "solution": "",
            "ques_type": "free_text",
            "ans_type": ans_type,
            "grade": 3,
            "split": "test",
            **rest,
        }

    problems = {
        "17": problem("How many pies?", "1,230", "integer_number"),
        "18": problem("How much is it?", "3.5", "decimal_number", unit="$"),
        "19": problem("On which day?", "Monday", "extractive_text", choices=["Sunday", "Monday"]),
    }
    tables = {
        f"tables/{number}.png": picture(colour) for number, colour in (("17", "red"), ("18", "blue"), ("19", "tan"))
    }
    return write(root, {"problems_test.json": problems, **tables})


def ai2d(root: Path) -> Path:
    questions = {
        "What is A in the diagram?": {
            "abcLabel": True,
            "answerTexts": ["ears", "nose", "mouth", "face"],
            "correctAnswer": 3,
            "questionId": "0.png-0",
        },
        "Which part hears?": {
            "abcLabel": False,
            "answerTexts": ["ears", "nose"],
            "correctAnswer": 0,
            "questionId": "0.png-1",
        },
    }
    return write(
        root,
        {
            "questions/0.png.json": {"imageName": "0.png", "questions": questions},
            "images/0.png": picture(),
            "ai2d_test_ids.csv": b"0\n",
        },
    )


def iconqa(root: Path) -> Path:
    base = "iconqa_data/iconqa/test"
    text = {"question": "Which shape is next?", "choices": ["circle", "square"], "answer": 0, "ques_type": "choose_txt"}
    images = {
        "question": "Which picture is next?",
        "choices": ["choice_0.png", "choice_1.png"],
        "answer": 1,
        "ques_type": "choose_img",
    }
    blank = {"question": "How many stars?", "answer": "7", "ques_type": "fill_in_blank"}
    return write(
        root,
        {
            f"{base}/choose_txt/10/data.json": text,
            f"{base}/choose_txt/10/image.png": picture("red"),
            f"{base}/choose_img/11/data.json": images,
            f"{base}/choose_img/11/image.png": picture("blue"),
            f"{base}/choose_img/11/choice_0.png": picture("green"),
            f"{base}/choose_img/11/choice_1.png": picture("tan"),
            f"{base}/fill_in_blank/12/data.json": blank,
            f"{base}/fill_in_blank/12/image.png": picture("pink"),
        },
    )


def mathvista(root: Path) -> Path:
    def problem(pid: str, **rest: object) -> dict[str, object]:
        return {
            "question": "What is the distance?",
            "image": "images/1.jpg",
            "choices": None,
            "unit": None,
            "precision": None,
            "answer": "12",
            "question_type": "free_form",
            "answer_type": "integer",
            "pid": pid,
            "metadata": {"split": "testmini", "source": "SciBench"},
            **rest,
        }

    problems = {
        "1": problem("1", answer="1.2", answer_type="float", precision=1, unit="m"),
        "2": problem("2"),
        "3": problem("3", question_type="multi_choice", answer_type="text", choices=["Yes", "No"], answer="No"),
        "4": problem("4", answer_type="list", answer="[1, 2]"),
    }
    return write(root, {"testmini.json": problems, "images/1.jpg": picture()})


def tqa(root: Path) -> Path:
    diagram = {
        "DQ_000001": {
            "answerChoices": {
                "a": {"idStructural": "a.", "processedText": "crater", "rawText": "a. crater"},
                "b": {"idStructural": "b.", "processedText": "vent", "rawText": "b. vent"},
            },
            "beingAsked": {"processedText": "What is labelled B?", "rawText": "1. What is labelled B?"},
            "correctAnswer": {"processedText": "b", "rawText": "b"},
            "globalID": "DQ_000001",
            "imageName": "volcano_1.png",
            "imagePath": "question_images/volcano_1.png",
            "questionType": "Diagram Multiple Choice",
        }
    }
    plain = {"NDQ_000001": {"beingAsked": {"processedText": "Is lava hot?"}, "correctAnswer": {"processedText": "a"}}}
    lesson = {
        "lessonName": "volcanoes",
        "questions": {"diagramQuestions": diagram, "nonDiagramQuestions": plain},
        "topics": {},
    }
    base = "tqa_train_val_test/train"
    return write(root, {f"{base}/tqa_v1_train.json": [lesson], f"{base}/question_images/volcano_1.png": picture()})


def arxivqa(root: Path) -> Path:
    rows = [
        {
            "id": "cond-mat-1",
            "image": "images/1810.10511_0.jpg",
            "options": ["A) It rises", "B) It falls", "C) It stays", "D) -"],
            "question": "What does the curve do?",
            "label": "B",
            "rationale": "It goes down.",
        },
        {
            "id": "cond-mat-2",
            "image": "images/1810.10511_0.jpg",
            "options": ["A. 1", "B. 2"],
            "question": "How many peaks are there?",
            "label": "A. 1",
            "rationale": "",
        },
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return write(root, {"arxivqa.jsonl": lines, "images/1810.10511_0.jpg": picture()})


def wemath(root: Path) -> Path:
    rows = [
        {
            "ID": "3steps_165",
            "split": "testmini",
            "knowledge concept": "Area of Circles",
            "question": "What is the area of the bed?",
            "option": "A. 200.96;B. 3215.36; C. 6280;D. 32; E. No correct answer",
            "answer": "B",
            "image_path": "3steps/image/165-3.png",
            "key": "3steps_3",
            "question number": 1575,
        }
    ]
    return write(root, {"testmini.json": rows, "3steps/image/165-3.png": picture()})


def dvqa(root: Path) -> Path:
    rows = [
        {
            "question": "How many bars are there?",
            "question_id": 1,
            "template_id": "structure",
            "answer": "three",
            "image": "bar_train_00000001.png",
            "answer_bbox": [],
            "bbox_answer": [],
        },
        {
            "question": "What is the label of the first bar?",
            "question_id": 2,
            "template_id": "data",
            "answer": "lamp",
            "image": "bar_train_00000001.png",
            "bbox_answer": [5, 10, 20, 15],
        },
    ]
    return write(root, {"train_qa.json": rows, "images/bar_train_00000001.png": picture()})


def super_clevr(root: Path) -> Path:
    def row(index: int, question: str, answer: object, number: int) -> dict[str, object]:
        return {
            "split": "new",
            "image_filename": f"superCLEVR_new_{index:06d}.png",
            "image_index": index,
            "image": f"superCLEVR_new_{index:06d}",
            "question": question,
            "answer": answer,
            "template_filename": "compare_integer.json",
            "question_family_index": 0,
            "question_index": number,
        }

    rows = [
        row(0, "Is the bus red?", True, 0),
        row(0, "How many bicycles are there?", 2, 1),
        row(20_000, "Is it blue?", False, 2),
    ]
    pictures = {f"images/superCLEVR_new_{index:06d}.png": picture() for index in (0, 20_000)}
    return write(root, {"superCLEVR_questions_30k.json": {"info": {}, "questions": rows}, **pictures})


def textvqa(root: Path) -> Path:
    rows = [
        {
            "question": "what is on the sign?",
            "image_id": "0054c91397f2fe05",
            "image_classes": ["Sign"],
            "image_width": 60,
            "image_height": 40,
            "answers": ["stop"] * 8 + ["stop sign", "STOP"],
            "question_tokens": ["what"],
            "question_id": 0,
            "set_name": "train",
        }
    ]
    return write(root, {"TextVQA_0.5.1_train.json": {"data": rows}, "train_images/0054c91397f2fe05.jpg": picture()})


def okvqa(root: Path) -> Path:
    answers = [
        {"answer_id": place, "raw_answer": "racing", "answer_confidence": "yes", "answer": "race"} for place in range(7)
    ]
    answers += [{"answer_id": place, "raw_answer": "motocross", "answer": "motocross"} for place in range(7, 10)]
    told = {"image_id": 297147, "question_id": 2971475, "question_type": "one", "answer_type": "other"}
    asked = {"image_id": 297147, "question": "What sport can you use this for?", "question_id": 2971475}
    return write(
        root,
        {
            "mscoco_train2014_annotations.json": {"info": {}, "annotations": [{**told, "answers": answers}]},
            "OpenEnded_mscoco_train2014_questions.json": {"info": {}, "questions": [asked]},
            "train2014/COCO_train2014_000000297147.jpg": picture(),
        },
    )


def stvqa(root: Path) -> Path:
    rows = [
        {
            "answers": ["Burger King", "burger king restaurant"],
            "file_name": "COCO_train2014_000000000036.jpg",
            "file_path": "coco-text/COCO_train2014_000000000036.jpg",
            "image_id": "COCO_train2014_000000000036",
            "question": "What is the name of the shop?",
            "question_id": 23,
            "set_name": "train",
        }
    ]
    picture_file = {"coco-text/COCO_train2014_000000000036.jpg": picture()}
    return write(root, {"train_task_3.json": {"data": rows, "dataset_name": "st_vqa"}, **picture_file})


RELEASES: Mapping[str, tuple[str, Callable[[Path], Path]]] = {
    "chartqa": ("train", chartqa),
    "figureqa": ("train", figureqa),
    "plotqa": ("test", plotqa),
    "geometry3k": ("train", geometry3k),
    "geoqa": ("train", geoqa),
    "unigeo": ("test", unigeo),
    "mathvision": ("train", mathvision),
    "mathv360k": ("train", mathv360k),
    "mapqa": ("test", mapqa),
    "docvqa": ("train", docvqa),
    "infographicvqa": ("train", infographicvqa),
    "thinkvl": ("train", thinkvl),
    "vizwiz": ("train", vizwiz),
    "scienceqa": ("train", scienceqa),
    "clevr": ("train", clevr),
    "clevr-math": ("test", clevr_math),
    "aokvqa": ("train", aokvqa),
    "aokvqa-direct": ("train", aokvqa),
    "tabmwp": ("test", tabmwp),
    "ai2d": ("test", ai2d),
    "iconqa": ("test", iconqa),
    "mathvista": ("test", mathvista),
    "tqa": ("train", tqa),
    "arxivqa": ("train", arxivqa),
    "wemath": ("test", wemath),
    "dvqa": ("train", dvqa),
    "super-clevr": ("train", super_clevr),
    "textvqa": ("train", textvqa),
    "okvqa": ("train", okvqa),
    "stvqa": ("train", stvqa),
    **DOCUMENT_RELEASES,
}
"""The split that is there, and what writes it."""
