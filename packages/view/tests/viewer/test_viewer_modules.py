"""The pages' own modules as text: what they may not do, and how large they are."""

import re
import shutil
import subprocess

import pytest

from saccade.viewer.scripts import APP, bundle, without_comments

MODULES = {path.name: path.read_text(encoding="utf-8") for path in sorted(APP.glob("*.js"))}
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc")


def test_no_module_makes_markup_or_code_of_text() -> None:
    assert [name for name, source in MODULES.items() if MARKUP.search(source)] == []


def test_a_module_imports_its_siblings_by_name_alone() -> None:
    imports = [line for source in MODULES.values() for line in source.splitlines() if line.startswith("import ")]
    assert all(re.fullmatch(r'import \{ [\w, ]+ \} from "\./[a-z]+\.js";', line) for line in imports)


def test_one_script_holds_each_module_once_and_no_name_twice() -> None:
    script = bundle()
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", script, re.MULTILINE)
    tops = [name for source in MODULES.values() for name in _tops(source)]
    assert len(tops) == len(set(tops))
    assert set(tops) <= set(names)
    assert "import " not in script.split("(() => {")[1][:200]


def test_the_modules_stay_below_87_kilobytes_without_comments_and_112_with_them() -> None:
    assert sum(len(without_comments(source).encode()) for source in MODULES.values()) < 87_000
    assert sum(len(source.encode()) for source in MODULES.values()) < 112_000


def test_a_checker_of_types_finds_nothing_in_the_modules() -> None:
    """By what JSDoc and ``types.d.ts`` say; where a machine has no TypeScript, nothing is fetched for it."""
    found = shutil.which("tsc")
    tsc = [found] if found else [shutil.which("npx") or "npx", "--no-install", "tsc"]
    if not shutil.which(tsc[0]) or subprocess.run([*tsc, "--version"], capture_output=True).returncode:
        pytest.skip("no TypeScript on this machine: npm install --global typescript")
    lib = ["--target", "es2022", "--module", "es2022", "--lib", "es2023,dom,dom.iterable"]
    files = [str(APP / "types.d.ts"), *(str(APP / name) for name in MODULES)]
    command = [*tsc, "--noEmit", "--allowJs", "--checkJs", "--strict", *lib, *files]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert checked.returncode == 0, checked.stdout


def _tops(source: str) -> list[str]:
    return re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", source, re.MULTILINE)
