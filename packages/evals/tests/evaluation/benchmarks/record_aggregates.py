"""Records the aggregates of the harnesses' own functions on drawn scores, in the environment of ``record_rules.py``.

    python record_aggregates.py > recorded_aggregates.json

Each record has the rows, the credit of each, what was read of it, and the figures that the real function gives.
"""

import contextlib
import io
import json
import random
import tempfile
from pathlib import Path

from record_rules import shells, stand_ins

stand_ins("torch", "torch.nn", "torch.distributed", "torchvision", "torchvision.transforms", "decord", "accelerate")
stand_ins("accelerate.utils", "vlmeval.api", "vlmeval.vlm", "lmms_eval.api.model")
shells("vlmeval", "vlmeval.dataset")
shells("lmms_eval", "lmms_eval.tasks", "lmms_eval.api")

import pandas as pd  # noqa: E402
from lmms_eval.tasks.cv_bench import utils as lmms_cv_bench  # noqa: E402
from lmms_eval.tasks.hrbench import utils as lmms_hrbench  # noqa: E402
from lmms_eval.tasks.mathvista import utils as lmms_mathvista  # noqa: E402
from lmms_eval.tasks.mmstar import utils as lmms_mmstar  # noqa: E402
from lmms_eval.tasks.pope import utils as lmms_pope  # noqa: E402
from vlmeval.dataset import mmlongbench, slidevqa  # noqa: E402
from vlmeval.dataset.image_mcq import CVBench  # noqa: E402
from vlmeval.dataset.utils import hrbench, mathvista, multiple_choice, treebench, wemath, yorn  # noqa: E402

# We-Math's script appends rows by a method that pandas 3 no longer has.
pd.DataFrame._append = lambda frame, row, **_: pd.concat([frame, pd.DataFrame([row])], ignore_index=True)

DRAWN = random.Random(20261124)
CONCEPTS = [node["full node"].split("_")[-1] for node in wemath.knowledge_structure_nodes][::4]


def record(benchmark, reading, rows, worth, figures, read=None):
    return {
        "benchmark": benchmark,
        "reading": reading,
        "rows": rows,
        "credits": worth,
        "read": read or [""] * len(rows),
        "figures": {name: float(value) for name, value in sorted(figures.items())},
    }


def in_file(frame: pd.DataFrame, rating):
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "scores.xlsx"))
        frame.to_excel(path, index=False)
        return rating(path)


def options(count: int, **columns) -> tuple[list[dict[str, str]], list[int]]:
    rows = [
        {"index": str(place), "question": f"Q{place}", "A": "red", "B": "blue", "answer": "A"}
        | {name: draw(place) for name, draw in columns.items()}
        for place in range(count)
    ]
    return rows, [DRAWN.randint(0, 1) for _ in rows]


def cycles():
    rows, hits = options(
        48, category=lambda place: ("single", "cross")[place // 4 % 2], cycle_category=lambda place: str(place % 4)
    )
    frame = pd.DataFrame(rows).assign(hit=hits)
    report = hrbench.report_acc_hrbench(frame)
    average = report[report["cycle"] == "Average"].set_index("type")["accuracy"]
    figures = {"mean over cycles": average["all"]}
    figures |= {f"category: {name}": average[name] for name in ("single", "cross")}
    yield record("hrbench-4k", "vlmevalkit", rows, hits, figures)
    results = [{"gpt_score": hit, "cycle_category": row["cycle_category"]} for row, hit in zip(rows, hits)]
    yield record(
        "hrbench-4k",
        "lmms-eval",
        rows,
        hits,
        {"mean over cycles": lmms_hrbench.hrbench_aggregate_results(results, None)},
    )


def sources():
    rows, hits = options(
        30, source=lambda place: ("ADE20K", "COCO", "COCO")[place % 3], split=lambda _: "2D", prompt=lambda _: "P"
    )
    report = CVBench.report_accuracy(None, pd.DataFrame(rows).assign(hit=hits))
    yield record("cv-bench-2d", "vlmevalkit", rows, hits, {"mean over source": report["Overall"][0]})
    both = [{"source": row["source"], "is_correct": bool(hit)} for row, hit in zip(rows, hits)]
    both += [{"source": "Omni3D", "is_correct": True}]
    half = 2 * lmms_cv_bench.cv_bench_default_aggregate_results(both) - 1
    yield record("cv-bench-2d", "lmms-eval", rows, hits, {"mean over source": half})


def splits():
    rows, hits = options(40, category=lambda place: ("a", "b", "c")[place % 3], **{"l2-category": lambda p: str(p % 7)})
    report = multiple_choice.report_acc(pd.DataFrame(rows).assign(hit=hits))
    figures = {"accuracy": report["Overall"][0]} | {f"category: {name}": report[name][0] for name in "abc"}
    yield record("mmstar", "vlmevalkit", rows, hits, figures)
    results = [{"score": hit, "l2_category": row["l2-category"]} for row, hit in zip(rows, hits)]
    figures = {"mean over l2-category": lmms_mmstar.mmstar_aggregate_results(results)}
    yield record("mmstar", "lmms-eval", rows, hits, figures)


def yes_and_no():
    rows = [
        {
            "index": str(place),
            "question": "Q",
            "answer": DRAWN.choice(("Yes", "No")),
            "category": DRAWN.choice(("random", "popular,random", "adversarial")),
        }
        for place in range(60)
    ]
    said = [DRAWN.choice(("Yes", "No", "Unknown")) for _ in rows]
    hits = [int(one == row["answer"]) for row, one in zip(rows, said)]
    report = in_file(pd.DataFrame(rows).assign(extracted=said, score=hits), yorn.POPE_rating)
    total = report[report["split"] == "Overall"].iloc[0]
    figures = {
        "F1": total["Overall"],
        "accuracy": total["acc"],
        "precision": total["precision"],
        "recall": total["recall"],
    }
    figures |= {f"F1, {line['split']}": line["Overall"] for _, line in report.iterrows() if line["split"] != "Overall"}
    yield record("pope", "vlmevalkit", rows, hits, {name: value / 100 for name, value in figures.items()}, said)
    results = [
        {"score": hit, "prediction": one.lower(), "ground_truth": row["answer"].lower()}
        for row, one, hit in zip(rows, said, hits)
    ]
    yield record("pope", "lmms-eval", rows, hits, {"accuracy": lmms_pope.pope_aggregate_accuracy(results)}, said)
    rows = [
        {
            "index": f"{kind}_{part}_0_{group}_{figure}_{question}",
            "question": "Q",
            "answer": "Yes",
            "category": kind,
            "l2-category": part,
        }
        for kind, part in (("VD", "chart"), ("VS", "map"))
        for group in range(3)
        for figure in range(3)
        for question in range(2)
    ]
    hits = [int(DRAWN.random() < 0.8) for _ in rows]
    report = in_file(pd.DataFrame(rows).assign(score=hits), yorn.Hallusion_rating).set_index("split")
    figures = {name: report.loc["Overall", name] / 100 for name in ("aAcc", "fAcc", "qAcc")}
    figures |= {f"aAcc, {kind}": report.loc[kind, "aAcc"] / 100 for kind in ("VD", "VS")}
    yield record("hallusionbench", "vlmevalkit", rows, hits, figures, [""] * len(rows))


def steps():
    rows = []
    for problem in range(40):
        count = 2 + problem % 2
        keys = [f"{count}steps_{place}" for place in (*range(1, count + 1), "multi")]
        rows += [
            {
                "index": f"{problem}-{key}",
                "question": "Q",
                "A": "1",
                "B": "2",
                "answer": "A",
                "ID": str(problem),
                "key": key,
                "knowledge concept": "" if key.endswith("multi") else DRAWN.choice(CONCEPTS),
            }
            for key in keys
        ]
    hits = [int(DRAWN.random() < 0.6) for _ in rows]
    report = in_file(pd.DataFrame(rows).assign(hit=hits, prediction="A"), wemath.wemath_evaluate_models)
    figures = {"score (strict)": report["Score (Strict)"][0], "score (loose)": report["Score (Loose)"][0]}
    for ours, theirs in (
        ("IK", "InsufficientKnowledge (Strict)"),
        ("IG", "InadequateGeneralization (Strict)"),
        ("CM (strict)", "CompleteMastery (Strict)"),
        ("CM (loose)", "CompleteMastery (Loose)"),
        ("RM (strict)", "RoteMemorization (Strict)"),
        ("RM (loose)", "RoteMemorization (Loose)"),
    ):
        figures[ours] = report[theirs][0].split(" ")[0]
    tree = in_file(pd.DataFrame(rows).assign(hit=hits, prediction="A"), wemath.wemath_accuracy)
    names = {"One-step(S1)": "one-step (S1)", "Two-step(S2)": "two-step (S2)", "Three-step(S3)": "three-step (S3)"}
    for theirs, found in tree.items():
        if found[0] == found[0] and "nan" not in str(found[0]):
            figures[names.get(theirs, f"knowledge: {theirs}")] = found[0]
    yield record(
        "wemath-testmini", "vlmevalkit", rows, hits, {name: float(text[:-1]) / 100 for name, text in figures.items()}
    )


def skills():
    groups = {
        "task": ("figure question answering", "math word problem"),
        "category": ("general-vqa", "math-targeted-vqa"),
        "context": ("natural image", "bar chart", "table"),
        "grade": ("elementary school", "not applicable"),
        "source": ("IQTest", "PlotQA"),
        "language": ("english", "chinese"),
    }
    rows = [
        {
            "index": str(place),
            "question": "Q",
            "answer": "3",
            "question_type": "free_form",
            "answer_type": "integer",
            "skills": str(
                DRAWN.sample(("algebraic reasoning", "arithmetic reasoning", "logical reasoning"), 1 + place % 3)
            ),
        }
        | {name: DRAWN.choice(values) for name, values in groups.items()}
        for place in range(40)
    ]
    hits = [int(DRAWN.random() < 0.6) for _ in rows]
    frame = pd.DataFrame(rows).assign(log="Succeed", res=["3" if hit else "4" for hit in hits])
    report = in_file(frame, mathvista.MathVista_acc).set_index("Task&Skill")["acc"]
    named = {"Overall": "accuracy"} | {f"task: {one}": f"task: {one}" for one in groups["task"]}
    figures = {
        named.get(name, f"skills: {name}"): value / 100 for name, value in report.items() if name not in groups["task"]
    }
    figures |= {f"task: {name}": report[name] / 100 for name in groups["task"]}
    yield record("mathvista-testmini", "vlmevalkit", rows, hits, figures)
    keys = ("question_type", "answer_type", *groups, "skills")
    shares = {"accuracy": sum(hits) / len(hits)}
    frame = pd.DataFrame([{**row, "skills": json.loads(row["skills"].replace("'", '"'))} for row in rows])
    frame["true_false"] = [bool(hit) for hit in hits]
    for key in keys:
        for value in sorted(set(frame[key].explode())):
            right, total, _ = lmms_mathvista.mathvista_evaluator.get_acc_with_contion(frame, key, value)
            shares[f"{key}: {value}"] = right / total
    yield record("mathvista-testmini", "lmms-eval", rows, hits, shares)


def documents():
    answers = ("18 Million", "red car", "Not answerable")
    rows = [{"index": str(place), "question": "Q", "answer": answers[place % 3]} for place in range(12)]
    said = [DRAWN.choice(("18 million", "18", "red", "car red", "not answerable", "blue")) for _ in rows]
    report = in_file(pd.DataFrame(rows).assign(pred=said), slidevqa.SlideVQA_acc)
    worth = [slidevqa.anls_compute(row["answer"].lower(), one.lower()) for row, one in zip(rows, said)]
    figures = dict(zip(("ANLS", "exact match", "F1"), report["avg"], strict=True))
    yield record("slidevqa-test", "vlmevalkit", rows, worth, figures, said)
    evidence = (
        ("['Chart']", "[3]"),
        ("['Table', 'Pure-text (Plain-text)']", "[1, 2]"),
        ("[]", "[]"),
        ("['Generalized-text (Layout)']", "[4]"),
        ("['Figure', 'Generalized-text (Layout)']", "[5, 6]"),
    )
    rows = [
        {
            "index": str(place),
            "question": "Q",
            "answer": ("12", "red", "Not answerable")[place % 3],
            "answer_format": ("Int", "Str", "None")[place % 3],
            "evidence_sources": evidence[place % 5][0],
            "evidence_pages": evidence[place % 5][1],
        }
        for place in range(24)
    ]
    said = [DRAWN.choice(("12", "13", "red", "Not answerable")) for _ in rows]
    report = in_file(pd.DataFrame(rows).assign(pred=said), mmlongbench.MMLongBench_acc).set_index("category")[
        "avg_score"
    ]
    worth = [mmlongbench.eval_score(row["answer"], one, row["answer_format"]) for row, one in zip(rows, said)]
    names = {"overall_f1": "F1", "overall_acc": "accuracy", "text": "text", "table": "table", "chart": "chart"}
    names |= {"layout": "layout", "image": "image"}
    names |= {"single-page": "single page", "multi-page": "several pages", "unanswerable": "unanswerable"}
    figures = {ours: report[theirs] for theirs, ours in names.items()}
    yield record("mmlongbench-doc-all", "vlmevalkit", rows, worth, figures, said)


def trees():
    rows, hits = options(
        20, category=lambda p: ("Perception/OCR", "Reasoning/Ordering")[p % 2], target_instances=lambda _: "[]"
    )
    frame = pd.DataFrame(rows).assign(score=hits, iou=0.0)
    report = in_file(frame, treebench.get_dimension_rating)
    yield record("treebench", "vlmevalkit", rows, hits, {"accuracy": report["Overall"], "mIoU": report["mIoU"]})


def main() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        records = [*cycles(), *sources(), *splits(), *yes_and_no(), *steps(), *skills(), *documents(), *trees()]
    print("[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in records) + "\n]")


if __name__ == "__main__":
    main()
