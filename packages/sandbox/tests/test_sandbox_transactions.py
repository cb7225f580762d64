"""A run that fails leaves variables and files as after the last one that did not."""

import pytest

from saccade.sandbox import Sandbox, Session


def good(session: Session, code: str) -> str:
    result = session.run(code)
    assert result.ok, result.error
    return result.stdout


def test_variables_functions_imports_and_files_stay_from_run_to_run(each: Session) -> None:
    good(each, "import math\ndef half(x):\n    return x / 2\nvalue = 8")
    good(each, "with open('note.txt', 'w') as note:\n    note.write('kept')")
    assert good(each, "print(half(value), math.floor(2.5), open('note.txt').read())") == "4.0 2 kept\n"


def test_a_generator_an_open_file_and_an_iterator_go_on_where_they_were(each: Session) -> None:
    good(each, "numbers = (n * n for n in range(9)); next(numbers)\nopen('t', 'w').write('abcdef')\nf = open('t')")
    assert good(each, "f.read(2), next(numbers)") == "('ab', 1)\n"
    assert not each.run("f.read(2), next(numbers)\nraise ValueError").ok
    assert good(each, "f.read(2), next(numbers)") == "('cd', 4)\n"


FAILURES = {
    "exception": "1 / 0",
    "exit": "import sys; sys.exit(3)",
    "hard exit": "import os; os._exit(0)",
    "time-out": "while True: pass",
    "crash": "import ctypes; ctypes.string_at(0)",
    "memory": "hoard = bytearray(4 << 30)",
    "syntax": "def (:",
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_run_takes_its_variables_and_files_with_it(each: Session, failure: str) -> None:
    good(each, "import os\nkept = [1]\nopen('kept.txt', 'w').write('old')\nos.mkdir('folder')")
    harm = """
kept.append(2)
new = 5
open('kept.txt', 'w').write('changed and longer')
open('new.txt', 'w').write('x')
open('folder/inner.txt', 'w').write('x')
open('/tmp/scratch' if os.path.exists('/session') else os.environ['TMPDIR'] + '/scratch', 'w').write('x')
os.rename('input_image.png', 'moved.png')
"""
    code = FAILURES[failure] if failure == "syntax" else harm + FAILURES[failure]
    assert not each.run(code, timeout_s=1.0).ok
    asked = "kept, 'new' in globals(), open('kept.txt').read(), sorted(os.listdir('.')), os.listdir('folder')"
    assert good(each, asked) == "([1], False, 'old', ['folder', 'input_image.png', 'kept.txt'], [])\n"
    assert good(each, "os.listdir(os.environ['TMPDIR'])") == "[]\n"


def test_a_deleted_tree_comes_back_with_links_and_permissions(each: Session) -> None:
    build = "import os, shutil\nos.makedirs('a/b')\nos.umask(0o077)\nopen('a/b/c', 'w').write('deep')\nos.umask(0o022)"
    good(each, build + "\nos.symlink('b', 'a/link')")
    assert not each.run("shutil.rmtree('a')\nopen('a', 'w').write('in its place')\n1/0").ok
    look = "open('a/link/c').read(), os.readlink('a/link'), oct(os.stat('a/b/c').st_mode)"
    assert good(each, look) == "('deep', 'b', '0o100600')\n"


def test_a_write_through_a_memory_map_is_undone(session: Session) -> None:
    good(session, "import numpy as np\nmap = np.memmap('m', dtype=np.uint8, mode='w+', shape=(100,))\nmap[:] = 7")
    assert not session.run("map[:] = 9\n1/0").ok
    assert good(session, "int(map[0]), open('m', 'rb').read() == bytes([7]) * 100") == "(7, True)\n"


def test_thousands_of_deep_folders_are_undone(session: Session) -> None:
    code = "import os\nfor _ in range(2500):\n    os.mkdir('d')\n    os.chdir('d')\n1/0"
    assert not session.run(code).ok
    assert good(session, "import os; os.listdir('.')") == "['input_image.png']\n"


def test_the_current_folder_is_kept_and_undone(each: Session) -> None:
    good(each, "import os\nos.mkdir('sub')\nos.chdir('sub')")
    assert not each.run("os.chdir('..')\n1/0").ok
    assert good(each, "os.path.basename(os.getcwd())") == "'sub'\n"


def test_threads_left_running_are_gone(local: Session) -> None:
    good(local, "import threading, time\ncount = [0]\ndef forever():\n    while True:\n        count[0] += 1")
    good(local, "threading.Thread(target=forever, daemon=True).start()")
    before = good(local, "count[0]")
    assert good(local, "time.sleep(0.02); count[0]") == before
    assert not local.run("threading.Thread(target=forever).start()\n1/0").ok
    assert good(local, "time.sleep(0.02); count[0]") == before


def test_timers_handlers_and_broken_streams_do_not_reach_the_next_run(local: Session) -> None:
    good(local, "import signal, sys, builtins, os\nsignal.setitimer(signal.ITIMER_REAL, 0.05)")
    good(local, "sys.stdout.close()")
    good(local, "sys.settrace(lambda *a: 1/0)")
    good(local, "builtins.len = None; builtins.print = None")
    good(local, "os.closerange(0, 90)")
    assert good(local, "import time; time.sleep(0.1); print(len('abc'))") == "3\n"


def test_a_run_that_closes_the_sandboxs_descriptors_fails_and_the_session_lives(confined: Session) -> None:
    result = confined.run("x = 1\nimport os; os.closerange(3, 250)")
    assert not result.ok
    assert good(confined, "'x' in globals()") == "False\n"


def test_sessions_do_not_see_each_other(sandbox: Sandbox) -> None:
    with sandbox.session() as one, sandbox.session() as other:
        temporary = "import os, tempfile; temporary = tempfile.gettempdir()\n"
        good(one, temporary + "secret = 1\nopen('secret.txt', 'w').write('x')\nopen(temporary + '/x', 'w').write('x')")
        look = temporary + "'secret' in globals(), os.listdir('.'), os.listdir(temporary), os.getpid() > 1"
        assert good(other, look) == "(False, [], [], True)\n"


def test_the_same_seed_gives_the_same_numbers(sandbox: Sandbox) -> None:
    code = "import random, numpy as np\nprint(random.random(), np.random.rand(), hash('text'))"
    printed = []
    for seed in (1, 1, 2):
        with sandbox.session(seed=seed) as session:
            good(session, "import random; random.random()")
            session.run("1/0")
            printed.append(good(session, code))
    assert printed[0] == printed[1] != printed[2]


def test_a_module_written_by_one_run_is_imported_by_the_next(each: Session) -> None:
    good(each, "open('own_module.py', 'w').write('answer = 42')")
    assert good(each, "import own_module; own_module.answer") == "42\n"


def test_threads_that_print_when_they_are_ended_do_not_hold_up_the_next_run(local: Session) -> None:
    talk = "import threading\ndef talk():\n    while True: print('.' * 50)\nthreading.Thread(target=talk).start()"
    for _ in range(3):
        good(local, talk)
        assert good(local, "1 + 1").endswith("2\n")


def test_a_failed_run_that_spoke_for_its_successor_does_not_confuse_the_keeper(session: Session) -> None:
    forge = 'import os, socket\nsocket.socket(fileno=os.dup(103)).send(b\'{"kind": "hi"}\')\n1/0'
    good(session, "x = 1")
    assert not session.run(forge).ok
    assert good(session, "x") == "1\n"


def test_files_that_threads_write_to_the_last_are_kept_or_undone_as_a_whole_or_the_session_ends(local: Session) -> None:
    write = """
import itertools, os, threading
def write():
    for n in itertools.count():
        with open(f'f{n % 7}', 'w') as file:
            file.write('x' * n)
        if n % 3:
            os.remove(f'f{n % 7}')
threading.Thread(target=write).start()
"""
    for _ in range(3):
        good(local, write)
        look = "import hashlib\n{n: hashlib.sha256(open(n, 'rb').read()).hexdigest() for n in sorted(os.listdir('.'))}"
        kept = good(local, look)
        assert not local.run(write + "1/0").ok
        result = local.run(look)
        if result.error:
            # A thread that is no more had a file open, which the run that failed then removed.
            assert "this session has ended" in result.error.message
            break
        assert result.stdout == kept
