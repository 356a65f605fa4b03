"""Temporary folders are removed whatever a program that ran in them made of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from own_scratch import own_scratch  # noqa: F401 - an autouse fixture

from evalrunner.git.scratch import discard, scratch

DEEP = 1200


def dig(folder: Path, name: str, levels: int = DEEP) -> None:
    """Folders in folders; by steps, since no path may be so long."""
    script = (
        f"import os; os.chdir({str(folder)!r})\n"
        f"for _ in range({levels}): os.mkdir({name!r}); os.chdir({name!r})\n"
        "open('leaf', 'w').close()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", ["d", "a-name-that-makes-paths-too-long"])
def test_folders_that_are_too_deep_for_python_and_for_paths_are_removed(tmp_path, name):
    folder = tmp_path / "made"
    folder.mkdir()
    dig(folder, name)
    dig(folder, f"{name}2", 5)
    discard(folder)
    assert not folder.exists()


def test_links_are_not_followed_and_rights_that_are_gone_are_no_hindrance(tmp_path):
    outside, folder = tmp_path / "outside", tmp_path / "made"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    outside.chmod(0o500)
    (folder / "locked" / "inner").mkdir(parents=True)
    (folder / "locked" / "link").symlink_to(outside)
    (folder / "link").symlink_to(outside)
    os.mkfifo(folder / "locked" / "pipe")
    dig(folder, "d")
    (folder / "locked" / "inner").chmod(0)
    (folder / "locked").chmod(0)
    discard(folder)
    assert not folder.exists()
    assert (outside / "kept").read_text() == "kept"
    assert outside.stat().st_mode & 0o777 == 0o500


def test_what_a_killed_process_left_is_removed_however_deep_it_is(own_scratch):  # noqa: F811
    script = """
import os
from evalrunner.git.scratch import scratch
os.chdir(scratch().folder("deep"))
for _ in range(1200):
    os.mkdir("d")
    os.chdir("d")
os._exit(9)
"""
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ}, check=False)
    assert done.returncode == 9
    shelf = own_scratch / f"evalrunner-{os.getuid()}"
    (left,) = shelf.glob("run-*[!k]")
    assert scratch().path.is_dir()
    assert not left.exists()
