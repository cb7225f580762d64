"""Names, links and open files after a run that failed: as before it, or the session ends and says so."""

import os
from pathlib import Path

import pytest

from saccade.sandbox import Session
from saccade.sandbox.files import Files

LOG = "import os\nlog = open('log', 'w+'); _ = log.write('1'); log.flush()\n"
LOOK = "_ = log.write('2'); log.flush(); print(open('log').read(), os.stat('log').st_nlink, sorted(os.listdir()))"
LINKS = "import os\nopen('a', 'w').write('XX'); os.mkdir('d'); os.link('a', 'b'); os.link('a', 'd/c')\n"
LOOK_AT_LINKS = "open('d/c', 'a').write('!'); print(open('a').read(), open('b').read(), os.stat('a').st_nlink)"

EXACT = {
    "another name of an open file": (
        LOG,
        "os.link('log', 'z'); log.write('q'); 1/0",
        LOOK,
        "12 1 ['input_image.png', 'log']\n",
    ),
    "another file gone": (LOG, "os.remove('input_image.png'); 1/0", LOOK, "12 1 ['input_image.png', 'log']\n"),
    "an open file cut by its name": (LOG, "open('log', 'w').close(); 1/0", LOOK, "12 1 ['input_image.png', 'log']\n"),
    "one name written": (LINKS, "open('b', 'a').write('YY'); 1/0", LOOK_AT_LINKS, "XX! XX! 3\n"),
    "one name replaced": (LINKS, "open('t', 'w').close(); os.replace('t', 'a'); 1/0", LOOK_AT_LINKS, "XX! XX! 3\n"),
    "all names gone": (
        LINKS,
        "import shutil; shutil.rmtree('d'); os.remove('a'); os.remove('b'); 1/0",
        LOOK_AT_LINKS,
        "XX! XX! 3\n",
    ),
    "two files made one": (
        "import os; open('a', 'w').write('A'); open('b', 'w').write('B')",
        "os.remove('b'); os.link('a', 'b'); 1/0",
        "open('b', 'a').write('!'); print(open('a').read(), open('b').read())",
        "A B!\n",
    ),
    "a file of which a private copy is mapped": (
        "import mmap; open('m', 'wb').write(bytes(99))\n"
        "with open('m', 'r+b') as f: copy = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)\ncopy[0] = 9",
        "with open('m', 'r+b') as f: f.write(b'zz')\n1/0",
        "print(copy[0], copy[1], open('m', 'rb').read(2))",
        "9 0 b'\\x00\\x00'\n",
    ),
    "the current folder": (
        "import os; os.mkdir('w'); os.chdir('w'); open('f', 'w').write('F')",
        "import shutil; os.chdir('..'); shutil.rmtree('w'); 1/0",
        "print(os.path.basename(os.getcwd()), open('f').read())",
        "w F\n",
    ),
}


@pytest.mark.parametrize("kind", EXACT)
def test_a_run_that_failed_changes_no_name_and_no_open_file(confined: Session, kind: str) -> None:
    before, failing, look, says = EXACT[kind]
    assert confined.run(before).ok
    assert not confined.run(failing).ok
    result = confined.run(look)
    assert (result.error, result.stdout) == (None, says)


ENDING = {
    "replaced": (LOG, "open('t', 'w').close(); os.replace('t', 'log')"),
    "removed": (LOG, "os.remove('log')"),
    "its folder renamed": ("import os; os.mkdir('d'); log = open('d/log', 'w')", "os.rename('d', 'e')"),
    "two files exchanged": (
        LOG + "open('b', 'w').write('B')",
        "os.rename('log', 'x'); os.rename('b', 'log'); os.rename('x', 'b')",
    ),
    "mapped and renamed": (
        "import os, numpy as np; m = np.memmap('m', dtype=np.uint8, mode='w+', shape=(9,))",
        "os.rename('m', 'n')",
    ),
    "a folder removed": ("import os; os.mkdir('d'); held = os.open('d', os.O_RDONLY)", "os.rmdir('d')"),
    "two folders exchanged": (
        "import os; os.mkdir('d'); os.mkdir('e'); held = os.open('d', os.O_RDONLY)",
        "os.rename('d', 'x'); os.rename('e', 'd'); os.rename('x', 'e')",
    ),
    "by a high number": ("import os; os.dup2(os.open('n', os.O_CREAT | os.O_RDWR), 250);", "os.remove('n')"),
}


@pytest.mark.parametrize("kind", ENDING)
def test_a_session_ends_with_its_reason_when_an_open_file_cannot_be_given_back(confined: Session, kind: str) -> None:
    before, failing = ENDING[kind]
    assert confined.run(before).ok
    failed = confined.run(f"{failing}\n1 / 0").error
    assert failed is not None
    assert failed.name == "ZeroDivisionError"
    for _ in range(2):
        error = confined.run("1").error
        assert error is not None
        assert error.kind == "killed"
        assert error.message.startswith("this session has ended: a run that failed had removed or replaced files")


def test_files_that_come_back_belong_to_the_owner_of_their_folder(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (tmp_path / "file").write_text("old")
    (tmp_path / "inner").mkdir()
    (tmp_path / "link").symlink_to("file")
    for path in (tmp_path, *tmp_path.iterdir()):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    files = Files(str(tmp_path), most_bytes=1000, most_files=10)
    files.commit()
    for name in ("file", "link"):
        (tmp_path / name).unlink()
    (tmp_path / "inner").rmdir()
    files.roll_back()
    assert {path.name: path.lstat().st_uid for path in tmp_path.iterdir()} == dict.fromkeys(
        ("file", "inner", "link"), 65534
    )
