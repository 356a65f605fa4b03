"""A sweep: one receipt a job, one summary on stdout, the worst exit code, under every launcher."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loopback import Loopback, error
from program import Done
from program import evalrunner as process
from program import inside as evalrunner

import evalrunner as evalrunner_package

Start = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Panels `a` and `b` of rules, and `c` of a model that lets nobody in."""
    panels = tmp_path / "conf" / "panel"
    panels.mkdir(parents=True)
    with Loopback(error(401, "no access")) as server:
        closed = f"[{{id: closed, client: openai_compatible, api_base: '{server.url('openai')}'}}]"
        for name, models in {"a": "[rules]", "b": "[rules]", "c": closed}.items():
            text = f"_target_: evalrunner.model.panel.Panel\nmodels: {models}\n"
            (panels / f"{name}.yaml").write_text(text)
        yield tmp_path


@pytest.mark.parametrize(("launcher", "start"), [("basic", evalrunner), ("joblib", process)])
def test_three_panels_give_three_receipts_and_the_worst_code(
    folder: Path, launcher: str, start: Start
) -> None:
    words = ["run", "-m", "panel=a,b,c", "source.slug_prefix='drafts/'", f"hydra/launcher={launcher}"]
    done = start(folder, *words)
    assert done.code == 1, done.err  # fail, fail, inconclusive
    lines = [line for line in done.out.splitlines() if line[:1].isdecimal()]
    assert [line.split()[0] for line in lines] == ["0", "1", "2"]
    assert "panel=c" in lines[2]
    assert "inconclusive" in lines[2]
    receipts = sorted(folder.glob("outputs/run/*/*/receipt.json"))
    assert len(receipts) == 3
    trend = evalrunner(folder, "trend", "--attempts", "--json").json["rows"]
    assert sorted(row["verdict"] for row in trend) == ["fail", "fail", "inconclusive"]


def test_with_json_a_sweep_prints_a_receipt_a_line_in_job_order(folder: Path) -> None:
    done = evalrunner(folder, "run", "-m", "sampler.limit=7,5", "--json")
    assert [json.loads(line)["corpus"]["n_takes"] for line in done.out.splitlines()] == [7, 5]


def test_a_sweep_without_a_job_is_no_green_build(folder: Path) -> None:
    done = evalrunner(folder, "run", "-m", "sampler.limit=glob(*)")
    assert done.code == 3
    assert "the overrides give no job: nothing was run" in done.err


def test_a_sweep_whose_jobs_cannot_run_beside_one_another_is_refused(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = evalrunner(folder, "run", "-m", "sampler.limit=2,3", "hydra.sweep.subdir=one")
    assert done.code == 3
    assert "hydra.sweep.subdir: is one folder for all jobs" in done.err
    assert "(found 'one'); allowed: a name with ${hydra.job.num} in it" in done.err
    for same in (
        "a",
        "${hydra.job.name}",
        "${now:%Y}-b",
        "${run_id:}",
        "${oc.env:HOME}",
        "${hydra:job.name}",
    ):
        done = evalrunner(folder, "run", "-m", "sampler.limit=2,3", f"hydra.sweep.subdir='{same}'")
        assert done.code == 3
        assert "hydra.sweep.subdir: is one folder for all jobs, in which each would overwrite" in done.err
        assert f"(found {same!r})" in done.err
    launched = ("run", "-m", "sampler.limit=2,3", "+hydra.launcher.n_jobs=0")
    done = evalrunner(folder, *launched)
    assert done.code == 3
    assert "hydra.launcher.n_jobs: no job would ever run (found 0); allowed: 1 or more" in done.err
    assert sorted(folder.rglob("*")) == before
    done = evalrunner(folder, "run", "-m", "sampler.limit=2,3", "hydra.sweep.subdir='n${hydra.job.num}'")
    assert done.code in {0, 1}
    assert {path.parent.name for path in folder.glob("outputs/run/*/n*/receipt.json")} == {"n0", "n1"}


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("${hydra.job.override_dirname}", {"sampler.limit=2", "sampler.limit=3"}),
        ("${hydra:job.num}", {"0", "1"}),
        ("${hydra.job.name}-${hydra.job.id}", {"run-0", "run-1"}),
        ("limit${sampler.limit}", {"limit2", "limit3"}),
    ],
)
def test_jobs_may_be_told_apart_by_any_name_of_their_own(tmp_path: Path, name: str, made: set[str]) -> None:
    words = ("-m", "sampler.limit=2,3", "hydra.sweep.dir=all", f"hydra.sweep.subdir='{name}'")
    done = evalrunner(tmp_path, "run", *words)
    assert done.code in {0, 1}
    assert {path.parent.name for path in tmp_path.glob("all/*/receipt.json")} == made


def test_jobs_in_a_folder_of_another_name_have_ids_of_their_own(folder: Path) -> None:
    for _ in range(2):
        assert evalrunner(folder, "run", "--limit", "3", "hydra.run.dir=here").code in {0, 1}
    rows = evalrunner(folder, "trend", "--attempts", "--json").json["rows"]
    assert len({row["run_id"] for row in rows}) == 2


def test_a_job_that_is_misconfigured_does_not_stop_the_others(folder: Path) -> None:
    demo = Path(evalrunner_package.__file__).parent / "demo" / "takes.jsonl"
    (folder / "here.jsonl").write_bytes(demo.read_bytes())
    done = evalrunner(folder, "run", "-m", "source.path=nowhere.jsonl,here.jsonl")
    assert done.code == 3
    assert "nowhere.jsonl" in done.err
    assert len(list(folder.glob("outputs/run/*/*/receipt.json"))) == 1


def test_the_users_conf_shadows_and_that_is_said(folder: Path) -> None:
    (folder / "conf" / "panel" / "budget.yaml").write_text(
        "_target_: evalrunner.model.panel.Panel\nmodels: [rules]\n"
    )
    done = evalrunner(folder, "run", "panel=budget", "--json")
    assert done.code == 0
    assert done.json["models"] == ["rules-v1"]
    assert done.json["environment"]["shadowed"] == ["panel/budget"]
    assert "panel/budget" in done.err
