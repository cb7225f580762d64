"""The pages' own modules as text: what they may not do, and how large they are."""

import re

from saccade.viewer.exported import APP, bundled, without_comments

MODULES = {path.name: path.read_text(encoding="utf-8") for path in sorted(APP.glob("*.js"))}
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc")


def test_no_module_makes_markup_or_code_of_text() -> None:
    assert [name for name, source in MODULES.items() if MARKUP.search(source)] == []


def test_a_module_imports_its_siblings_by_name_alone() -> None:
    imports = [line for source in MODULES.values() for line in source.splitlines() if line.startswith("import ")]
    assert all(re.fullmatch(r'import \{ [\w, ]+ \} from "\./[a-z]+\.js";', line) for line in imports)


def test_one_script_holds_each_module_once_and_no_name_twice() -> None:
    script = bundled()
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", script, re.MULTILINE)
    tops = [name for source in MODULES.values() for name in _tops(source)]
    assert len(tops) == len(set(tops))
    assert set(tops) <= set(names)
    assert "import " not in script.split("(() => {")[1][:200]


def test_the_modules_stay_small() -> None:
    """What a browser runs, without its comments; the bound holds the size where it is."""
    assert sum(len(without_comments(source).encode()) for source in MODULES.values()) < 102_000


def _tops(source: str) -> list[str]:
    return re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", source, re.MULTILINE)
