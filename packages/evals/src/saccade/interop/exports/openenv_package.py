"""An export as a server of OpenEnv: a package that pip installs, in the layout that ``openenv push`` expects."""

from pathlib import Path

from saccade.atomic import write_bytes_atomic
from saccade.interop.exports.bundle import ENVIRONMENT, ENVIRONMENT_NEEDS, write_bundle
from saccade.interop.exports.packages import finish_package, package_name, write_data
from saccade.interop.exports.questions import ExportedQuestions

ENTRIES = (*ENVIRONMENT, "saccade.interop.openenv.server", "saccade.interop.openenv.client")

_APP = '''"""{family} as a server of OpenEnv: ``python -m {package}.server.app --port 8000``."""

import argparse
import os
from pathlib import Path

from {bundle}.interop.exports.packed import packed_tasks
from {bundle}.interop.openenv.server import openenv_app, serve

DATA = Path(__file__).parents[1] / "data"


def app_of(split):
    """The app, whose episodes ask the questions of a split."""
    tasks, media = packed_tasks(DATA, split)
    return openenv_app(tasks=tasks, media=media)


app = app_of("train")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--split", default="train")
    parser.add_argument("--allow-host", action="append", default=[], help="A name under which clients know this host.")
    parser.add_argument("--no-token", action="store_true", help="Ask for none, where others decide who gets here.")
    given = parser.parse_args()
    # Beyond this machine the server asks for the token of this variable, and does not start without one.
    token = None if given.no_token else os.environ.get("SACCADE_TOKEN") or None
    served = app if given.split == "train" else app_of(given.split)
    serve(
        served, host=given.host, port=given.port, allow_hosts=given.allow_host, token=token, is_open=given.no_token
    )


if __name__ == "__main__":
    main()
'''

_YAML = """spec_version: 1
name: {package}
type: space
runtime: fastapi
app: {package}.server.app:app
port: 8000
"""

_ROOT = {
    "__init__.py": '"""{family} as an environment of OpenEnv."""\n',
    "client.py": '"""The client of {family}."""\n\n'
    "from {bundle}.interop.openenv.client import SaccadeEnvClient\n\n"
    '__all__ = ["SaccadeEnvClient"]\n',
    "models.py": '"""What the client and the server of {family} exchange."""\n\n'
    "from {bundle}.interop.openenv.messages import SaccadeAction, SaccadeObservation, SaccadeState\n\n"
    '__all__ = ["SaccadeAction", "SaccadeObservation", "SaccadeState"]\n',
    "server/__init__.py": "",
    "server/app.py": '"""The server, where OpenEnv\'s commands look for it."""\n\n'
    "from {package}.server import app as installed\n\napp = installed.app\n\n\n"
    'def main() -> None:\n    installed.main()\n\n\nif __name__ == "__main__":\n    main()\n',
    "server/Dockerfile": """FROM python:3.11-slim
WORKDIR /env
COPY . .
RUN pip install --no-cache-dir .
EXPOSE 8000
# Clients bring the token of the variable SACCADE_TOKEN. Spaces put the server's name into SPACE_HOST, and decide
# themselves who reaches it.
CMD ["sh", "-c", "exec server --host 0.0.0.0 --port 8000 ${{SPACE_HOST:+--no-token --allow-host $SPACE_HOST}}"]
""",
}
"""Files beside the package, which ``openenv push`` and ``openenv validate`` ask for; pip does not install them."""

_FRONT = """---
title: {family}
sdk: docker
app_port: 8000
tags:
  - openenv
---

"""


def write_openenv(questions: ExportedQuestions, folder: Path) -> None:
    """``pip install FOLDER``, then the script ``server``; clients are OpenEnv's, or ``SaccadeEnvClient``."""
    package = package_name(questions.family)
    write_data(questions, folder / package / "data")
    bundle = write_bundle(folder / package, within=package, entries=ENTRIES)
    names = {"family": questions.family, "package": package, "bundle": bundle}
    (folder / package / "server").mkdir(exist_ok=True)
    write_bytes_atomic(folder / package / "server" / "app.py", _APP.format(**names).encode())
    for module in (folder / package, folder / package / "server"):
        (module / "__init__.py").touch()
    write_bytes_atomic(folder / "openenv.yaml", _YAML.format(package=package).encode())
    (folder / "server").mkdir(exist_ok=True)
    for name, text in _ROOT.items():
        write_bytes_atomic(folder / name, text.format(**names).encode())
    scripts = f'\n[project.scripts]\nserver = "{package}.server.app:main"\n'
    use = f"pip install {folder} && server --port 8000"
    # OpenEnv's package is called openenv-core up to 0.3.
    needs = ("openenv>=0.4.1", "msgspec>=0.20", *ENVIRONMENT_NEEDS)
    finish_package(questions, folder, "openenv", needs, use, scripts, front=_FRONT.format(family=questions.family))
