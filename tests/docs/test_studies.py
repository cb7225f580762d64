"""Studies: a folder each, with a question and a line in the index; links, scripts and data of pages are there."""

import re

from places import ROOT

PAGES = sorted((ROOT / "studies").rglob("*.md"))


def test_each_study_asks_a_question_and_stands_in_the_index() -> None:
    index = (ROOT / "studies/README.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "studies").glob("*/*") if path.suffix in (".json", ".py")}
    assert len(folders) > 20
    assert [name for name in sorted(folders) if f"({name}/README.md)" not in index] == []
    assert [
        name
        for name in sorted(folders)
        if "**Question.**" not in (ROOT / f"studies/{name}/README.md").read_text(encoding="utf-8")
    ] == []


def test_links_of_studies_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if not link.startswith("http") and not (page.parent / link).exists()
    ]
    assert broken == []


def test_scripts_and_data_that_pages_name_are_there() -> None:
    pages = [*PAGES, *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    named = [
        (page, f"{module.replace('.', '/')}.py")
        for page in pages
        for module in re.findall(r"python -m (studies\.[\w.]+\w)", page.read_text(encoding="utf-8"))
    ] + [
        (page, path)
        for page in pages
        for path in re.findall(r"\bstudies/\w+/\w+\.(?:py|json|md)\b", page.read_text(encoding="utf-8"))
    ]
    assert len(named) > 40
    # A folder that is run has its program in __main__.py.
    missing = [(page, ROOT / path) for page, path in named if not (ROOT / path).is_file()]
    missing = [one for one in missing if not (one[1].with_suffix("") / "__main__.py").is_file()]
    assert [f"{page.relative_to(ROOT)}: {path.relative_to(ROOT)}" for page, path in missing] == []
