"""A server with SandboxFusion's ``/run_code`` for Python, in this process, without isolation."""

import base64
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@contextmanager
def run_code_server(*, fails: int = 0, program: str = "") -> Iterator[str]:
    """Address of a server that lives inside the ``with`` block; it fails so many times, and runs ``program`` first."""

    class Handler(_Handler):
        failures = [True] * fails
        before = program

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    failures: list[bool]
    before: str

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/run_code"
        assert request["language"] == "python"
        request["code"] = f"{self.before}\n{request['code']}"
        failed = {"status": "SandboxError", "message": "the runner is ill", "files": {}}
        answer = json.dumps(failed if self.failures and self.failures.pop() else _run(request)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        return


def _run(request: dict[str, Any]) -> dict[str, object]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for path, content in request["files"].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(base64.b64decode(content))
        (folder / "tmp_program.py").write_text(request["code"], encoding="utf-8")
        began = time.monotonic()
        command = [sys.executable, str(folder / "tmp_program.py")]
        result: dict[str, object] = {"status": "Finished", "stdout": "", "stderr": "", "return_code": None}
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=request["run_timeout"], check=False)
            result |= {"return_code": done.returncode, "stderr": done.stderr.decode("utf-8", "replace")}
        except subprocess.TimeoutExpired:
            result["status"] = "TimeLimitExceeded"
        result["execution_time"] = time.monotonic() - began
        fetched = {path: folder / path for path in request["fetch_files"] if (folder / path).is_file()}
        files = {path: base64.b64encode(file.read_bytes()).decode() for path, file in fetched.items()}
        ok = result["return_code"] == 0
        return {"status": "Success" if ok else "Failed", "message": "", "run_result": result, "files": files}
