"""The half of ``record_rules`` that calls lmms-eval 0.7.3, or the rules that 0.7.2 had otherwise."""

import ast
import inspect
import os
import random
import tempfile

import rule_questions as asked
from record_rules import case, shells, stand_ins

stand_ins("torch", "torch.nn", "torch.distributed", "decord", "accelerate", "accelerate.utils", "lmms_eval.api.model")
shells("lmms_eval", "lmms_eval.tasks", "lmms_eval.api")
os.environ.update(OPENAI_API_KEY="none", OPENAI_BASE_URL="http://127.0.0.1:9/v1")

from lmms_eval.api.metrics import anls, exact_match_hf_evaluate  # noqa: E402
from lmms_eval.tasks.ai2d.utils import MultiChoiceRegexFilter  # noqa: E402
from lmms_eval.tasks.blink import utils as blink  # noqa: E402
from lmms_eval.tasks.chartqa import utils as chartqa  # noqa: E402
from lmms_eval.tasks.charxiv import reasoning_utils as charxiv  # noqa: E402
from lmms_eval.tasks.countbenchqa import utils as countbench  # noqa: E402
from lmms_eval.tasks.cv_bench import utils as cv_bench  # noqa: E402
from lmms_eval.tasks.geometry3k import utils as geometry3k  # noqa: E402
from lmms_eval.tasks.hallusion_bench import utils as hallusion  # noqa: E402
from lmms_eval.tasks.hrbench import utils as hrbench  # noqa: E402
from lmms_eval.tasks.mathverse import utils as mathverse  # noqa: E402
from lmms_eval.tasks.mathvision import utils as mathvision  # noqa: E402
from lmms_eval.tasks.mathvista import utils as mathvista  # noqa: E402
from lmms_eval.tasks.mindcube import utils as mindcube  # noqa: E402
from lmms_eval.tasks.mmlongbench_doc import utils as mmlongbench  # noqa: E402
from lmms_eval.tasks.mmmu import utils as mmmu  # noqa: E402
from lmms_eval.tasks.mmstar import utils as mmstar  # noqa: E402
from lmms_eval.tasks.pixmo_count import utils as pixmo  # noqa: E402
from lmms_eval.tasks.pope import utils as pope  # noqa: E402
from lmms_eval.tasks.realworldqa import utils as realworldqa  # noqa: E402
from lmms_eval.tasks.slidevqa import utils as slidevqa  # noqa: E402
from lmms_eval.tasks.textvqa import utils as textvqa  # noqa: E402
from lmms_eval.tasks.vstar_bench import utils as vstar  # noqa: E402

NAME = (
    "lmms-eval" if "valid_letters" in inspect.signature(blink._extract_answer_letter).parameters else "lmms-eval-0.7.2"
)
CHOICES = [asked.OPTION_ROW[letter] for letter in "ABCD"]


def record():
    if NAME != "lmms-eval":
        return [*blink_cases(), *open_mmmu()]
    cases = [*options(), *ai2d(), *hrbench_cases(), *mmmu_cases(), *yes_no(), *charts(), *texts(), *counts()]
    cases += [*soft(), *blink_cases(asked.VERSION_REPLIES)]
    return [*cases, *vista(), *vision(), *judged(), *documents(), *served()]


def served():
    scored = {
        "mmstar": lambda reply: mmstar.mmstar_process_results(
            {"answer": "B", "category": "c", "l2_category": "l", "index": 1}, [reply]
        )["average"],
        "pope": lambda reply: pope.pope_process_results({"answer": "yes", "question_id": 1}, [reply])["pope_accuracy"],
        "chartqa-test": lambda reply: {
            "score": chartqa.chartqa_process_results({"type": "human_test", "answer": "14"}, [reply])["relaxed_overall"]
        },
    }
    for benchmark, row in asked.SERVED_ROWS.items():
        for reply in asked.served_replies(benchmark):
            yield case(benchmark, NAME, row, reply, None, scored[benchmark](reply)["score"])


def options():
    for row in (asked.OPTION_ROW, asked.LAST_ROW):
        gold = row["answer"]
        for reply in asked.OPTION_REPLIES:
            doc = {"text": "Q", "label": gold, "question_id": 1, "category": "c"}
            read = vstar.vstar_process_results(doc, [reply])["vstar_overall_acc"]
            yield case("vstar", NAME, row, reply, read["prediction"] or "", read["score"])
            score = realworldqa.realworldqa_process_results({"answer": gold}, [reply])["exact_match"]
            yield case("realworldqa", NAME, row, reply, None, score)
            doc = {"answer": gold, "category": "c", "l2_category": "l", "index": 1}
            score = mmstar.mmstar_process_results(doc, [reply])["average"]["score"]
            yield case("mmstar", NAME, row, reply, None, score)
            doc = {"answer": f"({gold})", "idx": 1, "type": "2D", "task": "t", "source": "COCO"}
            read = cv_bench.cv_bench_process_results(doc, [reply])["cv_bench_acc"]
            yield case("cv-bench-2d", NAME, row, reply, read["pred_parsed"], read["is_correct"])
            yield from blink_cases((reply,), (row,))
            read = mindcube.extract_answer(reply.strip())
            score = mindcube.mindcube_process_results({"gt_answer": gold, "id": "among_1"}, [reply])["overall_accuracy"]
            yield case("mindcube-tiny", NAME, {**row, "input_prompt": "Q"}, reply, read or "", score["score"])
            read = geometry3k._extract_answer_letter(reply, CHOICES)
            score = geometry3k.geometry3k_process_results({"choices": CHOICES, "ground_truth": gold}, [reply])
            yield case("geometry3k", NAME, row, reply, read, score["exact_match"])
    for answer in ("7", "Downhill"):
        row = {"index": "1", "question": "Q", "answer": answer}
        for reply in ("7", "7.", "Seven", "downhill", "Downhill.", "It goes downhill", ""):
            score = realworldqa.realworldqa_process_results({"answer": answer}, [reply])["exact_match"]
            yield case("realworldqa", NAME, row, reply, None, score)


def blink_cases(replies=(*asked.OPTION_REPLIES, *asked.VERSION_REPLIES), rows=(asked.OPTION_ROW, asked.LAST_ROW)):
    for row in rows:
        doc = {"answer": f"({row['answer']})", "idx": 1, "sub_task": "s", "choices": CHOICES}
        for reply in replies:
            read = blink.blink_process_results(doc, [reply])["blink_acc"]
            yield case("blink", NAME, row, reply, read["pred_parsed"], read["is_correct"])


def ai2d():
    task_filter = MultiChoiceRegexFilter(regex_pattern="([A-Z])\\.")
    for reply in asked.OPTION_REPLIES:
        said = task_filter.apply([[reply]], [{}])[0]
        score = exact_match_hf_evaluate([said], ["B"], ignore_case=True, ignore_punctuation=True)["exact_match"]
        yield case("ai2d-test", NAME, asked.OPTION_ROW, reply, None, score)


def hrbench_cases():
    texts: list[str] = []

    def answered(payload):
        if not texts:
            raise ConnectionError("no judge")
        return {"choices": [{"message": {"content": texts.pop(0)}}]}

    hrbench.hrbench_evaluator._post_request = answered
    judged = (("the coloured one", ("B",)), ("the coloured one", ("C",)), ("A or B", ("The answer is B",)))
    for reply, said in (*((reply, ()) for reply in asked.OPTION_REPLIES), *judged):
        texts[:] = said
        data = {"question": "Q", "options": dict(zip("ABCD", CHOICES)), "prediction": reply.strip()}
        found = hrbench.hrbench_evaluator.get_chat_response(data).get("gpt_prediction")
        credit = None if not found else found.lower() == "b"
        yield case("hrbench-4k", NAME, asked.OPTION_ROW, reply, found or "", credit, said)


def mmmu_cases():
    for reply in asked.OPTION_REPLIES:
        doc = {"question_type": "multiple-choice", "options": repr(CHOICES), "answer": "B", "id": "validation_Art_1"}
        drawn = set()
        for seed in range(12):
            random.seed(seed)
            read = mmmu.mmmu_process_results(doc, [reply])["mmmu_acc"]["parsed_pred"][0]
            drawn.add(read)
        credit = mmmu.eval_multi_choice("B", read) if len(drawn) == 1 else None
        yield case("mmmu-val", NAME, asked.OPTION_ROW, reply, read if len(drawn) == 1 else "", credit)
    yield from open_mmmu()


def open_mmmu():
    for answer in ("24/7", "14", "3.14", "['two', '2']", "x"):
        row = {"index": "9", "question": "How many?", "answer": answer}
        gold = ["two", "2"] if answer.startswith("[") else answer
        for reply in (
            answer, "It is 24/7.", "The answer is 14", "So x = 14", "14.001", "1,400", "two of them", "2", "",
            "Final answer x", "could be 3.14 or so\nthe result is 3.1416", "x", "example", "1e3", "**14**",
        ):  # fmt: skip
            doc = {"question_type": "open", "options": "[]", "answer": answer, "id": "validation_Art_1"}
            (read,) = mmmu.mmmu_process_results(doc, [reply])["mmmu_acc"]["parsed_pred"]
            credit = mmmu.eval_open(gold, read)
            yield case("mmmu-val", NAME, row, reply, None, credit)


def yes_no():
    for gold in ("Yes", "No"):
        row = {"index": "1", "question": "Is there a dog?", "answer": gold, "category": "random"}
        for reply in asked.YES_NO_REPLIES:
            read = pope.pope_process_results({"answer": gold.lower(), "question_id": 1}, [reply])["pope_accuracy"]
            yield case("pope", NAME, row, reply, read["prediction"], read["score"])


def charts():
    for answer in asked.CHART_ANSWERS[:-1]:
        row = {"index": "1", "question": "How high?", "answer": answer, "split": "test_human"}
        for reply in asked.CHART_REPLIES:
            score = chartqa.chartqa_process_results({"type": "human_test", "answer": answer}, [reply])[
                "relaxed_overall"
            ]
            yield case("chartqa-test", NAME, row, reply, None, score)


def texts():
    for name in ("docvqa", "iconqa"):
        for reply in asked.TEXT_REPLIES:
            row = {"index": "1", "question": "Who?", "answer": "Harry Truman"}
            yield case(name, NAME, row, reply, None, anls(["Harry Truman"], [reply])["anls"])


def soft():
    for row in asked.SOFT_ROWS:
        for reply in asked.SOFT_REPLIES:
            doc = {"answers": ast.literal_eval(row["answer"]), "question_id": 1}
            read = textvqa.textvqa_process_results(doc, [reply])
            yield case("textvqa", NAME, row, reply, read["submission"]["answer"], read["exact_match"])


def counts():
    row = {"index": "1", "question": "How many cats?", "answer": "2"}
    for reply in asked.COUNT_REPLIES:
        score = countbench.countbenchqa_process_results({"number": 2}, [reply])["acc"]
        yield case("countbench", NAME, row, reply, None, score)
        score = pixmo.pixmo_count_process_results({"answer": "2"}, [reply])["acc"]
        yield case("pixmo-count", NAME, row, reply, None, score)


def vista():
    texts: list[str] = []

    def answered(*_: object, **__: object) -> str:
        if not texts:
            raise ConnectionError("no judge")
        return texts.pop(0)

    mathvista.mathvista_evaluator.get_chat_response = answered
    for row in asked.VISTA_ROWS:
        choices = ["red", "blue", "green"] if "choices" in row else None
        doc = {**row, "query": "Q", "choices": choices, "precision": 1, "pid": "1", "metadata": {}}
        for reply, said in (*((reply, ()) for reply in asked.VISTA_REPLIES), *asked.VISTA_JUDGED):
            texts[:] = said
            try:
                read = mathvista.mathvista_process_results(doc, [reply])["submission"]
            except AssertionError:
                continue
            asked_judge = not said and reply.strip() and read["extraction"] == ""
            credit = None if asked_judge else read["true_false"]
            yield case("mathvista-testmini", NAME, {**row, "precision": "1.0"}, reply, None, credit, said)


def vision():
    for row in asked.VISION_ROWS:
        options = ["3", "4", "5", "6", "7"] if row["index"] == "3" else []
        for reply in asked.VISION_REPLIES:
            read = mathvision.mathvision_process_results({**row, "options": options}, [reply])
            yield case("mathvision-test", NAME, row, reply, None, read["mathvision_standard_eval"]["scores"][0])


class _Message:
    def __init__(self, content: str) -> None:
        self.content = content
        self.message = self
        self.choices = [self]


class _Client:
    """The part of an OpenAI client that ``get_reasoning_result_gpt`` calls."""

    def __init__(self, texts) -> None:
        self._texts = list(texts)
        self.chat = self.completions = self

    def create(self, **_: object) -> _Message:
        return _Message(self._texts.pop(0))


class _Server:
    """The part of a judge's server that MathVerse's evaluator calls."""

    def __init__(self, text: str) -> None:
        self._text = text

    def evaluate_binary(self, **_: object):
        return {"success": True, "result": int(self._text)}


class _Response:
    def __init__(self, text: str) -> None:
        self._text = text

    def raise_for_status(self) -> None:
        pass

    def json(self):
        return {"choices": [{"message": {"content": self._text}}]}


def judged():
    row = {"index": "1", "question": "How high?", "answer": "14", "inst_category": "1"}
    for texts in (
        ('{"extracted_answer": "14", "score": 1}',),
        ('{"extracted_answer": "15", "score": 0}',),
        ("```json\n{}\n```", '{"extracted_answer": "14", "score": 1}'),
    ):
        read, score = charxiv.get_reasoning_result_gpt(_Client(texts), "Q")
        yield case("charxiv-reasoning", NAME, row, "14 or so", read, score, texts)
    verse = {"index": "1", "question": "Area?", "answer": "14", "problem_version": "Vision Only"}
    for text in ("0", "1"):
        mathverse.mathverse_evaluator.server = _Server(text)
        score = mathverse.mathverse_evaluator.score_answer("Q", "14", "It is 14")
        yield case("mathverse-vision-only", NAME, verse, "It is 14", None, score, (text,))
    for category, figure in (("VD", "1"), ("VS", "0"), ("VS", "1")):
        for text in ("correct", "Incorrect.", "unclear", "I do not know", "not incorrect but correct"):
            hallusion.requests.post = lambda *_, said=text, **__: _Response(said)
            row = {"index": f"{category}_x_0_1_{figure}_0", "question": "Q", "answer": "Yes", "category": category}
            sample = {**row, "gt_answer_details": "It is.", "model_prediction": "Maybe", "figure_id": figure}
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/judged.json"
                found = hallusion.evaluate_by_chatgpt([sample], "model_prediction", "c", save_json_path=path)
            score = hallusion.assign_correctness(found, "c")[0]["correct"]
            yield case("hallusionbench", NAME, {**row, "figure_id": figure}, "Maybe", None, score, (text,))


def documents():
    slide = {"index": "1", "question": "How many?", "answer": "18 Million"}
    for reply in asked.SLIDE_REPLIES:
        score = slidevqa.slidevqa_process_results({"answer": slide["answer"]}, [reply])["anls"]
        yield case("slidevqa-test", NAME, slide, reply, None, score)
    for row in asked.DOCUMENT_ROWS:
        for reply in asked.DOCUMENT_REPLIES:
            score = mmlongbench.mmlongbench_doc_process_results(row, [reply])["mmlongbench_doc_acc"]["score"]
            yield case("mmlongbench-doc-all", NAME, row, reply, None, score)
