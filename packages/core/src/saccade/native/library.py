"""The compiled kernels: built once for each machine, kept in the user's cache, and checked before they are loaded."""

import ctypes
import functools
import hashlib
import logging
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from saccade.errors import UserError
from saccade.private_folders import cache_folder, is_private, private_folder

logger = logging.getLogger(__name__)

SWITCH = "SACCADE_NATIVE"
"""Environment variable: 0 never uses the kernels, 1 insists on them; otherwise they are used where they can be."""

_SOURCES = tuple(sorted(Path(__file__).parent.glob("*.cpp")))
_HEADERS = tuple(sorted(Path(__file__).parent.glob("*.h")))
_FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    # Neither changes a result but by rounding; what may treat NaN and infinity as impossible is left out.
    "-fno-math-errno",
    "-ffp-contract=fast",
    "-fopenmp-simd",
    "-shared",
    "-fPIC",
)


class BuildError(Exception):
    """Why there is no library."""


def native_library() -> ctypes.CDLL | None:
    """The kernels, or None where they cannot be built or are switched off; UserError where they are insisted on."""
    switch = os.environ.get(SWITCH, "")
    if switch not in ("", "0", "1"):
        raise UserError(f"{SWITCH}={switch!r} is neither 0 (never use native kernels) nor 1 (insist on them)")
    if switch == "0":
        return None
    library, why = _library_or_reason()
    if library is None and switch == "1":
        raise UserError(f"{SWITCH}=1, but {why}")
    return library


@functools.cache
def _library_or_reason() -> tuple[ctypes.CDLL | None, str]:
    """The library or why there is none, found out once in a process."""
    try:
        return load_library(cache_folder("native"), os.environ.get("CXX", "g++")), ""
    except BuildError as error:
        logger.info("native kernels are not used, torch is used instead: %s", error)
        return None, str(error)


def load_library(directory: Path, compiler: str) -> ctypes.CDLL:
    """The library from ``directory``, built there first where it is missing or damaged; BuildError without success.

    What others may have put there is not loaded: then the library is built for this process alone.
    """
    path = shutil.which(compiler)
    if path is None:
        raise BuildError(f"there is no C++ compiler {compiler}; install one, or name it in CXX")
    key = _key(path)
    try:
        with private_folder(directory) as folder:
            for built in sorted(directory.glob(f"{key}-*.so")):
                if (library := _open_library(folder, built.name)) is not None:
                    return library
            return _build(path, directory, folder, key)
    except PermissionError as error:
        logger.warning("%s: %s; native kernels are compiled for this process alone", directory, error.strerror)
    except OSError as error:
        raise BuildError(f"nothing can be built in {directory}: {error}") from error
    with tempfile.TemporaryDirectory(prefix="saccade-native-") as alone, private_folder(Path(alone)) as folder:
        return _build(path, Path(alone), folder, key)


def _open_library(folder: int, name: str) -> ctypes.CDLL | None:
    """A library of the folder, where it is this user's alone and is what its name says; None where it is not."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if (
            not stat.S_ISREG(found.st_mode)
            or not is_private(found)
            or not Path(name).stem.endswith(_digest(file.read()))
        ):
            return None
    try:
        # By the folder that was looked at, whatever stands in its place by now.
        return ctypes.CDLL(f"/proc/self/fd/{folder}/{name}")
    except OSError as error:
        raise BuildError(f"{name} cannot be loaded: {error}") from error


def _build(compiler: str, directory: Path, folder: int, key: str) -> ctypes.CDLL:
    logger.info("compiling native kernels with %s: once, for a few seconds", compiler)
    try:
        # Beside its place, so that it gets there whole or not at all, however many processes build it at once.
        with tempfile.TemporaryDirectory(dir=directory) as workshop:
            made = Path(workshop) / "kernels.so"
            subprocess.run([compiler, *_flags(), "-o", made, *_SOURCES], check=True, capture_output=True, text=True)
            made.chmod(0o700)
            # The name tells what is in the file, for a damaged one could end the process.
            built = made.rename(directory / f"{key}-{_digest(made.read_bytes())}.so")
    except subprocess.CalledProcessError as error:
        raise BuildError(f"{compiler} cannot compile the kernels: {error.stderr[-500:]}") from error
    except OSError as error:
        raise BuildError(f"nothing can be built in {directory}: {error}") from error
    library = _open_library(folder, built.name)
    if library is None:
        raise BuildError(f"{built} is not what was just built there")
    return library


def _key(compiler: str) -> str:
    """Hash of all that decides what the compiler makes: its version, the sources, the flags, and the processor."""
    try:
        sources = [path.read_bytes() for path in (*_SOURCES, *_HEADERS)]
        version = subprocess.run([compiler, "--version"], check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"{compiler} does not run, or the kernels' source cannot be read: {error}") from error
    return _digest(b"\0".join([*sources, " ".join(_flags()).encode(), version, _processor().encode()]))


def _flags() -> tuple[str, ...]:
    """With those of CXXFLAGS, the last of which win: ``-march=x86-64-v3`` builds for processors with AVX2 alone."""
    return *_FLAGS, *shlex.split(os.environ.get("CXXFLAGS", ""))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() + platform.machine()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
