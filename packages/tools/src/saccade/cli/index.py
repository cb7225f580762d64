"""``saccade index`` makes an index of a folder of PDFs and pictures, ``saccade search`` finds pages in it."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from saccade.cli import options
from saccade.cli.machine import telling_of_waits
from saccade.cli.options import PATH
from saccade.errors import UserError
from saccade.strict_json import strict_json

if TYPE_CHECKING:
    from saccade.retrieval.layout import IndexEntry
    from saccade.retrieval.store import PageStore
    from saccade.vision_models.kinds import PageEncoder

ENCODER_HELP = "Directory of ColPali, ColQwen2, ColModernVBERT or a sentence-transformers model, or a server's URL."


@click.command()
@click.argument("folder", type=PATH)
@click.option("--encoder", "where", required=True, metavar="CHECKPOINT", help=ENCODER_HELP)
@options.out_option("Directory of the index; an existing index is extended.")
@click.option(
    "--precision",
    type=click.Choice(["int8", "fp16"]),
    default="int8",
    show_default=True,
    help="Precision of the vectors: fp16 takes twice the space and time.",
)
@click.option("--dpi", type=click.IntRange(min=1), default=144, show_default=True, help="Resolution of PDF pages.")
@click.option(
    "--max-pixels",
    type=click.IntRange(min=1),
    default=4_000_000,
    show_default=True,
    help="Maximum pixels of a PDF page; larger pages are drawn smaller.",
)
@click.option(
    "--first-stage", metavar="STAGE", help="Also store what two-stage search needs: 32-int8, 32-signs, all-signs, ..."
)
@options.threads
@click.option("--quiet", is_flag=True, help="Show no progress.")
def index(
    folder: Path, where: str, out: Path, precision: str, dpi: int, max_pixels: int, first_stage: str | None, quiet: bool
) -> None:
    """Index the PDFs and pictures of FOLDER, or add new and changed ones to the index.

    A PDF is a document, and so are the pictures of a subfolder. Pages that cannot be read are listed. The same command
    continues after an interruption.
    """
    from saccade.retrieval.building import build_index
    from saccade.retrieval.first_stage import FirstStage, build_first_stage
    from saccade.retrieval.layout import IndexSettings
    from saccade.retrieval.store import open_index

    settings = IndexSettings(
        precision="fp16" if precision == "fp16" else "int8", dots_per_inch=dpi, max_pixels=max_pixels
    )
    stage = FirstStage.read(first_stage) if first_stage else None
    told = _silent if quiet else _tell
    with nullcontext() if quiet else telling_of_waits("opening the encoder"):
        encoder = _encoder(where)
    report = build_index(folder, encoder, out, settings, where=_whole_path(where), told=told)
    for names, what in ((report.left_out, "neither PDFs nor pictures"), (report.gone, "indexed, but no longer there")):
        if names:
            first = ", ".join(map(_printable, names[:5]))
            click.echo(f"{len(names)} files are {what}: {first}{' ...' if len(names) > 5 else ''}")
    made = open_index(out)
    if stage is not None:
        build_first_stage(made, stage)
    if made.unreadable:
        click.echo(f"{len(made.unreadable)} pages or files cannot be read:")
    for entries in _alike(made.unreadable):
        click.echo(f"  {_pages_text(*entries)}: {entries[0].error}")
    click.echo(f"{out}: {len(made)} pages of {len(made.documents)} documents, {report.added} of them new")


@click.command()
@click.argument("index_directory", type=PATH, metavar="INDEX")
@click.argument("question")
@click.option("-k", "count", type=click.IntRange(min=1), default=3, show_default=True, help="Number of pages.")
@click.option("--document", help="Search only this document.")
@click.option(
    "--encoder", "where", metavar="CHECKPOINT", help=f"By default the one that made the index. {ENCODER_HELP}"
)
@options.first_stage
@click.option("--out", type=PATH, help="Folder for the pictures of the pages.")
@click.option(
    "--why",
    type=PATH,
    metavar="FILE.html",
    help="HTML page that shows, on the pages found, what each word of the question matched.",
)
@options.thread_count
@options.as_json
@options.tells_of_waits
def search(
    index_directory: Path,
    question: str,
    count: int,
    document: str | None,
    where: str | None,
    first_stage: str | None,
    out: Path | None,
    why: Path | None,
    threads: int,
    as_json: bool,
) -> None:
    """Find the pages of INDEX that answer QUESTION: score, document#page, and its file with --out."""
    from saccade.media.encode import png_bytes
    from saccade.retrieval.first_stage import FirstStage
    from saccade.retrieval.retriever import PageRetriever
    from saccade.retrieval.store import open_index
    from saccade.retrieval.two_stage import TwoStageIndex

    pages = open_index(index_directory, threads=threads)
    encoder = page_encoder(where, pages)
    searched = TwoStageIndex(pages, FirstStage.read(first_stage)) if first_stage else pages
    hits = PageRetriever(searched, encoder).search(question, count, document)
    files = [_file(out, rank, hit.page.document, hit.page.number) if out else None for rank, hit in enumerate(hits, 1)]
    for hit, file in zip(hits, files):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(png_bytes(pages.picture(hit.page)))
    if why is not None:
        from saccade.entry_points import part

        part("--why of a search")(why, question, hits, pages, encoder)
    if as_json:
        found = [
            {"document": hit.page.document, "page": hit.page.number, "score": hit.score, "picture": file and str(file)}
            for hit, file in zip(hits, files)
        ]
        click.echo(strict_json(found, indent=2))
        return
    for hit, file in zip(hits, files):
        click.echo(f"{hit.score:8.3f}  {_printable(str(hit.page))}" + (f"  {_printable(str(file))}" if file else ""))
    if why is not None:
        click.echo(f"Why: {why}")


def noted_place(where: str, noted_in: Path) -> str:
    """Where a file says that an encoder is; UserError for a server beyond this machine, which only the user names."""
    if "://" in where and urlsplit(where).hostname not in ("127.0.0.1", "localhost", "::1"):
        raise UserError(
            f"{noted_in} says that its encoder is a server, {where!r}; to send it questions and pages, name it yourself"
        )
    return where


def page_encoder(where: str | None, pages: "PageStore") -> "PageEncoder":
    """The encoder that is named, or the one that made the index."""
    where = where or noted_place(pages.header.where, pages.paths.header)
    if not where:
        raise UserError(f"{pages.paths.root} does not say where its encoder is; name it with --encoder CHECKPOINT")
    return _encoder(where)


def _encoder(where: str) -> "PageEncoder":
    from saccade.vision_models.page_encoders import open_page_encoder

    return open_page_encoder(where)


def _whole_path(where: str) -> str:
    """A directory by its whole path."""
    return where if "://" in where else str(Path(where).resolve())


def _file(out: Path, rank: int, document: str, number: int) -> Path:
    return out / f"{rank}-{document.replace('/', '_')[-80:]}-{number}.png"


def _alike(entries: "Sequence[IndexEntry]") -> "list[list[IndexEntry]]":
    """Runs of pages of one file, one after the other, with one reason."""
    runs: list[list[IndexEntry]] = []
    for entry in entries:
        before = runs[-1][-1] if runs else None
        if before and (before.file, before.number + 1, before.error) == (entry.file, entry.number, entry.error):
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return runs


def _pages_text(first: "IndexEntry", *others: "IndexEntry") -> str:
    if not first.number:
        return _printable(first.file)
    numbers = f"pages {first.number} to {others[-1].number}" if others else f"page {first.number}"
    return f"{_printable(first.file)}, {numbers}"


def _printable(name: str) -> str:
    """Names of files may hold line ends, and what terminals take for commands."""
    return name if name.isprintable() else ascii(name)[1:-1]


def _tell(entry: "IndexEntry") -> None:
    if entry.rows:
        click.echo(f"{_pages_text(entry)}: {entry.rows} vectors", err=True)


def _silent(entry: "IndexEntry") -> None:
    pass
