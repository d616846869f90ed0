"""The reference page says what the tables say."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def run_generator(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "docs.generate", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_reference_page_is_fresh() -> None:
    assert run_generator(REPOSITORY, "--check").stderr == ""


def test_a_page_that_differs_by_one_word_is_called_stale_and_is_written_anew(tmp_path: Path) -> None:
    page = tmp_path / "docs/reference/faults.md"
    page.parent.mkdir(parents=True)
    fresh = (REPOSITORY / "docs/reference/faults.md").read_text()
    page.write_text(fresh.replace("never blindly", "always"))
    for name in ("api.py", "generate.py", "pack.py", "rooms.py", "architecture.md"):
        (tmp_path / "docs" / name).write_text((REPOSITORY / "docs" / name).read_text())
    (tmp_path / "src").symlink_to(REPOSITORY / "src")

    checked = run_generator(tmp_path, "--check")
    written = run_generator(tmp_path)

    assert (checked.returncode, written.returncode) == (1, 0)
    assert "stale" in checked.stderr
    assert page.read_text() == fresh
