"""Attempts to cheat with real git in a sealed repository: each is found on the objects, or does nothing."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from blind_origin import FIX, Origin, run_git, small

from evalrunner.git import contamination, sealed
from evalrunner.git.contamination import Checks
from evalrunner.git.harvest import Harvest, harvest, place_of
from evalrunner.git.run import GitError
from evalrunner.git.scratch import discard


class Sample:
    """A sealed repository that an agent is about to work in."""

    def __init__(self, folder: Path, made: Origin, landed) -> None:
        self.folder, self.made, self.landed = folder, made, landed
        self.vault = sealed.fill_vault(
            folder / "vault", sealed.Origin(str(made.path)), landed.parent, landed.sha
        )
        self.path = folder / "scratch"
        sealed.seal(self.vault, self.path)
        self.place = place_of(self.path)
        self.before = contamination.before(self.vault, self.path, folder / "lens-before")

    def git(self, *arguments: str, **options) -> str:
        return run_git(self.path, *arguments, **options)

    def write(self, name: str, content: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(content)

    def end(self) -> tuple[Checks, Harvest]:
        """Harvests and checks, as is done after an agent."""
        aside = self.folder / "aside"
        got = harvest(self.vault, self.path, self.place, aside)
        candidate = sealed.objects_of(self.vault.path, got.tree)
        lens = self.folder / "lens-after"
        return contamination.after(self.vault, self.path, lens, self.before, candidate, [aside]), got


@pytest.fixture
def sample(tmp_path):
    return Sample(tmp_path, *small(tmp_path))


def test_a_sealed_repository_is_clean_and_says_what_was_looked_at(sample):
    checks = sample.before
    assert checks.hits == []
    assert checks.record["rev-list --all"] == [sample.landed.parent]
    assert checks.record["commits"] == [sample.landed.parent]
    assert checks.record["objects"] == 4
    looked = checks.record["cat-file -e"]
    assert set(looked) == {sample.landed.sha, *sample.vault.introduced, *sample.vault.introduced_trees}
    assert set(looked.values()) == {1}
    listed = sample.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    assert checks.objects.decode() == listed


def test_a_clone_that_still_holds_the_squash_blobs_is_found(tmp_path):
    made, landed = small(tmp_path)
    vault = sealed.fill_vault(tmp_path / "vault", sealed.Origin(str(made.path)), landed.parent, landed.sha)
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "--quiet", f"file://{made.path}", str(clone))
    run_git(clone, "checkout", "--quiet", "-B", "work", landed.parent)
    run_git(clone, "remote", "remove", "origin")
    run_git(clone, "branch", "--quiet", "-D", "main")
    shutil.rmtree(clone / ".git" / "logs")
    assert landed.sha not in run_git(clone, "rev-list", "--all").split()  # refs alone do not show it

    hits = "\n".join(contamination.before(vault, clone, tmp_path / "lens").hits)
    assert "objects that landed are in the repository" in hits
    assert landed.sha in hits


def test_one_squash_blob_is_enough(sample):
    run_git(sample.path, "hash-object", "-w", "--stdin-paths", check=False)
    (sample.path / "x").write_text(FIX)
    oid = sample.git("hash-object", "-w", "x").strip()
    (sample.path / "x").unlink()
    assert oid in sample.vault.introduced
    hits = contamination.before(sample.vault, sample.path, sample.folder / "lens").hits
    assert [hit for hit in hits if oid in hit]


def test_an_agent_that_does_nothing_is_clean(sample):
    checks, got = sample.end()
    assert (checks.hits, checks.flags, got.diff, got.flags) == ([], [], b"", ())
    assert got.tree == sample.vault.parent_tree


def test_an_honest_agent_that_commits_a_byte_identical_fix_is_not_flagged(sample):
    sample.write("calc.py", FIX)
    sample.write("tests/test_calc.py", "from calc import add\nassert add(1, 2) == 3\n")
    sample.git("add", "--all")
    sample.git("commit", "--quiet", "-m", "Fix it")
    checks, got = sample.end()
    assert (checks.hits, checks.flags) == ([], [])
    assert got.tree == sample.vault.landed_tree
    assert got.diff == sample.vault.landed_diff
    looked = checks.record["cat-file -e"]
    assert looked[sample.landed.sha] == 1
    assert looked[sample.vault.landed_tree] == 0  # recorded all the same


def test_the_same_on_a_branch_with_a_merge_and_an_amend_is_not_flagged(sample):
    sample.git("checkout", "--quiet", "-b", "fix")
    sample.write("calc.py", "def add(a, b):\n    return b + a\n")
    sample.git("commit", "--quiet", "--all", "-m", "Try")
    sample.git("commit", "--quiet", "--all", "--amend", "-m", "Try again")
    sample.git("checkout", "--quiet", "work")
    sample.write("other.py", "x = 1\n")
    sample.git("add", "--all")
    sample.git("commit", "--quiet", "-m", "Other")
    sample.git("merge", "--quiet", "--no-ff", "-m", "Merge", "fix")
    sample.git("stash", "list")
    checks, _ = sample.end()
    assert (checks.hits, checks.flags) == ([], [])


def test_a_landed_blob_that_the_candidate_lacks_is_flagged_and_no_contamination(sample):
    sample.write("calc.py", FIX)
    sample.git("add", "calc.py")
    sample.write("calc.py", "def add(a, b):\n    return a + b + 0\n")
    checks, _ = sample.end()
    assert checks.hits == []
    assert len(checks.flags) == 1
    assert "in the repository but not in the candidate" in checks.flags[0]


def test_an_agent_that_adds_a_remote_and_fetches(sample):
    sample.git("remote", "add", "origin", str(sample.made.path))
    sample.git("fetch", "--quiet", "origin")
    assert "return a + b" in sample.git("show", f"{sample.landed.sha}:calc.py")
    checks, _ = sample.end()
    hits = "\n".join(checks.hits)
    assert "remote.origin.url" in hits
    assert f"the squash commit {sample.landed.sha} is in the repository" in hits
    assert "FETCH_HEAD" in hits
    assert "refs of a remote" in hits


def test_an_agent_that_fetches_and_hides_its_traces(sample):
    sample.git("fetch", "--quiet", "--no-write-fetch-head", f"file://{sample.made.path}", "main")
    checks, _ = sample.end()
    assert checks.hits == [f"the squash commit {sample.landed.sha} is in the repository"]


def test_an_agent_that_fetches_what_came_before(tmp_path):
    made, _ = small(tmp_path)
    landed = made.merge(12, 2, {"more.py": "more = 1\n"})
    sample = Sample(tmp_path, made, landed)
    earlier = run_git(made.path, "rev-list", "--max-parents=0", "HEAD").strip()
    sample.git("fetch", "--quiet", "--no-write-fetch-head", f"file://{made.path}", earlier)
    checks, _ = sample.end()
    assert checks.hits == [f"commits that do not descend from the parent: {earlier}"]


def test_an_agent_that_fetches_only_what_came_later(sample):
    sample.git("fetch", "--quiet", "--no-write-fetch-head", "--depth=1", f"file://{sample.made.path}", "main")
    checks, _ = sample.end()
    hits = "\n".join(checks.hits)
    assert "do not descend from the parent" in hits
    assert "cut at another commit" in hits


def test_a_pack_that_was_not_there_before(sample):
    sample.git("fetch", "--quiet", "--no-write-fetch-head", "--keep", f"file://{sample.made.path}", "main")
    checks, _ = sample.end()
    assert any("packs that were not there before" in hit for hit in checks.hits)


def test_a_fetch_that_got_nothing_is_only_a_flag(sample):
    sample.git("fetch", "nowhere", check=False)
    checks, _ = sample.end()
    assert checks.hits == []
    assert all("a fetch was tried" in flag for flag in checks.flags)


def test_an_alternates_file(sample):
    info = sample.path / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{sample.made.path}/.git/objects\n")
    assert "return a + b" in sample.git("show", f"{sample.landed.sha}:calc.py")
    checks, _ = sample.end()
    assert any("borrows from another one (alternates)" in hit for hit in checks.hits)


def test_objects_behind_a_link(sample):
    objects = sample.path / ".git" / "objects"
    shutil.rmtree(objects / "pack")
    (objects / "pack").symlink_to(sample.made.path / ".git" / "objects" / "pack")
    checks, _ = sample.end()
    assert any("holds what is no file: pack" in hit for hit in checks.hits)


@pytest.mark.parametrize("kind", ["gone", "file", "link", "fresh"])
def test_a_git_directory_that_was_replaced(sample, kind):
    folder = sample.path / ".git"
    shutil.move(folder, sample.folder / "moved")
    if kind == "file":
        folder.write_text(f"gitdir: {sample.folder}/moved\n")
    elif kind == "link":
        folder.symlink_to(sample.folder / "moved")
    elif kind == "fresh":
        sample.git("init", "--quiet")
    checks, _ = sample.end()
    assert checks.hits


@pytest.mark.parametrize("name", ["modules", "worktrees", "remotes", "info", "refs/remotes"])
def test_a_link_out_of_the_git_directory_is_found_and_not_followed(sample, name):
    folder = sample.path / ".git" / name
    if folder.is_dir():
        shutil.rmtree(folder)
    folder.symlink_to("/")
    checks, _ = sample.end()
    assert checks.hits == [f"the git directory has something else in the place of {name}"]


@pytest.mark.parametrize("name", ["shallow", "config", "config.worktree"])
def test_a_file_that_is_too_large_to_be_one_of_gits_is_not_read(sample, name):
    with (sample.path / ".git" / name).open("ab") as file:
        file.truncate(64 * 1024**3)
    checks, _ = sample.end()
    assert checks.hits == [
        f"the check of the git directory could not run: {name} is larger than 1048576 bytes"
    ]


def test_a_commit_that_is_too_large_to_be_one_is_not_read(sample):
    commit = run_git(sample.path, "cat-file", "commit", "HEAD") + "x" * (2 * 1024 * 1024)
    (sample.folder / "commit").write_text(commit)
    sample.git("hash-object", "-t", "commit", "-w", str(sample.folder / "commit"))
    checks, _ = sample.end()
    assert checks.hits == ["the check of the objects could not run: a commit is larger than 1048576 bytes"]


@pytest.mark.parametrize(("name", "levels"), [("d", 1100), ("a-name-that-makes-paths-too-long", 160)])
def test_folders_too_deep_to_be_looked_through_are_no_clean_sample(sample, name, levels):
    script = (
        f"import os; os.chdir({str(sample.path)!r})\n"
        f"for _ in range({levels}): os.mkdir({name!r}); os.chdir({name!r})\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    checks = contamination.after(sample.vault, sample.path, sample.folder / "lens", sample.before, set())
    assert any("the check of other stores of objects could not run" in hit for hit in checks.hits)
    discard(sample.path)


def test_a_folder_that_was_replaced_by_a_link_is_not_looked_through(sample):
    home = sample.folder / "home"
    home.symlink_to("/")
    checks = contamination.after(
        sample.vault, sample.path, sample.folder / "lens", sample.before, set(), [home]
    )
    assert checks.hits == ["the check of other stores of objects could not run: home was replaced by a link"]


def test_a_fetch_in_a_linked_worktree(sample):
    sample.git("worktree", "add", "--quiet", "wt", "-b", "other")
    run_git(sample.path / "wt", "fetch", "--quiet", f"file://{sample.made.path}", "main")
    checks, _ = sample.end()
    assert "something was fetched (FETCH_HEAD)" in checks.hits


@pytest.mark.parametrize("kind", ["replace", "grafts", "packed refs", "shallow is gone"])
def test_what_makes_git_see_another_history_changes_no_check(sample, kind):
    """Neither hides a commit that was fetched, nor makes an honest one a stray."""
    git_dir = sample.path / ".git"
    sample.write("more.py", "more = 1\n")
    sample.git("add", "--all")
    sample.git("commit", "--quiet", "-m", "More")
    if kind == "replace":
        sample.git(
            "replace", "HEAD", sample.git("commit-tree", "-p", "HEAD~", "-m", "x", "HEAD^{tree}").strip()
        )
    elif kind == "grafts":
        (git_dir / "info").mkdir(exist_ok=True)
        (git_dir / "info" / "grafts").write_text(f"{sample.landed.parent}\n")
    elif kind == "packed refs":
        sample.git("pack-refs", "--all")
    else:
        (git_dir / "shallow").unlink()
    checks, _ = sample.end()
    assert checks.hits == []
    sample.git("fetch", "--quiet", "--no-write-fetch-head", f"file://{sample.made.path}", "main", check=False)
    if kind == "packed refs":
        sample.git("update-ref", "refs/heads/x", sample.landed.sha)
        sample.git("pack-refs", "--all", "--prune")
    lens = sample.folder / "lens-again"
    again = contamination.after(sample.vault, sample.path, lens, sample.before, set())
    assert f"the squash commit {sample.landed.sha} is in the repository" in again.hits


def test_a_second_clone_inside_the_worktree(sample):
    run_git(sample.path, "clone", "--quiet", f"file://{sample.made.path}", "vendor/peek")
    checks, got = sample.end()
    assert any(
        "the squash commit is in a second store of objects, vendor/peek/.git/objects" in hit
        for hit in checks.hits
    )
    assert any("a git directory lay in the worktree: vendor/peek/.git" in flag for flag in got.flags)


def test_objects_fetched_into_a_folder_of_another_name(sample):
    (sample.path / "cache").mkdir()
    hidden = {"GIT_OBJECT_DIRECTORY": str(sample.path / "cache"), "GIT_ALTERNATE_OBJECT_DIRECTORIES": ""}
    run_git(
        sample.path,
        "fetch",
        "--quiet",
        "--no-write-fetch-head",
        f"file://{sample.made.path}",
        "main",
        env=hidden,
    )
    checks, _ = sample.end()
    assert any("the squash commit is in a second store of objects, cache" in hit for hit in checks.hits)


def test_a_second_repository_that_knows_nothing_is_only_a_flag(sample):
    (sample.path / "fixture").mkdir()
    run_git(sample.path / "fixture", "init", "--quiet")
    sample.write("fixture/a", "a\n")
    run_git(sample.path / "fixture", "add", "--all")
    run_git(sample.path / "fixture", "commit", "--quiet", "-m", "a")
    checks, got = sample.end()
    assert checks.hits == []
    assert any("second store of objects, fixture/.git/objects" in flag for flag in checks.flags)
    assert b"+++ b/fixture/a" in got.diff  # its files count as the candidate's own


def test_a_broken_repository_is_no_clean_one(sample):
    for file in (sample.path / ".git" / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o644)
            file.write_bytes(b"rubbish")
    checks, _ = sample.end()
    assert any("could not run" in hit or "gone" in hit for hit in checks.hits)


def test_an_included_configuration(sample):
    (sample.path / ".git" / "more").write_text(f'[remote "x"]\n\turl = {sample.made.path}\n')
    sample.git("config", "include.path", "more")
    checks, _ = sample.end()
    assert any("include.path" in hit for hit in checks.hits)


def arm(sample: Sample) -> Path:
    """Plants everything that git may run, each of which leaves a mark; returns where the marks would be."""
    marks = sample.folder / "marks"
    marks.mkdir()

    def script(name: str) -> str:
        path = sample.folder / f"{name}.sh"
        path.write_text(f"#!/bin/sh\ntouch {marks}/{name}\ncat\n")
        path.chmod(0o755)
        return str(path)

    config = {
        "filter.evil.clean": script("clean"),
        "filter.evil.smudge": script("smudge"),
        "filter.evil.process": script("process"),
        "core.fsmonitor": script("fsmonitor"),
        "core.hooksPath": str(sample.path / "hooks"),
        "diff.external": script("external"),
        "diff.evil.textconv": script("textconv"),
        "core.sshCommand": script("ssh"),
        "core.pager": script("pager"),
        "uploadpack.packObjectsHook": script("packhook"),
        "core.attributesFile": str(sample.path / "attributes"),
        "core.excludesFile": str(sample.path / "excludes"),
        "extensions.worktreeConfig": "true",
    }
    for key, value in config.items():
        sample.git("config", key, value)
    for name in (
        "pre-commit",
        "post-index-change",
        "post-checkout",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        for folder in (sample.path / "hooks", sample.path / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            shutil.copy(script(f"hook-{name}"), folder / name)
    (sample.path / "excludes").write_text("*\n")
    (sample.path / ".git" / "info").mkdir(exist_ok=True)
    (sample.path / ".git" / "info" / "exclude").write_text("*\n")
    (sample.path / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    sample.write(".gitattributes", "* filter=evil diff=evil\n")
    return marks


def test_filters_hooks_fsmonitor_and_attributes_of_the_agent_never_run(sample):
    marks = arm(sample)
    sample.write("calc.py", FIX)
    sample.write("new.py", "new = 1\n")
    checks, got = sample.end()
    assert list(marks.iterdir()) == []
    assert b"+    return a + b" in got.diff
    assert b"+new = 1" in got.diff
    assert checks.hits == []  # odd, but nothing of it came from elsewhere
    sample.git("add", "--all", check=False)  # the traps are real: git itself walks into them
    assert list(marks.iterdir()) != []


def test_a_promisor_remote_whose_upload_pack_is_a_program_never_runs(sample):
    mark = sample.folder / "pwned"
    for key, value in {
        "remote.x.url": str(sample.made.path),
        "remote.x.promisor": "true",
        "remote.x.uploadpack": f"touch {mark}; git-upload-pack",
        "extensions.partialClone": "x",
    }.items():
        sample.git("config", key, value)
    checks, _ = sample.end()
    assert not mark.exists()
    assert any("remote.x.url" in hit for hit in checks.hits)


def test_a_submodule_with_an_fsmonitor_never_runs(tmp_path):
    made = Origin(tmp_path)
    entry = "160000,1234567890123456789012345678901234567890,sub"
    for message, name in (("a submodule", entry), ("Fix (#11)", f"100644,{blob_of(made)},copy.py")):
        run_git(made.path, "update-index", "--add", "--cacheinfo", name)
        run_git(made.path, "commit", "--quiet", "-m", message)
    sample = Sample(tmp_path, made, made.head())
    assert sample.before.hits == []
    mark = tmp_path / "pwned"
    sample.write("sub/a", "a\n")
    run_git(sample.path / "sub", "init", "--quiet")
    run_git(sample.path / "sub", "commit", "--quiet", "--allow-empty", "-m", "x")
    run_git(sample.path / "sub", "config", "core.fsmonitor", f"touch {mark};")
    _, got = sample.end()
    assert not mark.exists()
    assert b"+++ b/sub/a" in got.diff


def blob_of(made: Origin) -> str:
    return run_git(made.path, "rev-parse", "HEAD:calc.py").strip()


def test_every_kind_of_change_is_harvested(sample):
    sample.write("new.txt", "new\n")
    (sample.path / "README.md").unlink()
    shutil.move(sample.path / "calc.py", sample.path / "sums.py")
    (sample.path / "blob.bin").write_bytes(bytes(range(256)))
    (sample.path / "link").symlink_to("/etc/passwd")
    sample.write("run.sh", "#!/bin/sh\n")
    (sample.path / "run.sh").chmod(0o755)
    sample.write("umlaut/ä ö\t.txt", "tab\n")
    os.mkfifo(sample.path / "pipe")
    sample.write("locked/inside.txt", "inside\n")
    (sample.path / "locked").chmod(0)
    _, got = sample.end()
    tree = sample.vault
    listed = run_git(tree.path, "ls-tree", "-r", "-z", got.tree).split("\0")
    found = {entry.partition("\t")[2]: entry.split()[0] for entry in listed if entry}
    assert found == {
        "blob.bin": "100644",
        "link": "120000",
        "locked/inside.txt": "100644",
        "new.txt": "100644",
        "run.sh": "100755",
        "sums.py": "100644",
        "umlaut/ä ö\t.txt": "100644",
    }
    assert b"rename from calc.py" in got.diff
    assert b"deleted file mode 100644" in got.diff
    assert b"GIT binary patch" in got.diff
    assert run_git(tree.path, "show", f"{got.tree}:link") == "/etc/passwd"
    assert any("pipe" in flag for flag in got.flags)


def test_a_harvested_diff_applies_to_the_parent(sample):
    sample.write("calc.py", "def add(a, b):\r\n    return a + b")
    (sample.path / "latin").write_bytes("größe\n".encode("latin-1"))
    (sample.path / "blob.bin").write_bytes(b"\0\1\2")
    _, got = sample.end()
    fresh = sample.folder / "fresh"
    sealed.seal(sample.vault, fresh)
    (sample.folder / "c.diff").write_bytes(got.diff)
    run_git(fresh, "apply", "--index", str(sample.folder / "c.diff"))
    assert run_git(fresh, "write-tree").strip() == got.tree


def test_what_is_ignored_is_no_part_of_the_candidate(tmp_path):
    made = Origin(tmp_path)
    made.commit("ignore", {".gitignore": "build/\n"})
    landed = made.merge(11, 1, {"calc.py": FIX})
    sample = Sample(tmp_path, made, landed)
    sample.write("build/out.o", "x" * 100)
    sample.write("calc.py", FIX)
    _, got = sample.end()
    assert got.tree == sample.vault.landed_tree


def test_a_file_with_its_old_time_and_size_is_still_seen(sample):
    calc = sample.path / "calc.py"
    before = calc.stat()
    calc.write_text("def add(a, b):\n    return a + b\n")
    os.utime(calc, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert calc.stat().st_size == before.st_size
    _, got = sample.end()
    assert b"+    return a + b" in got.diff


def test_a_worktree_that_was_replaced_is_not_harvested(sample):
    shutil.move(sample.path, sample.folder / "away")
    sample.path.symlink_to("/")
    with pytest.raises(GitError, match="replaced"):
        harvest(sample.vault, sample.path, sample.place, sample.folder / "aside")
    sample.path.unlink()
    sample.path.mkdir()
    with pytest.raises(GitError, match="replaced"):
        harvest(sample.vault, sample.path, sample.place, sample.folder / "aside")


def test_files_that_no_repository_may_hold_are_left_out_and_said(sample):
    sample.write("git~1", "x\n")
    sample.write("calc.py", FIX)
    _, got = sample.end()
    assert b"+    return a + b" in got.diff
    assert any("could not be harvested" in flag for flag in got.flags)


def test_a_link_to_a_folder_is_not_followed(sample):
    outside = sample.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret\n")
    (outside / "locked").mkdir(mode=0o500)
    (sample.path / "peek").symlink_to(outside)
    _, got = sample.end()
    assert b"secret" not in got.diff.replace(str(outside).encode(), b"")
    assert stat.S_IMODE((outside / "locked").stat().st_mode) == 0o500
