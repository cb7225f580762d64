"""Pictures of web pages by a headless chromium."""

import subprocess
import tempfile
from pathlib import Path


def screenshot(path: Path, page: str, width: int, height: int) -> None:
    """A PNG of a page that needs nothing but itself."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(page.replace("<body>", '<body style="margin:0">'))
        subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                "--virtual-time-budget=8000",
                f"--window-size={width},{height}",
                f"--screenshot={path}",
                source.as_uri(),
            ],
            check=True,
            capture_output=True,
        )
