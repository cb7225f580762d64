"""The half of ``record_rules`` that calls ms-vlmeval 0.0.20, or the rules that changed in VLMEvalKit's repository."""

import json
import re
import tempfile
from pathlib import Path

import rule_questions as asked
from record_rules import ScriptedJudge, case, shells, stand_ins

stand_ins("torch", "torchvision", "torchvision.transforms", "vlmeval.api", "vlmeval.vlm")
shells("vlmeval", "vlmeval.dataset")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from vlmeval.dataset.charxiv import auxeval  # noqa: E402
from vlmeval.dataset.image_mcq import TreeBench  # noqa: E402
from vlmeval.dataset.image_vqa import CountBenchQA  # noqa: E402

try:
    from vlmeval.dataset.mmlongbench import MMLongBench_auxeval, anls_compute, eval_score
except ImportError:
    NAME = "vlmevalkit-2026-08"
else:
    NAME = "vlmevalkit"
from vlmeval.dataset.utils import mathv, mathverse, mathvista, wemath  # noqa: E402
from vlmeval.dataset.utils.multiple_choice import (  # noqa: E402
    MMMU_preproc,
    extract_answer_from_item,
    extract_characters_regex,
)
from vlmeval.dataset.utils.spatial_bench.matching_func import can_match_option  # noqa: E402
from vlmeval.dataset.utils.vqa_eval import hit_calculate, process_line  # noqa: E402
from vlmeval.dataset.utils.yorn import YOrN_auxeval, YOrN_Extraction  # noqa: E402

REPLIES = (*asked.OPTION_REPLIES, *asked.VERSION_REPLIES)


def record():
    if NAME != "vlmevalkit":
        return [*options(("vstar",)), *first_of_five(), *mmmu(), *vista(), *vision()]
    cases = [*options(), *first_of_five(), *boxes(), *mmmu(), *we_math(), *mindcube(), *yes_no()]
    cases += [*charts(), *texts(), *soft(), *counts()]
    return [*cases, *vista(), *vision(), *verse(), *charxiv(), *documents(), *served()]


def served():
    read = {
        "mmstar": lambda line: extract_answer_from_item(None, line)["opt"],
        "pope": lambda line: YOrN_Extraction(line["prediction"]),
        "chartqa-test": lambda line: None,
    }
    for benchmark, row in asked.SERVED_ROWS.items():
        for reply in asked.served_replies(benchmark):
            found = read[benchmark](_line(row, reply))
            credit = found == row["answer"]
            if found is None:
                credit = np.max(process_line(_line(row, reply), method="relaxed_accuracy")["match"])
            yield case(benchmark, NAME, row, reply, found, credit)


def _line(row, reply):
    return pd.Series({**row, "prediction": reply})


BY_OPTIONS = ("vstar", "hrbench-4k", "realworldqa", "cv-bench-2d", "mmstar", "blink", "ai2d-test")


def options(benchmarks=BY_OPTIONS):
    for benchmark in benchmarks:
        rows = (asked.OPTION_ROW, asked.LAST_ROW) if benchmark == "vstar" else (asked.OPTION_ROW,)
        for row in rows:
            for reply in REPLIES if benchmark == "vstar" else asked.OPTION_REPLIES:
                found = extract_answer_from_item(None, _line(row, reply))["opt"]
                yield case(benchmark, NAME, row, reply, found, found == row["answer"])
    for reply, texts in (
        ("the coloured one", ("B",)),
        ("the coloured one", ("It is hard to say", "B")),
        ("the coloured one", ("C",)),
        ("the coloured one", ("Z",)),
        ("A or B", ("The answer is B",)),
    ):
        found = extract_answer_from_item(ScriptedJudge(texts), _line(asked.OPTION_ROW, reply))["opt"]
        yield case("vstar", NAME, asked.OPTION_ROW, reply, found, found == "B", texts)


def first_of_five():
    """The step before the function, the tag, is that of ``MMERealWorld.evaluate`` and ``TreeBench.evaluate``."""
    for benchmark in ("mme-realworld-lite", "treebench"):
        for reply in REPLIES:
            tag = re.search(r"<answer>(.*?)</answer>", reply, re.DOTALL)
            found = extract_characters_regex(tag.group(1).strip().upper() if tag else reply)
            yield case(benchmark, NAME, asked.OPTION_ROW, reply, found, found == "B")


def boxes():
    rows = [{**asked.OPTION_ROW, "target_instances": text} for text in ("[[10, 10, 50, 50], [60, 60, 100, 100]]", "[]")]
    for reply in (
        "<think><box>[10,10,50,50]</box></think><answer>B</answer>",
        "<think><box>[10, 10, 50, 50]</box></think>B",
        "<box>[10,10,50,50]</box> and <box>[60,60,80,100]</box> B",
        "<box>[50,50,10,10]</box>B",
        "<box>[0,0,100,100]</box>",
        "no box",
    ):
        thought = re.search(r"<think>(.*?)</think>", reply, re.DOTALL)
        for row in rows:
            said = thought.group(1).strip() if thought else reply
            iou = TreeBench.evaluate_box_iou(said, json.loads(row["target_instances"]))
            yield case("treebench", "boxes", row, reply, None, iou)


def mmmu():
    open_row = {"index": "9", "question": "How many?", "answer": "24/7", "category": "Maths"}
    replies = ("24/7", "It is 24/7, they say", "A", "B", "", "Other Answers", "25", "I do not know")
    for row, said in ((asked.OPTION_ROW, REPLIES), (open_row, replies)):
        for reply in said:
            frame = pd.DataFrame([{**dict.fromkeys("AB"), **row, "prediction": reply}])
            item = MMMU_preproc(frame).iloc[0]
            found = extract_answer_from_item(None, item)["opt"]
            gold = row["answer"] if row["answer"] in list("ABCDEFGHIJKLMNOPQRSTUVWXYZ") else "A"
            yield case("mmmu-val", NAME, row, reply, found, found == gold)


def we_math():
    row = {**asked.OPTION_ROW, "ID": "1", "key": "2steps_1"}
    more = (
        "<Thought process>: <<It is blue>> <Answer>: <<B>>",
        "Answer: b",
        "Answer\n\nB",
        "Answer: The B",
        "Answers: B",
    )
    replies = [reply for reply in (*asked.OPTION_REPLIES, *more) if reply.strip()]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "we.xlsx"))
        pd.DataFrame([{**row, "prediction": reply} for reply in replies]).to_excel(path, index=False)
        frame = wemath.load_and_process_data(path)
    for reply, found, is_right in zip(replies, frame["processed_answer"], frame["joker"], strict=True):
        yield case("wemath-testmini", NAME, row, reply, found if isinstance(found, str) else "", is_right)


def mindcube():
    row = {**asked.OPTION_ROW, "input_prompt": "Q"}
    for reply in asked.OPTION_REPLIES:
        found = can_match_option(reply)
        yield case("mindcube-tiny", NAME, row, reply, found or "", bool(found) and found == can_match_option("B"))


def yes_no():
    for benchmark, index in (("pope", "1"), ("hallusionbench", "VD_chart_0_1_2_0")):
        for gold in ("Yes", "No"):
            row = {"index": index, "question": "Is there a dog?", "answer": gold, "category": "random"}
            for reply in asked.YES_NO_REPLIES:
                found = YOrN_Extraction(reply)
                yield case(benchmark, NAME, row, reply, found, found == gold)
        for texts in (("Yes",), ("Hm", "no"), ("Yes or no", "Unknown", "It is Yes.")):
            row = {"index": index, "question": "Is there a dog?", "answer": "Yes", "category": "random"}
            found = YOrN_auxeval(ScriptedJudge(texts), _line(row, "A brown one runs"))
            yield case(benchmark, NAME, row, "A brown one runs", found, found == "Yes", texts)


def charts():
    for answer in asked.CHART_ANSWERS:
        row = {"index": "1", "question": "How high?", "answer": answer, "split": "test_human"}
        for reply in asked.CHART_REPLIES:
            score = np.max(process_line(_line(row, reply), method="relaxed_accuracy")["match"])
            yield case("chartqa-test", NAME, row, reply, None, score)


def texts():
    for answer in ("Harry Truman", "['Harry Truman', 'Truman']"):
        row = {"index": "1", "question": "Who?", "answer": answer}
        for reply in asked.TEXT_REPLIES:
            score = hit_calculate([process_line(_line(row, reply), method="anls")], "DocVQA_VAL")[0]
            yield case("docvqa", NAME, row, reply, None, score)


def soft():
    for row in asked.SOFT_ROWS:
        for reply in asked.SOFT_REPLIES:
            line = process_line(_line(row, reply), method="vqa_score")
            yield case("textvqa", NAME, row, reply, line["pred"], hit_calculate([line], "TextVQA_VAL")[0])


def counts():
    row = {"index": "1", "question": "How many cats?", "answer": "2"}
    with tempfile.TemporaryDirectory() as folder:
        for number, reply in enumerate(asked.COUNT_REPLIES):
            path = str(Path(folder, f"count{number}.xlsx"))
            pd.DataFrame([{"index": 1, "answer": "2", "prediction": reply}]).to_excel(path, index=False)
            score = CountBenchQA.evaluate(None, path)["accuracy"] / 100
            yield case("countbench", NAME, row, reply, None, score)


def _math(benchmark, row, reply, texts, auxeval_of, check):
    judge = ScriptedJudge(texts)
    line = _line({**{"choices": "[]"}, **row}, reply)
    found = auxeval_of(judge, line)
    asked_judge = found["log"] != "Prefetch succeed"
    line["res"] = found["res"]
    credit = None if asked_judge and not texts else check(line)
    return case(benchmark, NAME, row, reply, None, credit, texts)


def vista():
    for row in asked.VISTA_ROWS:
        for reply, texts in (*((reply, ()) for reply in asked.VISTA_REPLIES), *asked.VISTA_JUDGED):
            yield _math("mathvista-testmini", row, reply, texts, mathvista.MathVista_auxeval, mathvista.post_check)


def vision():
    for row in asked.VISION_ROWS:
        judged = (("so it is that", ("14",)), ("so it is that", ("1/2",)), ("so it is that", ("B",)), ("Hm", ("none",)))
        for reply, texts in (*((reply, ()) for reply in asked.VISION_REPLIES), *judged):
            yield _math("mathvision-test", row, reply, texts, mathv.MATH_V_auxeval, mathv.post_check)


def verse():
    row = {
        "index": "1",
        "question": "Area?",
        "question_for_eval": "Area?",
        "answer": "14",
        "problem_version": "Vision Only",
    }
    for texts in (("14",), (" 14 ", "0"), ("15", "0"), ("14 cm", "1"), ("14 cm", "yes", "1"), ("fourteen", " 1 ")):
        judge = ScriptedJudge(texts)
        line = _line(row, "It is fourteen")
        line["extract"] = mathverse.MathVerse_auxeval_extract(judge, line)["extract"]
        score = mathverse.MathVerse_auxeval_score(judge, line)["score"]
        yield case("mathverse-vision-only", NAME, row, "It is fourteen", line["extract"], score, texts)


def charxiv():
    row = {
        "index": "1",
        "question": "How high?",
        "answer": "14",
        "grading_query": "Grade {PREDICTION}",
        "inst_category": "1",
    }
    for texts in (
        ('{"extract_answer": "14", "score": 1}',),
        ('{"extract_answer": "15", "score": 0}',),
        ("```json\n{}\n```", '{"extract_answer": "14", "score": 1}'),
        ("not json", '{"score": 1, "extract_answer": "x"}'),
    ):
        found = auxeval(ScriptedJudge(texts), _line(row, "14 or so"))
        yield case("charxiv-reasoning", NAME, row, "14 or so", found["extract_answer"], found["score"], texts)


def documents():
    slide = {"index": "1", "question": "How many?", "answer": "18 Million"}
    for reply in asked.SLIDE_REPLIES:
        if not reply.strip():
            continue
        texts = (f"Extracted answer: {reply}\nAnswer format: String",)
        found = MMLongBench_auxeval(ScriptedJudge(texts), _line(slide, "So many"))["pred"]
        score = anls_compute(slide["answer"].lower(), found.lower())
        yield case("slidevqa-test", NAME, slide, "So many", found.lower(), score, texts)
    for row in asked.DOCUMENT_ROWS:
        for reply in asked.DOCUMENT_REPLIES:
            if not reply.strip():
                continue
            texts = (f"Extracted answer: {reply}\nAnswer format: String",)
            found = MMLongBench_auxeval(ScriptedJudge(texts), _line(row, "So it says"))["pred"]
            try:
                score = eval_score(row["answer"], found, row["answer_format"])
            except Exception:
                score = 0.0
            yield case("mmlongbench-doc-all", NAME, row, "So it says", found, score, texts)
