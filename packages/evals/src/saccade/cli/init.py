"""``saccade init DIR``: a project of one's own that trains at once: recipe, reward, data, settings, tests."""

import json
from pathlib import Path

import click

from saccade.characters import shell_words
from saccade.cli.machine import prepare_machine
from saccade.cli.options import PATH
from saccade.errors import UserError

TEMPLATES = Path(__file__).parent / "project"
SHOWN_SHARE = 0.4
"""Share of the questions with a box that says where to look: their looks are imitated before reinforcement."""


@click.command()
@click.argument("directory", type=PATH, metavar="DIR")
@click.option(
    "--questions",
    "count",
    type=click.IntRange(8, 10_000),
    default=256,
    show_default=True,
    help="Questions about photographs to begin with.",
)
def init(directory: Path, count: int) -> None:
    """Write a project of your own into DIR that trains at once: recipe, reward, data, settings and tests."""
    name = directory.resolve().name
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError(f"{directory} exists and is not an empty folder; name a new one, so that nothing is lost")
    prepare_machine(None)
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from saccade.atomic import disk_errors, write_text_atomic

    pages = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    with disk_errors(directory):
        (directory / "data" / "images").mkdir(parents=True, exist_ok=True)
    for template in pages.list_templates():
        text = pages.get_template(template).render(name=_plain(name))
        write_text_atomic(directory / template.removesuffix(".jinja"), text)
    _write_questions(directory / "data", count)
    click.echo(f"{directory}: recipe.py, reward.py, config.yaml, test_project.py and {count} questions in data/")
    command = f"cd {shell_words(directory)} && saccade train --config config.yaml --out runs/first"
    click.echo(f"Train it: {command}")


def _plain(name: str) -> str:
    """The project's name as it may stand in a docstring and a heading."""
    kept = "".join(letter if letter.isalnum() or letter in " _-." else "-" for letter in name).strip(" -.")
    return kept or "my project"


def _write_questions(folder: Path, count: int) -> None:
    from saccade.atomic import write_text_atomic
    from saccade.gym.tagged_photos import tagged_photo
    from saccade.seeding import generator_for

    rows = []
    for index in range(count):
        photo = tagged_photo(generator_for(0, "init", index))
        image = f"images/{index:05d}.png"
        photo.image.save(folder / image)
        row = {"id": f"question-{index}", "image": image, "question": photo.question, "answer": photo.answer}
        shown = {"boxes": [{"bbox": photo.box, "label": photo.colour}]} if index < SHOWN_SHARE * count else {}
        rows.append({**row, **shown})
    write_text_atomic(folder / "questions.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
