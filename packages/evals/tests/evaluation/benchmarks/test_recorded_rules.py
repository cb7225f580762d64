"""Our readings against calls of others' own functions: the harnesses', which ``record_rules.py`` recorded, and those of
the releases in ``recorded_releases.json``, which names them under ``sources``."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from saccade.evaluation.benchmarks import BENCHMARKS, BenchmarkRow, Extracted
from saccade.evaluation.benchmarks.boxes import best_iou
from saccade.evaluation.benchmarks.rows import row_of

_FILES = [
    json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("recorded_rules.json", "recorded_releases.json")
]
_KEYS = ("benchmark", "reading", "row", "reply", "judge", "read", "credit")
RECORDED = [{**dict(zip(_KEYS, case)), "row": file["rows"][case[2]]} for file in _FILES for case in file["cases"]]


def read(case: dict[str, object], row: BenchmarkRow) -> Extracted:
    """By the reading, its judge answered by the recorded texts."""
    reading = BENCHMARKS[str(case["benchmark"])].reading(str(case["reading"]))
    reply = str(case["reply"])
    if not case["judge"]:
        return reading.read(row, reply)
    assert reading.judging is not None
    asking = reading.judging(row, reply)
    texts = iter(case["judge"])
    try:
        next(asking)
        while True:
            asking.send(next(texts))
    except StopIteration as end:
        return end.value


def disagreements() -> Iterator[str]:
    for case in RECORDED:
        row = row_of(BENCHMARKS[case["benchmark"]], case["row"], ())
        if case["reading"] == "boxes":
            iou = best_iou(case["reply"], row.fields["target_instances"])
            if abs(iou - case["credit"]) > 1e-9:
                yield f"{case} -> {iou}"
            continue
        ours = read(case, row)
        is_same = ours.credit == case["credit"] or (
            ours.credit is not None and case["credit"] is not None and abs(ours.credit - case["credit"]) < 1e-9
        )
        if not is_same or (case["read"] is not None and ours.text != case["read"]):
            yield f"{case} -> {ours}"


def test_both_compatible_readings_agree_with_every_recorded_case() -> None:
    assert list(disagreements()) == []


def test_two_versions_of_a_harness_differ_in_recorded_cases_and_both_are_read() -> None:
    said = {
        (case["benchmark"], case["reading"], case["row"]["index"], case["reply"], *case["judge"]): case["credit"]
        for case in RECORDED
    }
    pairs = (("vlmevalkit", "vlmevalkit-2026-08"), ("lmms-eval", "lmms-eval-0.7.2"))
    changed = Counter(
        (key[0], after)
        for before, after in pairs
        for key, credit in said.items()
        if key[1] == after and said[(key[0], before, *key[2:])] != credit
    )
    assert changed == {
        ("vstar", "vlmevalkit-2026-08"): 5,
        ("mme-realworld-lite", "vlmevalkit-2026-08"): 2,
        ("treebench", "vlmevalkit-2026-08"): 2,
        ("mmmu-val", "vlmevalkit-2026-08"): 3,
        ("mathvista-testmini", "vlmevalkit-2026-08"): 1,
        ("mathvision-test", "vlmevalkit-2026-08"): 1,
        ("blink", "lmms-eval-0.7.2"): 12,
        ("mmmu-val", "lmms-eval-0.7.2"): 6,
    }


def test_cases_are_recorded_of_every_rule_that_a_harness_or_a_release_has() -> None:
    of_rules: Counter[object] = Counter()
    for case in RECORDED:
        if case["reading"] != "boxes":
            reading = BENCHMARKS[case["benchmark"]].reading(case["reading"])
            of_rules[reading.rule, reading.judging] += 1
    rules = {
        (one.name, reading.name): of_rules[reading.rule, reading.judging]
        for one in BENCHMARKS.values()
        for reading in one.readings
        if reading.name != "strict" and not one.layout.data_set
    }
    assert [name for name, count in rules.items() if count == 0] == []
    assert min(rules[case[0], case[1]] for case in _FILES[1]["cases"]) >= 20
