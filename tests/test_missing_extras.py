"""Messages about what is not installed say what works in a clone."""

from places import ROOT
from saccade.errors import missing_extra, pip_command


def test_a_missing_extra_is_named_with_the_command_that_brings_it() -> None:
    error = missing_extra("mcp", "fastmcp", needed_for="asking a server")
    expected = 'asking a server needs the package fastmcp; run pip install -e ".[mcp]" in a clone of Saccade'
    assert str(error) == expected


def test_outside_of_a_clone_the_command_names_what_extras_of_a_package_ask_for() -> None:
    assert (
        pip_command("saccade-readers", "geometry,ocr")
        == "pip install 'sympy>=1.14' 'onnxruntime>=1.31' 'rapidocr>=3.10'"
    )
    assert pip_command("saccade-sandbox", "code") == pip_command("saccade-vlm", "sandbox")


def test_nothing_tells_anybody_to_install_the_package_of_that_name_from_the_index() -> None:
    # The name on the index belongs to another project.
    said = "saccade" + "["
    files = [path for room in ("packages", "docs", "studies", "examples") for path in (ROOT / room).rglob("*.*")]
    texts = [path for path in files if path.suffix in {".py", ".md", ".toml"} and "tests" not in path.parts]
    assert [path for path in texts if said in path.read_text(encoding="utf-8")] == []
