"""Each data set's release, read to tasks."""

from pathlib import Path

import numpy as np
import pytest
from releases import DIAGRAM, RELEASES, SIZE

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import METRICS, answer_is_right, golds
from saccade.runs.task_json import task_from_json, task_to_json
from saccade.tasks.datasets.reading import DataSetTasks, read_data_set
from saccade.tasks.datasets.table import DATA_SETS
from saccade.types import Target, Task


def read(name: str, root: Path, media: MediaStore | None = None) -> DataSetTasks:
    split, release = RELEASES[name]
    return read_data_set(name, release(root), split=split, media=media or MediaStore())


def by_id(found: DataSetTasks) -> dict[str, Task]:
    return {task.id.rpartition("/")[2]: task for task in found.tasks}


def asked(task: Task) -> tuple[str, str, str, tuple[str, ...]]:
    return task.question, task.answer, task.answer_kind, task.choices


@pytest.mark.parametrize("name", DATA_SETS)
def test_every_data_set_of_the_paper_is_read_from_its_own_layout(name: str, tmp_path: Path) -> None:
    media = MediaStore()
    found = read(name, tmp_path, media)
    split, _ = RELEASES[name]
    assert found.tasks
    assert not found.skipped
    for task in found.tasks:
        assert (task.family, task.source) == (name, name)
        assert task.id.startswith(f"{name}/{split}/")
        assert all(image.hash in media for image in task.images)


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_published_answers_of_every_data_set_are_right_by_its_metric(name: str, tmp_path: Path) -> None:
    for task in read(name, tmp_path).tasks:
        assert answer_is_right(task, task.answer), task
        assert not answer_is_right(task, "no such thing")
        if task.choices:
            place = ord(task.answer) - ord("A") if len(task.answer) == 1 else task.choices.index(task.answer)
            assert answer_is_right(task, task.choices[place])


@pytest.mark.parametrize("name", DATA_SETS)
def test_tasks_of_every_data_set_are_written_and_read_again_equal(name: str, tmp_path: Path) -> None:
    for task in read(name, tmp_path).tasks:
        assert task_from_json(task_to_json(task)) == task


def test_every_data_set_but_that_without_a_rule_has_a_metric() -> None:
    assert set(METRICS) == set(DATA_SETS) - {"thinkvl"}


def test_the_table_is_the_papers() -> None:
    sets = DATA_SETS.values()
    assert sum(one.train_size for one in sets) == 22_170
    assert sum(one.test_size for one in sets) == 12_310
    assert (sum(one.train_size > 0 for one in sets), sum(one.test_size > 0 for one in sets)) == (15, 11)


def test_chartqa(tmp_path: Path) -> None:
    found = read("chartqa", tmp_path)
    assert {asked(task) for task in found.tasks} == {
        ("How many bars are above 20?", "3", "number", ()),
        ("In which year was the peak?", "2014", "integer", ()),
        ("Which country is the highest?", "Peru", "exact", ()),
    }
    assert {task.tolerance for task in found.tasks} == {0.05, 0.0}
    assert len({task.images for task in found.tasks}) == 2


def test_figureqa_answers_with_words(tmp_path: Path) -> None:
    assert [asked(task) for task in read("figureqa", tmp_path).tasks] == [
        ("Is Red the maximum?", "yes", "exact", ()),
        ("Is Red the minimum?", "no", "exact", ()),
    ]


def test_plotqa_has_the_answers_box_as_target(tmp_path: Path) -> None:
    first, second = read("plotqa", tmp_path).tasks
    assert asked(first) == ("What is the value of rainfall in May?", "57.25", "number", ())
    assert first.targets == (Target(label="", box=Box(5, 10, 25, 25), point=Point(15, 17.5)),)
    assert (second.answer, second.targets) == ("Yes", ())


def test_geometry3k_from_its_folders(tmp_path: Path) -> None:
    task = by_id(read("geometry3k", tmp_path))["11"]
    assert asked(task) == ("In circle X, AB = 12. Find AC.", "B", "choice", ("6", r"6\sqrt{3}", "12", "24"))
    assert answer_is_right(task, "10.3923")


def test_geoqa_from_its_pickle_with_the_diagram_of_the_array(tmp_path: Path) -> None:
    media = MediaStore()
    task = by_id(read("geoqa", tmp_path, media))["4321"]
    assert (task.answer, task.choices) == ("A", ("15°", "30°", "45°", "60°"))
    assert task.question.startswith("如图")
    assert np.array_equal(np.asarray(media.get(task.images[0]))[:, :, 0], DIAGRAM)


def test_unigeo_makes_options_of_numbers_and_reads_no_proofs(tmp_path: Path) -> None:
    found = read("unigeo", tmp_path)
    assert [(task.answer, task.choices) for task in found.tasks] == [("C", ("50", "60", "65.5", "90"))]
    with pytest.raises(UserError, match="not a single row"):
        read_data_set("unigeo", tmp_path / "proving_test.pk", split="test", media=MediaStore())


def test_mathvision_with_and_without_options(tmp_path: Path) -> None:
    tasks = by_id(read("mathvision", tmp_path))
    assert asked(tasks["4"]) == ("Which piece is missing?", "D", "choice", ("A", "B", "C", "D", "E"))
    assert tasks["5"].question == "The square in [image 1] has side 2. What is its diagonal?"
    assert answer_is_right(tasks["5"], "2.8284271")


def test_mathv360k_takes_options_and_answers_out_of_conversations(tmp_path: Path) -> None:
    found = read("mathv360k", tmp_path)
    assert [asked(task) for task in found.tasks] == [
        ("Find x.", "B", "choice", ("25", "30", "35")),
        ("Find y.", "A", "choice", ("25", "30")),
        ("How many in all?", "1,204", "integer", ()),
    ]
    assert found.left_out == {"a conversation of several questions": 1, "no short answer that can be checked": 1}


def test_mapqa_lists_are_one_answer_in_any_order(tmp_path: Path) -> None:
    tasks = by_id(read("mapqa", tmp_path))
    assert answer_is_right(tasks["q1"], "Texas and Ohio")
    assert answer_is_right(tasks["q2"], "10 - 20")


def test_docvqa_has_every_spelling(tmp_path: Path) -> None:
    task = by_id(read("docvqa", tmp_path))["337"]
    assert (task.answer, task.accepted) == ("1/8/93", ("1/8/93", "January 8, 1993"))
    assert answer_is_right(task, "january 8, 1993")


def test_infographicvqa_with_its_own_name_of_the_image(tmp_path: Path) -> None:
    task = by_id(read("infographicvqa", tmp_path))["65718"]
    assert asked(task) == ("What share reads the news daily?", "40%", "text", ())


def test_thinkvl_keeps_what_can_be_checked(tmp_path: Path) -> None:
    found = read("thinkvl", tmp_path)
    assert [(task.answer, task.answer_kind) for task in found.tasks] == [
        ("3", "integer"),
        ("B", "choice"),
        ("y = -5 * sin(-5 * x).", "math"),
    ]
    assert found.left_out == {"no short answer that can be checked": 1}


def test_vizwiz_has_all_ten_answers_and_the_most_common_one(tmp_path: Path) -> None:
    found = read("vizwiz", tmp_path)
    (task,) = found.tasks
    assert (task.answer, len(task.accepted), task.accepted.count("basil leaves")) == ("basil", 10, 2)
    assert found.left_out == {"no answer is published": 1}


def test_okvqas_two_files_are_joined_by_the_questions_number(tmp_path: Path) -> None:
    (task,) = read("okvqa", tmp_path).tasks
    assert (task.question, task.answer) == ("What sport can you use this for?", "race")
    assert (len(task.accepted), task.accepted.count("motocross")) == (10, 3)
    (tmp_path / "OpenEnded_mscoco_train2014_questions.json").unlink()
    with pytest.raises(UserError, match=r"OpenEnded_mscoco_train2014_questions\.json"):
        read_data_set("okvqa", tmp_path, split="train", media=MediaStore())


def test_scienceqa_reads_its_split_and_leaves_out_questions_without_an_image(tmp_path: Path) -> None:
    found = read("scienceqa", tmp_path)
    assert [asked(task) for task in found.tasks] == [
        ("Look at the picture.\nWhich is a liquid?", "B", "choice", ("ice", "water"))
    ]
    assert found.left_out == {"asked without an image": 1}


def test_clevr_and_clevr_math(tmp_path: Path) -> None:
    tasks = by_id(read("clevr", tmp_path / "clevr"))
    assert [asked(tasks[number])[1:3] for number in "01"] == [("yes", "exact"), ("3", "integer")]
    (left,) = read("clevr-math", tmp_path / "math").tasks
    assert asked(left)[1:3] == ("4", "integer")
    assert answer_is_right(left, "four")


def test_aokvqa_with_options_and_without(tmp_path: Path) -> None:
    with_options = by_id(read("aokvqa", tmp_path))
    assert asked(with_options["22MexNkBPpdZGX6sxbxVBH"])[1:] == (
        "D",
        "choice",
        ("skateboarder", "train", "delivery", "cab"),
    )
    direct = read("aokvqa-direct", tmp_path)
    (task,) = direct.tasks
    assert (task.answer, len(golds(task)), task.choices) == ("cab", 10, ())
    assert direct.left_out == {"marked as too difficult to be answered without options": 1}


def test_tabmwp(tmp_path: Path) -> None:
    tasks = by_id(read("tabmwp", tmp_path))
    assert asked(tasks["17"]) == ("How many pies?", "1,230", "integer", ())
    assert asked(tasks["18"]) == ("How much is it? (unit: $)", "3.5", "number", ())
    assert asked(tasks["19"]) == ("On which day?", "Monday", "choice", ("Sunday", "Monday"))


def test_ai2d_leaves_out_letters_that_the_release_does_not_draw(tmp_path: Path) -> None:
    found = read("ai2d", tmp_path)
    assert list(by_id(found)) == ["0.png-1"]
    assert list(found.left_out.values()) == [1]
    lettered = tmp_path / "abc_images"
    lettered.mkdir()
    (lettered / "0.png").write_bytes((tmp_path / "images/0.png").read_bytes())
    again = by_id(read_data_set("ai2d", tmp_path, split="test", media=MediaStore()))
    assert asked(again["0.png-0"])[1:3] == ("D", "choice")


def test_iconqa_shows_the_pictures_to_choose_from_as_further_images(tmp_path: Path) -> None:
    tasks = by_id(read("iconqa", tmp_path))
    assert asked(tasks["10"])[1:] == ("A", "choice", ("circle", "square"))
    assert asked(tasks["11"])[1:] == ("B", "choice", ("image 2", "image 3"))
    assert [len(tasks[number].images) for number in ("10", "11", "12")] == [1, 3, 1]
    assert asked(tasks["12"])[1:3] == ("7", "integer")


def test_mathvista_tells_unit_and_decimals(tmp_path: Path) -> None:
    tasks = by_id(read("mathvista", tmp_path))
    assert asked(tasks["1"]) == ("What is the distance? (unit: m; rounded to 1 decimals)", "1.2", "number", ())
    assert tasks["1"].tolerance == pytest.approx(0.05 / 1.2)
    assert answer_is_right(tasks["1"], "1.24")
    assert asked(tasks["2"])[1:3] == ("12", "integer")
    assert asked(tasks["3"])[1:] == ("No", "choice", ("Yes", "No"))
    assert asked(tasks["4"])[1:3] == ("[1, 2]", "exact")


def test_images_have_the_size_of_their_files(tmp_path: Path) -> None:
    (image,) = read("clevr-math", tmp_path).tasks[0].images
    assert (image.width, image.height) == SIZE


def test_years_of_charts_are_counted_as_the_public_scripts_do_where_that_is_asked_for(tmp_path: Path) -> None:
    release = RELEASES["chartqa"][1](tmp_path)

    def year(*, published: bool) -> Task:
        found = read_data_set("chartqa", release, split="train", media=MediaStore(), published_rules=published)
        return next(task for task in found.tasks if task.answer == "2014")

    assert [answer_is_right(year(published=False), said) for said in ("2014", "2015", "1700")] == [True, False, False]
    assert [answer_is_right(year(published=True), said) for said in ("2014", "2015", "1700")] == [True, True, False]
    assert year(published=True).id == year(published=False).id
