"""Comparison of stored samples: paired, corrected, with what flipped, and refused where it was asked differently."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.evaluation.compare import compare
from saccade.evaluation.sample_files import read_samples, write_samples
from saccade.evaluation.samples import SampleHeader, SampleSet, StoredSample
from saccade.types import Json


def stored(marks: str, *, clusters: str = "", asked: dict[str, Json] | None = None, model: str = "m") -> SampleSet:
    """A sample for each mark: ``+`` right, ``-`` wrong, ``x`` failed; a letter each says the cluster."""
    return SampleSet(
        header=SampleHeader(name="direct", model={"name": model}, asked={"protocol": "direct", **(asked or {})}),
        samples=tuple(
            StoredSample(
                id=f"q{place}",
                q=f"hash {place}",
                key="",
                sample=0,
                status="failed" if mark == "x" else "answered",
                right={"+": True, "-": False, "x": None}[mark],
                score=None,
                answer=mark,
                gold="+",
                reply=mark,
                family="even" if place % 2 == 0 else "odd",
                cluster=clusters[place] if clusters else str(place),
            )
            for place, mark in enumerate(marks)
        ),
    )


def test_the_same_questions_are_paired_and_the_flipped_ones_named() -> None:
    [found] = compare([stored("++--+-"), stored("+++-++")], ["a", "b"])
    assert (found.before.mean, found.after.mean) == (0.5, pytest.approx(5 / 6))
    assert found.difference.mean == pytest.approx(2 / 6)
    assert (found.only_before, found.only_after, found.p_mcnemar) == (0, 2, 0.5)
    assert found.p_value == found.p_mcnemar
    assert [(one.id, one.before, one.after) for one in found.flipped] == [("q2", 0.0, 1.0), ("q5", 0.0, 1.0)]
    assert {name: mean.mean for name, mean in found.categories.items()} == {
        "even": pytest.approx(1 / 3),
        "odd": pytest.approx(1 / 3),
    }


def test_a_failed_sample_is_left_out_with_its_question_and_said() -> None:
    [found] = compare([stored("+x-+"), stored("++-x")], ["a", "b"])
    assert (found.left_out, found.difference.n, found.difference.mean) == (2, 2, 0.0)
    assert "INCOMPLETE: 2 questions" in found.describe()


def test_questions_on_one_picture_are_one_observation() -> None:
    first, second = stored("-" * 12, clusters="aaaaaabbbbbb"), stored("+" * 6 + "-" * 6, clusters="aaaaaabbbbbb")
    [found] = compare([first, second], ["a", "b"])
    assert found.p_mcnemar == pytest.approx(2 / 2**6)
    # Two pictures, of which one gained: nothing is shown by that.
    assert found.p_value > 0.1
    assert found.difference.clusters == 2


def test_several_models_are_corrected_together() -> None:
    first = stored("-" * 20)
    found = compare([first, stored("+" * 8 + "-" * 12), stored("+" * 7 + "-" * 13)], ["a", "b", "c"])
    assert [one.p_value for one in found] == pytest.approx([2 / 2**8, 2 / 2**7])
    assert [one.p_holm for one in found] == pytest.approx([4 / 2**8, 4 / 2**8])


def test_what_was_asked_differently_is_refused_and_said_by_name() -> None:
    first, second = stored("+-", asked={"max_pixels": 1}), stored("++", asked={"max_pixels": 2})
    with pytest.raises(UserError, match=r"max_pixels: 1 and 2\n.*--although max_pixels"):
        compare([first, second], ["a", "b"])
    [found] = compare([first, second], ["a", "b"], although=["max_pixels"])
    assert found.accepted == ("max_pixels: 1 and 2",)


def test_of_long_values_that_begin_alike_the_part_that_differs_is_shown() -> None:
    words = "You answer questions about images. " * 20
    rewards: list[dict[str, Json]] = [{"reward": {"class": "a.b.C", "weights": [1.0] * 40, "n": n}} for n in (1, 2)]
    with pytest.raises(UserError, match=r"  reward: n 1 and 2\n"):
        compare([stored("+-", asked=rewards[0]), stored("++", asked=rewards[1])], ["a", "b"])
    first, second = stored("+-", asked={"system": f"{words}Two turns."}), stored("++", asked={"system": f"{words}Six."})
    with pytest.raises(UserError, match=r"  system: \.\.\..*images\. Two turns\.' and \.\.\..*images\. Six\.'\n"):
        compare([first, second], ["a", "b"])


def test_other_words_or_missing_questions_are_refused() -> None:
    first = stored("+-+")
    changed = replace(first, samples=(replace(first.samples[0], q="other"), *first.samples[1:]))
    with pytest.raises(UserError, match="1 of 3 questions with the same id have different words"):
        compare([first, changed], ["a", "b"])
    fewer = replace(first, samples=first.samples[:2])
    with pytest.raises(UserError, match="1 questions are in only one of them, 2 in both"):
        compare([first, fewer], ["a", "b"])
    [found] = compare([first, fewer], ["a", "b"], although=["questions"])
    assert found.difference.n == 2


def test_several_samples_of_a_question_are_its_share() -> None:
    first = stored("+-")
    second = replace(first, samples=(*first.samples, *(replace(one, sample=1, right=True) for one in first.samples)))
    [found] = compare([second, second], ["a", "b"])
    assert (found.before.mean, found.difference.mean, found.p_value) == (0.75, 0.0, 1.0)


def test_other_right_answers_another_grading_and_other_samples_are_refused() -> None:
    first = stored("+-+")
    other_gold = replace(first, samples=(replace(first.samples[0], gold="2"), *first.samples[1:]))
    with pytest.raises(UserError, match="answers: 1 of 3 questions have a different right answer"):
        compare([first, other_gold], ["a", "b"])
    graded = [replace(first, samples=tuple(replace(one, graded=name) for one in first.samples)) for name in "xy"]
    with pytest.raises(UserError, match="answers: 3 of 3 questions are graded by a different kind"):
        compare(graded, ["a", "b"])
    # An older run does not say how it was graded.
    assert compare([first, graded[0]], ["a", "b"])[0].difference.n == 3
    twice = replace(first, samples=(*first.samples, replace(first.samples[0], sample=1)))
    with pytest.raises(UserError, match="samples: 1 of 3 questions have different samples"):
        compare([first, twice], ["a", "b"])


def test_what_a_server_was_sent_beside_the_question_is_part_of_what_was_asked() -> None:
    first = stored("+-")
    sent = [
        replace(first, header=replace(first.header, model={"name": "m", "extra_body": body}))
        for body in ({"top_p": 0.5}, {"top_p": 0.5, "enable_thinking": True})
    ]
    with pytest.raises(UserError, match=r"extra_body: None and \{'enable_thinking': True\}"):
        compare(sent, ["a", "b"])
    assert compare([first, sent[0]], ["a", "b"])[0].difference.n == 2


def test_a_file_of_samples_that_was_cut_or_changed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "direct.jsonl"
    write_samples(path, stored("+-+"))
    assert read_samples(path) == stored("+-+")
    lines = path.read_bytes().splitlines(keepends=True)
    forged = lines[0].replace(b'"protocol": "direct"', b'"protocol": "tagged"')
    for changed in (lines[:3], [*lines, lines[1]], [forged, *lines[1:]], [lines[0], lines[2], lines[1], lines[3]]):
        path.write_bytes(b"".join(changed))
        with pytest.raises(UserError, match="was cut or changed after it was written"):
            read_samples(path)
    head = json.loads(lines[0])
    del head["sha256"]
    path.write_bytes(json.dumps(head).encode() + b"\n" + b"".join([*lines[1:], lines[1]]))
    with pytest.raises(UserError, match="holds a sample of a question twice"):
        read_samples(path)


def test_a_line_that_is_no_sample_is_told_by_its_number_its_key_and_its_value(tmp_path: Path) -> None:
    path = tmp_path / "direct.jsonl"
    write_samples(path, stored("+-+"))
    head, first, *rest = path.read_bytes().splitlines()
    head = json.dumps({name: value for name, value in json.loads(head).items() if name != "sha256"}).encode()
    sample = json.loads(first)
    for line, told in (
        (first[:40], "3: not JSON"),
        (b"[1]", "3 is no sample: the line must be a JSON object, not [1]"),
        (sample | {"right": "true"}, "3 is no sample: 'right' must be true or false, not 'true'"),
        (sample | {"sample": 1.0}, "3 is no sample: 'sample' must be a whole number, not 1.0"),
        (sample | {"calls": {"crop": "2"}}, "3 is no sample: 'calls[...]' must be a whole number, not '2'"),
        (sample | {"colour": "red"}, "3 is no sample: 'colour' is an unknown key in the line"),
        ({name: sample[name] for name in sample if name != "right"}, "3 is no sample: 'right' is missing in the line"),
        (sample | {"option": 10**9}, "3 is no sample: 'option' and 'picked' must be from -1 to 9999"),
    ):
        text = line if isinstance(line, bytes) else json.dumps(line).encode()
        path.write_bytes(b"\n".join([head, first, text, *rest]))
        with pytest.raises(UserError) as caught:
            read_samples(path)
        assert f"{path}:{told}" in str(caught.value)


def test_samples_are_written_as_pythons_json_writes_them_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "direct.jsonl"
    odd = [
        {"score": 1},
        {"score": math.inf, "reply": "half a pair: \ud83d", "buckets": ("é", "")},
        {"right": None, "answer": None, "calls": {"crop": 2, "\ud83d": 1}, "option": 3, "tokens_in": 10**25},
    ]
    found = stored("+-+")
    found = replace(found, samples=tuple(replace(one, **more) for one, more in zip(found.samples, odd, strict=True)))
    write_samples(path, found)
    assert read_samples(path) == found
    lines = path.read_bytes().splitlines()
    assert lines == [json.dumps(json.loads(line)).encode() for line in lines]
    write_samples(path, read_samples(path))
    assert path.read_bytes().splitlines() == lines
