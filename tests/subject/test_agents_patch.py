"""The keyless agent, and what every agent's outcome holds."""

import json
from base64 import b64decode
from hashlib import sha256

import pytest
from agents_kit import item_of
from blind_origin import FIX, Origin, run_git

from evalrunner.git.scratch import scratch
from evalrunner.subject.agent_patch import PatchAgent


@pytest.fixture
def patches(tmp_path):
    folder = tmp_path / "patches"
    folder.mkdir()
    return folder


def landed_diff(origin, landed) -> bytes:
    return run_git(origin.path, "diff", "--binary", landed.parent, landed.sha).encode()


def test_the_landed_diff_gives_the_landed_tree(landed_issue, trial, patches):
    origin, landed = landed_issue
    (patches / "1.diff").write_bytes(landed_diff(origin, landed))
    outcome = trial(PatchAgent(patches=str(patches)), item_of(origin, landed))
    payload = outcome.payload
    assert (outcome.status, outcome.error) == ("ok", None)
    assert payload["candidate_tree"] == payload["landed_tree"]
    assert payload["candidate_tree"] == run_git(origin.path, "rev-parse", f"{landed.sha}^{{tree}}").strip()
    assert payload["candidate_diff"] == payload["landed_diff"]
    assert (payload["issue"], payload["model"], payload["size"]) == (1, "sonnet", "s")
    assert (payload["contaminated"], payload["flags"], payload["isolation"]) == (False, [], "not needed")
    assert trial.notes == []
    assert outcome.spend.cost_usd == 0
    assert outcome.duration_s > 0


def test_a_wrong_and_an_empty_patch(landed_issue, trial, patches):
    origin, landed = landed_issue
    wrong = landed_diff(origin, landed).replace(b"return a + b", b"return a * b")
    (patches / "1.diff").write_bytes(wrong)
    outcome = trial(PatchAgent(patches=str(patches)), item_of(origin, landed))
    assert outcome.status == "ok"
    assert "+    return a * b" in outcome.payload["candidate_diff"]
    assert outcome.payload["candidate_tree"] != outcome.payload["landed_tree"]
    (patches / "1.diff").write_bytes(b"")
    outcome = trial(PatchAgent(patches=str(patches)), item_of(origin, landed))
    assert (outcome.status, outcome.payload["candidate_diff"]) == ("ok", "")
    assert "+    return a + b" in outcome.payload["landed_diff"]


def test_no_patch_and_one_that_does_not_apply_are_errors(landed_issue, trial, patches):
    origin, landed = landed_issue
    item = item_of(origin, landed)
    outcome = trial(PatchAgent(patches=str(patches)), item)
    assert (outcome.status, outcome.error) == ("error", f"there is no {patches}/1.diff")
    (patches / "1.patch").write_text("--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-a\n+b\n")
    outcome = trial(PatchAgent(patches=str(patches)), item)
    assert outcome.status == "error"
    assert "does not apply" in str(outcome.error)


def test_what_is_kept_lets_a_third_party_check_again(landed_issue, trial, patches):
    origin, landed = landed_issue
    (patches / "1.diff").write_bytes(landed_diff(origin, landed))
    outcome = trial(PatchAgent(patches=str(patches), keep_repos=True), item_of(origin, landed))
    kept = trial.kept(outcome)
    checks = outcome.payload["checks"]
    for when in ("before", "after"):
        listed = (kept / f"objects-{when}.txt").read_bytes()
        assert sha256(listed).hexdigest() == checks[when]["objects_sha256"]
    again = run_git(
        kept / "repository", "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"
    )
    assert sha256(again.encode()).hexdigest() == checks["after"]["objects_sha256"]
    assert checks["before"]["rev-list --all"] == [landed.parent]
    assert checks["before"]["cat-file -e"][landed.sha] == 1
    assert checks["after"]["cat-file -e"][landed.sha] == 1
    assert json.loads((kept / "checks.json").read_text()) == {**checks, "flags": []}
    assert (kept / "candidate.diff").read_text() == outcome.payload["candidate_diff"]
    assert any("is kept in" in note for note in trial.notes)


def test_nothing_is_left_in_the_temporary_folder(landed_issue, trial, patches):
    origin, landed = landed_issue
    (patches / "1.diff").write_bytes(b"")
    trial(PatchAgent(patches=str(patches)), item_of(origin, landed))
    assert not list(scratch().path.glob("blind-*"))


def test_bytes_that_are_no_text_stay_exact(tmp_path, trial, patches):
    origin = Origin(tmp_path)
    landed = origin.merge(11, 1, {"calc.py": FIX, "text.txt": "größe\n".encode("latin-1")})
    (patches / "1.diff").write_bytes(b"")
    payload = trial(PatchAgent(patches=str(patches)), item_of(origin, landed)).payload
    assert "gr\ufffd\ufffde" in payload["landed_diff"]
    assert b"+gr\xf6\xdfe\n" in b64decode(payload["landed_diff_base64"])
    assert "candidate_diff_base64" not in payload
    json.dumps(payload).encode()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"parent_sha": "HEAD"}, "parent_sha"),
        ({"parent_sha": "--upload-pack=x"}, "parent_sha"),
        ({"size": "xl"}, "size"),
        ({"repository": "https://user:token@forge.invalid/r.git"}, "credentials"),
        ({"repository": "ext::sh -c id"}, "remote helper"),
        ({"issue_body": None}, "issue_body"),
    ],
)
def test_items_that_cannot_be_used_are_errors_of_one_sample(landed_issue, trial, patches, change, what):
    origin, landed = landed_issue
    outcome = trial(PatchAgent(patches=str(patches)), item_of(origin, landed, **change))
    assert outcome.status == "error"
    assert what in str(outcome.error)
    assert "token" not in str(outcome.error).replace("the token", "")


def test_a_repository_that_is_not_there_is_an_error_of_one_sample(landed_issue, trial, patches, tmp_path):
    origin, landed = landed_issue
    outcome = trial(
        PatchAgent(patches=str(patches)), item_of(origin, landed, repository=str(tmp_path / "none"))
    )
    assert outcome.status == "error"
    assert "git fetch" in str(outcome.error)


def test_the_same_patches_elsewhere_are_the_same_agent(tmp_path):
    told = []
    for name, content in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.diff").write_text(content)
        told.append(PatchAgent(patches=str(tmp_path / name)).described())
    assert told[0] == told[1] != told[2]
