import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from receipt_makers import receipt, values

from evalrunner.errors import EXIT_CRASH, EXIT_USAGE, InputError, ReceiptNotKeptError
from evalrunner.receipt import files
from evalrunner.receipt.files import dumps, file_name, loads, read_receipt, write_atomic

SHAS = ("11111111", "22222222", "33333333", "44444444")


def names(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_receipt(path)
    assert caught.value.exit_code == EXIT_USAGE
    return str(caught.value)


def test_a_receipt_comes_back_from_disk(tmp_path):
    kept = receipt({"accuracy": ["7.5", "22/3"]}, eval="takes_quality")
    path = tmp_path / "new" / "folder" / "r.json"
    write_atomic(path, dumps(kept))
    assert read_receipt(path) == (kept, [])
    assert path.read_bytes().endswith(b"}\n")
    assert names(path.parent) == ["r.json"]


def test_the_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "r.json", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "r.json").stat().st_mode) == 0o640


def test_dumps_is_strict_and_the_same_every_time():
    kept = receipt({"accuracy": [7]}, verdictMessage="lone \ud800, pair \ud83d\ude00, ü")
    text = dumps(kept)
    assert text == dumps(kept.to_json()) == dumps(loads(text.encode(), "r")[0])
    assert text.count("\n") == 1
    assert json.loads(text)["verdictMessage"] == "lone \ufffd, pair 😀, ü"
    assert json.loads(dumps(kept, indent=True)) == json.loads(text)


def test_dumps_refuses_what_json_cannot_say():
    with pytest.raises(InputError, match=r"environment\.load: not a finite number"):
        dumps(receipt({"accuracy": [7]}).to_json() | {"environment": {"load": float("nan")}})


def test_locale_does_not_change_the_file(tmp_path):
    program = (
        "from pathlib import Path; from evalrunner.receipt.files import *; import sys;"
        "sys.path.append(sys.argv[1]); from receipt_makers import receipt;"
        "write_atomic(Path(sys.argv[2]), dumps(receipt({'Ä': [7]}, verdictMessage='日本 ü')))"
    ).encode()
    for name in ("C", "C.UTF-8"):
        subprocess.run(
            [sys.executable, "-X", "utf8=0", "-", str(Path(__file__).parent), str(tmp_path / name)],
            input=program,
            env=os.environ | {"LC_ALL": name},
            check=True,
        )
    assert (tmp_path / "C").read_bytes() == (tmp_path / "C.UTF-8").read_bytes()
    assert "日本 ü" in (tmp_path / "C").read_text(encoding="utf-8")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "r.json").mkdir()
    (tmp_path / "r.json" / "inside").write_text("kept")
    with pytest.raises(ReceiptNotKeptError, match="cannot be written") as caught:
        write_atomic(tmp_path / "r.json", "new")
    assert caught.value.exit_code == EXIT_CRASH
    assert names(tmp_path) == ["r.json"]


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ReceiptNotKeptError):
        write_atomic(tmp_path / "file" / "r.json", "new")


def test_a_killed_writer_never_leaves_half_a_file(tmp_path):
    path = tmp_path / "r.json"
    write_atomic(path, "old")
    program = (
        "import resource, signal, sys; sys.dont_write_bytecode = True; from pathlib import Path;"
        "from evalrunner.receipt.files import *;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL);"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0));"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "write_atomic(Path(sys.argv[1]), 'n' * 100_000)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode < 0
    assert path.read_text() == "old"


def test_a_full_disk_is_said_and_cleaned_up(tmp_path):
    path = tmp_path / "r.json"
    write_atomic(path, "old")
    program = (
        "import resource, signal, sys; sys.dont_write_bytecode = True; from pathlib import Path;"
        "from evalrunner.receipt.files import *;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_atomic(Path(sys.argv[1]), 'n' * 100_000)\n"
        "except ReceiptNotKeptError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    )
    assert "File too large" in done.stdout
    assert path.read_text() == "old"
    assert names(tmp_path) == ["r.json"]


def test_missing_folder_and_unreadable_paths_are_named(tmp_path):
    assert refusal(tmp_path / "gone.json") == f"{tmp_path / 'gone.json'}: no such file"
    assert "is a folder" in refusal(tmp_path)
    assert "cannot be read" in refusal(tmp_path / "a\0b")
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot be read" in refusal(tmp_path / "loop")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1: is not JSON: Expecting value, column 1"),
        (b'{\n  "a" 1}', ":2: is not JSON: Expecting ':' delimiter, column 7"),
        (b'{"a": 1', ":1: is not JSON"),
        (b'{"a": 1} {"b": 2}', ":1: is not JSON: Extra data, column 10"),
        (b'{"a": 1, "a": 2}', "key 'a' is written twice"),
        (b'{"x": {"\\u0061": 1, "a": 2}}', "key 'a' is written twice"),
        (b'{"a": NaN}', "NaN is no number"),
        (
            b'{"a": 1e99999999999999999999}',
            "a number has the exponent 99999999999999999999; at most 1000 is read",
        ),
        (b'{"a": -Infinity}', "-Infinity is no number"),
        (b"\xff\xfe{}", "is not UTF-8 (byte 0)"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "a receipt is a JSON object"),
        (b'{"schema_version": 3}', "schema_version: is newer than this program reads (found 3)"),
        (b'{"schema_version": ' + b"9" * 5000 + b"}", "schema_version"),
    ],
)
def test_what_is_no_receipt_is_refused_with_its_place(tmp_path, content, message):
    path = tmp_path / "r.json"
    path.write_bytes(content)
    said = refusal(path)
    assert said.startswith(str(path))
    assert message in said


def test_a_huge_file_is_refused_unread(tmp_path):
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(files.MOST_BYTES + 1)
    assert "too large" in refusal(tmp_path / "huge.json")


def test_a_pipe_and_a_byte_order_mark_are_read(tmp_path):
    text = dumps(receipt({"accuracy": [7]}))
    assert loads(b"\xef\xbb\xbf" + text.encode(), "r")[0] == loads(text, "r")[0]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write({text!r})"]):
        assert read_receipt(pipe)[0] == receipt({"accuracy": [7]})


def test_warnings_name_the_file(tmp_path):
    value = values({"accuracy": [7]}, overall_score=9)
    write_atomic(tmp_path / "r.json", dumps(value))
    _, doubtful = read_receipt(tmp_path / "r.json")
    assert len(doubtful) == 1
    assert doubtful[0].startswith(f"{tmp_path / 'r.json'}: overall_score 9 is not the mean")


def test_names_of_copies():
    assert file_name("takes_quality", SHAS) == "takes-quality-11111111-22222222-33333333-44444444.json"
    assert file_name("takes_quality", SHAS, "55555555") == file_name("takes_quality", SHAS)
    assert file_name("code_review", SHAS, "55555555") == (
        "code-review-55555555-11111111-22222222-33333333-44444444.json"
    )


@pytest.mark.parametrize(
    ("eval_name", "shas", "subject"),
    [
        ("../up", SHAS, None),
        ("x", SHAS[:3], None),
        ("x", (*SHAS[:3], "../4444"), None),
        ("x", SHAS, "/"),
        ("", SHAS, None),
    ],
)
def test_a_name_never_leads_elsewhere(eval_name, shas, subject):
    with pytest.raises(ValueError, match=r"sha8|name"):
        file_name(eval_name, shas, subject)


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(pipe, "through\n")
        assert os.read(reader, 100) == b"through\n"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    write_atomic(Path("/dev/null"), "gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_link_stays_one_and_what_it_names_is_written_whole(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "folder" / "real.json")
    write_atomic(link, "new\n")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "real.json").read_text() == "new\n"
