"""``saccade audit-family``: its table, its JSON, its pages, the gym's checks and wrong names."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.cli import run_command
from saccade.evaluation.audit.findings import Checked
from saccade.evaluation.audit.golden import GoldenHashes, bytes_finding, golden_of
from saccade.evaluation.audit.gym_programs import (
    axes_finding,
    golden_finding,
    gym_draw,
    negatives_finding,
    paraphrases_finding,
    second_solver_finding,
)
from saccade.gym.family import GymFamily
from saccade.gym.golden import library_versions
from saccade.gym.levels import Levels
from saccade.gym.looks.degraded import worn_looks
from saccade.gym.registry import gym_families
from saccade.seeding import generator_for

FILE = Path(__file__).with_name("faulty_families.py")
CLEAN = f"{FILE}:draw_clean"


def test_one_check_of_a_clean_family_ends_with_0_and_of_a_faulty_one_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit-family", CLEAN, "-n", "50", "--check", "options", "--json"]
    assert run_command([*command, "--pages", str(tmp_path / "pages")]) == 0
    (audit,) = json.loads(capsys.readouterr().out)
    assert [one["check"] for one in audit["findings"]][:1] == ["options"]
    assert (audit["family"], audit["tasks"], audit["convicted_by"]) == ("clean", 75, [])
    page = (tmp_path / "pages/clean.md").read_text()
    assert "Which mark has the" in page
    assert (tmp_path / "pages/clean.webp").stat().st_size > 1000
    assert "[clean](clean.md)" in (tmp_path / "pages/README.md").read_text()
    assert run_command(["audit-family", f"{FILE}:draw_two_right_options", "-n", "60", "--check", "options"]) == 1
    told = capsys.readouterr()
    assert "0 of 1 families pass" in told.out
    assert "two_right_options: convicted by options" in told.err


def test_what_is_kept_is_not_audited_again_and_says_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = f"{FILE}:draw_two_right_options"
    command = ["audit-family", "-n", "50", "--check", "prior", "--json", "--keep", str(tmp_path / "kept")]
    assert run_command([*command, other]) == 0
    assert "audited two_right_options" in capsys.readouterr().err
    assert run_command([*command, CLEAN, other]) == 0
    told = capsys.readouterr()
    assert [line for line in told.err.splitlines() if line.startswith("audited")] == ["audited clean"]
    again = json.loads(told.out)
    assert [audit["family"] for audit in again] == ["clean", "two_right_options"]
    assert again[0]["findings"][-1]["check"] == "copies in another family"
    assert again[0]["findings"][-1]["figure"] == 0
    assert run_command([*command, CLEAN, other]) == 0
    told = capsys.readouterr()
    assert (json.loads(told.out), told.err) == (again, "")
    assert run_command([*command, "--seed", "1", CLEAN]) == 2
    assert "made with other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name the families to audit"),
        (["--all", "counting"], "name the families to audit"),
        (["no_such_family"], "no task family 'no_such_family'"),
        (["missing.py:draw"], "missing.py"),
        ([CLEAN, "-n", "50", "--check", "luck"], "there is no check 'luck'"),
        ([CLEAN, "-n", "50", "--golden", "missing.json"], "holds no golden hashes"),
    ],
)
def test_wrong_words_are_a_message(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["audit-family", *words]) == 2
    assert says in capsys.readouterr().err


def test_other_bytes_are_told_with_the_libraries_that_changed() -> None:
    golden = golden_of([("clean", CLEAN)])
    assert bytes_finding(CLEAN, "clean", seed=0, golden=golden).verdict == "passes"
    place = next(iter(golden.hashes["clean"]))
    changed = {"clean": {**golden.hashes["clean"], place: "0" * 16}}
    same = bytes_finding(CLEAN, "clean", seed=0, golden=replace(golden, hashes=changed))
    assert same.verdict == "convicted"
    assert "the family's code has changed" in same.note
    older = GoldenHashes(versions={**golden.versions, "pillow": "9.0.0"}, hashes=changed)
    assert "drawn with other libraries: pillow 9.0.0 there," in bytes_finding(CLEAN, "clean", seed=0, golden=older).note


def shape_counts() -> GymFamily:
    return gym_families()["shape_counts"]


def test_the_gyms_own_checks_pass_a_family_and_find_its_faults() -> None:
    drawn = gym_draw(shape_counts())
    assert drawn is not None
    samples = drawn.samples(20, seed=0)
    checks = (second_solver_finding, negatives_finding, paraphrases_finding)
    assert [check(samples).verdict for check in checks] == ["passes"] * 3
    first = samples[0]
    lying = replace(first.program, solve=lambda state, words: "99")
    assert second_solver_finding([replace(first, program=lying)]).verdict == "convicted"
    near = replace(first, asked=replace(first.asked, near=(first.asked.answer,)))
    assert negatives_finding([near]).verdict == "convicted"
    worded = replace(first.scene.asked, answer="seven")
    told = replace(
        first,
        asked=replace(first.asked, answer="seven"),
        scene=replace(first.scene, asked=worded),
        paraphrases=("How many?", "How many are the seven?"),
    )
    assert paraphrases_finding([told]).verdict == "convicted"


def test_an_axis_that_nothing_reads_is_dead() -> None:
    family = shape_counts()
    grammar = replace(family.grammar, axes=(*family.grammar.axes, "mood"))
    drawn = gym_draw(replace(family, grammar=grammar))
    assert drawn is not None
    found = axes_finding(drawn, seed=0)
    assert (found.verdict, found.example) == ("convicted", "mood")
    assert gym_draw(lambda rng, difficulty: family(rng, difficulty)) is None


def test_an_axis_of_the_worn_looks_alone_is_read_by_them() -> None:
    family = shape_counts()
    grammar = replace(family.grammar, axes=())
    worn = gym_draw(replace(family, grammar=grammar, more_renderers=worn_looks(*family.renderers[:1])))
    assert worn is not None
    assert "wear" in worn.family.axes
    assert axes_finding(worn, seed=0).verdict == "passes"


def test_a_family_that_ships_is_compared_with_its_golden_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = gym_draw(gym_families()["sequences"])
    assert drawn is not None
    same = Checked(check="bytes", verdict="passes", figure=0.0, bound=0.0)
    assert golden_finding(drawn, same).note == "the same in another process, and the golden hash"
    monkeypatch.setattr("saccade.gym.golden.FOLDER", tmp_path)
    assert golden_finding(drawn, same) == same
    record = {"versions": dict(library_versions(drawn.family)), "sha256": "0" * 64}
    (tmp_path / "sequences.json").write_text(json.dumps(record), encoding="utf-8")
    found = golden_finding(drawn, same)
    assert (found.verdict, found.example) == ("convicted", "sequences")
    assert "its code changed" in found.note
    assert golden_finding(drawn, replace(same, verdict="convicted")).note == ""
    record["versions"] = {"numpy": "1.0"}
    (tmp_path / "sequences.json").write_text(json.dumps(record), encoding="utf-8")
    assert golden_finding(drawn, same).note.endswith("the golden hash was made with other libraries")


@pytest.mark.parametrize("name", ["shape_counts", "matrices", "colour_squares", "turned_figures"])
def test_a_grammars_states_become_harder_by_its_own_measure_or_by_their_elements(name: str) -> None:
    drawn = gym_draw(gym_families()[name])
    assert drawn is not None
    means = [sum(level) / len(level) for level in drawn.hardness(seed=0)]
    assert means == sorted(means)
    assert means[-1] > means[0] + 1


def test_names_of_bubbles_are_not_read_as_letters_of_options() -> None:
    family = gym_families()["chart_bubble"]
    program = family.program("greater_of_two")
    samples = [family.sample(generator_for(index), Levels(), program=program) for index in range(8)]
    assert all(one.asked.near for one in samples)
    assert negatives_finding(samples).verdict == "passes"


def test_a_paraphrase_that_names_every_option_says_no_answer() -> None:
    family = gym_families()["odd_one_out"]
    wordings = family.program("is_one_odd").wordings
    assert sum("yes or no" in text for text in wordings) not in (0, len(wordings))
    samples = [
        family.sample(generator_for(index), Levels(), program=family.program("is_one_odd")) for index in range(6)
    ]
    assert paraphrases_finding(samples).verdict == "passes"
    told = next(one for one in samples if one.asked.answer == "yes")
    leaking = replace(told, paraphrases=("It is yes, is it not?", "Is there an odd one?"))
    assert paraphrases_finding([leaking]).verdict == "convicted"
