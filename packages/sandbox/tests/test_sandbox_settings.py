"""What is refused before work starts, and what the kernel gave."""

import os
import subprocess
import sys
import textwrap

import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.sandbox import Limits, NoIsolationWarning, Sandbox, Session


def test_wrong_settings_are_refused_at_once() -> None:
    with pytest.raises(UserError, match="isolation='docker' is not known; use one of full, restricted, none"):
        Sandbox(isolation="docker")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="limit memory_mib=0 must be a positive number"):
        Sandbox(limits=Limits(memory_mib=0))
    with pytest.raises(UserError, match="concurrent_runs=0"):
        Sandbox(concurrent_runs=0)


@pytest.mark.parametrize("name", ["", "a/b.png", "../a.png", ".", "..", ".hidden.png", "a" * 200 + ".png", "a\0.png"])
def test_image_names_that_are_no_plain_file_names_are_refused(sandbox: Sandbox, name: str) -> None:
    with pytest.raises(UserError, match="is no plain file name"):
        sandbox.session({name: Image.new("RGB", (4, 4))})


def test_images_that_cannot_be_written_or_read_are_refused(sandbox: Sandbox) -> None:
    with pytest.raises(UserError, match="must end with one of"):
        sandbox.session({"image.txt": Image.new("RGB", (4, 4))})
    with pytest.raises(UserError, match="is a int; give a PIL image"):
        sandbox.session({"image.png": 3})  # type: ignore[dict-item]
    with pytest.raises(UserError, match="an input image cannot be read"):
        sandbox.session({"image.png": b"no picture"})
    with pytest.raises(UserError, match="64"):
        sandbox.session({"image.png": bytes(65 << 20)})


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, float("nan"), float("inf")])
def test_a_timeout_that_is_none_is_refused(session: Session, timeout_s: float) -> None:
    with pytest.raises(UserError, match="timeout_s"):
        session.run("1", timeout_s=timeout_s)


def test_no_isolation_warns() -> None:
    sandbox = Sandbox(isolation="none")
    with pytest.warns(NoIsolationWarning, match="model-written code can do whatever this process can"):
        sandbox.start()
    sandbox.close()


def test_the_layers_are_told(sandbox: Sandbox, restricted: Sandbox, unprotected: Sandbox) -> None:
    assert sandbox.layers.namespaces == ("user", "mount", "pid", "network", "ipc", "uts")
    assert sandbox.layers.seccomp
    assert sandbox.layers.landlock >= 1
    assert sandbox.layers.describe().startswith(
        "isolation full; namespaces user, mount, pid, network, ipc, uts; seccomp; Landlock "
    )
    assert restricted.layers.describe().startswith("isolation restricted; no namespaces; seccomp; Landlock ")
    assert unprotected.layers.describe() == "isolation none; no namespaces; no seccomp; no Landlock; resource limits"


def test_importing_the_room_loads_no_heavy_library() -> None:
    code = "import sys, saccade.sandbox; print([n for n in ('torch', 'cv2', 'matplotlib') if n in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_a_kernel_without_namespaces_is_refused_with_advice() -> None:
    if os.geteuid() != 0:
        pytest.skip("takes namespaces away as root of a namespace of its own")
    code = """
        import ctypes
        from pathlib import Path
        libc = ctypes.CDLL(None)
        assert libc.unshare(0x10000000) == 0
        Path('/proc/self/setgroups').write_text('deny')
        Path('/proc/self/uid_map').write_text('0 0 1')
        Path('/proc/sys/user/max_user_namespaces').write_text('0')
        from saccade.errors import UserError
        from saccade.sandbox import Sandbox
        try:
            Sandbox().start()
        except UserError as error:
            print(error)
        with Sandbox(isolation='restricted') as sandbox, sandbox.session() as session:
            print(session.run('6 * 7').stdout)
    """
    printed = subprocess.check_output([sys.executable, "-c", textwrap.dedent(code)], text=True)
    assert "isolation='full'" in printed
    assert "namespaces: No space left on device. Raise the limit: sysctl user.max_user_namespaces" in printed
    assert "works with isolation='restricted'" in printed
    assert printed.endswith("42\n\n")


ORDINARY = """
    import ctypes, os, sys
    from pathlib import Path
    # The interpreter may lie in a folder of root's own: it is shown to the user in a mount namespace of this process.
    libc = ctypes.CDLL(None, use_errno=True)
    prefix = Path(sys.base_prefix)
    if any(not folder.stat().st_mode & 1 for folder in prefix.parents):
        top = Path('/') / prefix.parts[1]
        assert libc.unshare(0x20000) == 0
        assert libc.mount(None, b'/', None, 0x44000, None) == 0
        assert libc.mount(os.fsencode(prefix), b'/mnt', None, 0x5000, None) == 0
        assert libc.mount(b'tmpfs', os.fsencode(top), b'tmpfs', 0, b'mode=755') == 0
        prefix.mkdir(parents=True)
        assert libc.mount(b'/mnt', os.fsencode(prefix), None, 0x5000, None) == 0
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    libc.prctl(4, 1, 0, 0, 0)
    os.environ.update(HOME='/tmp')
    from saccade.sandbox import Sandbox
    with Sandbox(isolation=sys.argv[1]) as sandbox, sandbox.session() as session:
        print(session.run('import os; x = 1; os.getuid(), os.access("/", os.W_OK)').stdout, end='')
        print(session.run('x = 2; open("f", "w").write("x"); 1/0').error.name)
        print(session.run('x, os.listdir(".")').stdout, end='')
        print(session.run('os.fork()').error.name, session.run('os.kill(os.getppid(), 9)').ok)
"""


@pytest.mark.parametrize(("isolation", "user"), [("full", 1000), ("restricted", 65534)])
def test_it_works_for_an_ordinary_user(isolation: str, user: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("all other tests show it")
    command = [sys.executable, "-c", textwrap.dedent(ORDINARY), isolation]
    printed = subprocess.run(command, text=True, capture_output=True, timeout=60, check=False)
    expected = f"({user}, False)\nZeroDivisionError\n(1, [])\nPermissionError False\n"
    assert (printed.stdout, printed.returncode) == (expected, 0), printed.stderr
