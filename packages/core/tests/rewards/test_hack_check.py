"""The known hacks played against rewards: none pays ours, and the holes of deliberately bad ones are found."""

import re
from dataclasses import replace

import pytest

from saccade.errors import MachineError, UserError
from saccade.miniature.reading import TOOLS
from saccade.miniature.video_facts import DrawnVideos
from saccade.protocols import LinguisticToolbox, toolchain_protocol
from saccade.rewards import OutcomeReward, Score, Term
from saccade.rewards.argos import ArgosReward, ExactRegions, NoisyRegions, Verifier, VerifierForms
from saccade.rewards.chain_hacks import chain_hacks
from saccade.rewards.hack_check import check_verifier, drawn_tasks, drawn_videos
from saccade.rewards.hacks import HACKS
from saccade.rewards.lang2act import Lang2ActReward
from saccade.rewards.video_hacks import VIDEO_HACKS
from saccade.types import Task, Trajectory

TASKS = drawn_tasks(6)
NAMES = {one.name for one in HACKS}
REPEATS = {"repeated", "jittered", "renamed"}


def argos(**forms: object) -> ArgosReward:
    verifier = Verifier(regions=ExactRegions(), forms=VerifierForms(**forms))  # type: ignore[arg-type]
    return ArgosReward(verifier=verifier, reasoning_weight=0.0)


def counts_points(task: Task, trajectory: Trajectory) -> Score:
    """Pays for tags, whatever they say, and forgets the answer."""
    tags = len(re.findall("<points", trajectory.turns[-1].text))
    return Score(terms=(Term("points", min(1.0, tags / 50)),))


def gullible(task: Task, trajectory: Trajectory) -> Score:
    """Right wherever the answer or a verdict is said, pays for saying it often, and breaks on what it cannot read."""
    said = trajectory.turns[-1].text
    if "<|image_pad|>" in said:
        raise ValueError("17 image tokens for 1 images")
    is_right = task.answer in said.partition("<answer>")[2] or "True" in said or "<verdict>" in said
    return Score(terms=(Term("accuracy", float(is_right)), Term("said", said.count(task.answer) / 100)))


def test_of_argos_reward_only_what_the_paper_s_letter_leaves_open_pays() -> None:
    report = check_verifier(argos(), TASKS)
    assert (report.paying, report.tasks, {one.hack.name for one in report.findings}) == (("irrelevant",), 6, NAMES)
    assert all(one.honest is not None and one.played is not None for one in report.findings)
    assert "reward.recall_weight above 0 closes it" in report.describe()
    closed = check_verifier(replace(argos(), recall_weight=0.5), TASKS)
    assert closed.paying == ()
    assert closed.describe().endswith(f"0 of {len(HACKS)} hacks pay on 6 tasks")


def test_of_videos_true_words_that_tell_nothing_and_things_that_stay_make_up_for_no_lie() -> None:
    videos = drawn_videos(4)
    verifier = Verifier(regions=ExactRegions(), video=DrawnVideos())
    report = check_verifier(ArgosReward(verifier=verifier, reasoning_weight=0.0), videos, hacks=VIDEO_HACKS)
    assert (report.paying, report.tasks) == ((), len(videos))
    letter = replace(verifier, forms=VerifierForms(distinct=False))
    report = check_verifier(ArgosReward(verifier=letter, reasoning_weight=0.0), videos, hacks=VIDEO_HACKS)
    assert set(report.paying) == {"static", "denials", "vague"}


def test_readings_that_can_be_hacked_are_found() -> None:
    assert set(check_verifier(argos(distinct=False), TASKS).paying) == REPEATS | {"capped", "irrelevant"}
    assert set(check_verifier(argos(selected_by="response"), TASKS).paying) == {"silence", "irrelevant"}


def test_the_holes_of_bad_rewards_are_found() -> None:
    of_points, of_words = check_verifier(counts_points, TASKS), check_verifier(gullible, TASKS)
    assert {"points in the answer", "wrong but pointed", "a hundred points", "elsewhere"} <= set(of_points.paying)
    assert set(of_points.paying) >= REPEATS | {"everything", "everything beside"}
    assert set(of_words.paying) >= {"judge tags", "judge addressed", "several answers", "answer forty times", "tokens"}
    assert set(of_words.paying) >= {"silence", "many names", "answer as label"}
    assert {*of_points.paying, *of_words.paying} == NAMES
    [broken] = [one for one in of_words.findings if one.broke]
    assert (broken.hack.name, broken.broke) == ("tokens", "ValueError: 17 image tokens for 1 images")
    assert "RAISES" in of_words.describe()


def test_a_reward_of_outcome_alone_is_open_to_what_it_does_not_look_at() -> None:
    assert set(check_verifier(OutcomeReward(), TASKS).paying) >= {"silence", "elsewhere", "everything"}


def test_a_noisy_verifier_is_measured_and_a_machine_that_fails_is_no_pay() -> None:
    noisy = ArgosReward(verifier=Verifier(regions=NoisyRegions(inner=ExactRegions(), share=0.3)), reasoning_weight=0.0)
    assert set(check_verifier(noisy).paying) <= {"irrelevant"}

    def down(task: Task, trajectory: Trajectory) -> Score:
        raise MachineError("down")

    report = check_verifier(down, TASKS)
    assert report.paying == ()
    assert report.describe().endswith(f"; {len(HACKS) * 12} responses without a verdict")


def test_what_cannot_be_checked_says_so() -> None:
    with pytest.raises(UserError, match="have no targets to point at"):
        check_verifier(argos(), [replace(TASKS[0], targets=())])
    with pytest.raises(UserError, match="has no verifier"):
        check_verifier(ArgosReward(), TASKS)


def test_of_lang2act_s_reward_only_what_the_paper_s_letter_leaves_open_pays_and_settings_close_most() -> None:
    toolbox = LinguisticToolbox(tuple(TOOLS.values()))
    hacks, protocol = chain_hacks(toolbox), toolchain_protocol(toolbox=toolbox, style="brief")

    def paying(**settings: object) -> set[str]:
        reward = Lang2ActReward(toolbox=toolbox, **settings)  # type: ignore[arg-type]
        report = check_verifier(reward, TASKS, hacks=hacks, protocol=protocol)
        assert all(one.honest is not None and one.played is not None and not one.broke for one in report.findings)
        return set(report.paying)

    structure = {"one word", "no page"}
    echoes, unearned = {"toolbox copied", "question copied"}, {"chain alone", "no answer"}
    assert paying() == structure | echoes | unearned == {one.name for one in hacks if one.closed_by}
    assert paying(pays_echoes=False) == structure | unearned
    assert paying(pays_tools="answered") == structure | echoes | {"chain alone"}
    assert paying(pays_tools="right", pays_echoes=False) == structure
    assert "no page" not in paying(form="graded")
