"""One cap for the jobs of a sweep, kept in a file: what they set aside and spend never passes it."""

import asyncio
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from evalrunner.budget.budget import Budget, BudgetExhausted, Ledger
from evalrunner.budget.pricing import Pricing
from evalrunner.budget.sweep import SweepLedger, begin
from evalrunner.errors import EvalrunnerError, InputError
from evalrunner.records import Usage

CAP = Decimal(1)
TENTH = Decimal("0.1")
PRICING = Pricing(
    source="a test",
    version="1",
    models={"one": {"input_usd_per_mtok": 1000, "output_usd_per_mtok": 1000}},
)


def book(folder: Path, job: str, cap: Decimal = CAP) -> Ledger:
    return Ledger(Budget(cap_usd=cap, scope="sweep"), PRICING, SweepLedger(folder, job))


def test_two_jobs_share_one_cap(tmp_path: Path) -> None:
    begin(tmp_path)
    one, two = SweepLedger(tmp_path, "one"), SweepLedger(tmp_path, "two")
    assert one.take(Decimal("0.7"), CAP)
    assert not two.take(Decimal("0.4"), CAP)
    assert two.take(Decimal("0.3"), CAP), "exactly what is left"
    one.settle(Decimal("0.7"), Decimal("0.2"))
    assert one.committed() == two.committed() == Decimal("0.5")
    assert two.take(Decimal("0.5"), CAP)
    assert not one.take(Decimal("0.000001"), CAP)
    assert not one.could_fit(Decimal("0.9"), CAP)
    assert one.could_fit(Decimal("0.8"), CAP), "what is set aside may yet cost nothing"


def test_amounts_stay_exact(tmp_path: Path) -> None:
    begin(tmp_path)
    ledger = SweepLedger(tmp_path, "one")
    for _ in range(10):
        assert ledger.take(TENTH, CAP)
    assert not ledger.take(Decimal("1e-18"), CAP)
    assert ledger.committed() == CAP


def test_what_a_job_spent_before_counts(tmp_path: Path) -> None:
    begin(tmp_path)
    one, two = book(tmp_path, "one"), book(tmp_path, "two")
    one.carry(Decimal("0.95"), estimated=Decimal(0), overrun=Decimal(0))
    with pytest.raises(BudgetExhausted, match=r"\$0.05 of the sweep's cap of \$1 is left"):
        two.reserve("one", TENTH)
    assert two.block()["sweep_usd"] == Decimal("0.95")
    assert two.block()["scope"] == "sweep"


def test_a_ledger_settles_in_the_file(tmp_path: Path) -> None:
    begin(tmp_path)
    one, two = book(tmp_path, "one"), book(tmp_path, "two")
    paid = one.reserve("one", TENTH)
    lost = one.reserve("one", TENTH)
    back = one.reserve("one", TENTH)
    assert two.block()["sweep_usd"] == Decimal("0.3")
    paid.settle(Usage(calls=1, input_tokens=20, output_tokens=0))
    lost.forfeit()
    back.release()
    assert two.block()["sweep_usd"] == Decimal("0.12") == one.spent
    assert two.spent == 0


def test_a_run_holds_its_bound_in_the_file_too(tmp_path: Path) -> None:
    begin(tmp_path)
    budget = Budget(cap_usd=CAP, scope="sweep", unit="run")
    one = Ledger(budget, PRICING, SweepLedger(tmp_path, "one"))
    two = SweepLedger(tmp_path, "two")

    async def scene() -> None:
        async with one.run(Decimal("0.9")):
            assert two.committed() == Decimal("0.9")
            one.reserve("one", TENTH).settle(Usage(calls=1, input_tokens=20, output_tokens=0))
            assert two.committed() == Decimal("0.82")
        assert two.committed() == Decimal("0.02")

    asyncio.run(scene())


KILLED = """
import sys, time
from decimal import Decimal
from pathlib import Path
from evalrunner.budget.sweep import SweepLedger
ledger = SweepLedger(Path(sys.argv[1]), "killed")
assert ledger.take(Decimal("0.6"), Decimal(1))
print("taken", flush=True)
time.sleep(60)
"""


def test_what_a_killed_job_had_set_aside_counts_as_spent(tmp_path: Path) -> None:
    begin(tmp_path)
    alive = SweepLedger(tmp_path, "alive")
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"taken\n"
        assert alive.could_fit(Decimal("0.9"), CAP), "it may yet give it back"
        process.send_signal(signal.SIGKILL)
    assert not alive.could_fit(Decimal("0.9"), CAP)
    assert not alive.take(Decimal("0.5"), CAP)
    assert alive.take(Decimal("0.4"), CAP)
    alive.settle(Decimal("0.4"), Decimal("0.4"))

    async def scene() -> None:
        with pytest.raises(BudgetExhausted):
            await book(tmp_path, "other").reserve_in_turn("one", TENTH)

    asyncio.run(asyncio.wait_for(scene(), 30))


TAKING = """
import random, sys
from decimal import Decimal
from pathlib import Path
from evalrunner.budget.sweep import SweepLedger
folder, job = Path(sys.argv[1]), sys.argv[2]
ledger, draw, spent = SweepLedger(folder, job), random.Random(job), Decimal(0)
for _ in range(150):
    amount = Decimal(draw.randint(1, 9)) / 100
    if ledger.take(amount, Decimal(5)):
        bill = amount * draw.randint(0, 100) / 100
        ledger.settle(amount, bill)
        spent += bill
print(spent)
"""


def test_processes_that_take_at_once_never_pass_the_cap(tmp_path: Path) -> None:
    begin(tmp_path)
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", TAKING, str(tmp_path), f"job{number}"], stdout=subprocess.PIPE, text=True
        )
        for number in range(4)
    ]
    told = [Decimal(job.communicate(timeout=120)[0]) for job in jobs]
    assert [job.returncode for job in jobs] == [0] * 4
    total = SweepLedger(tmp_path, "reader").committed()
    assert sum(told) == total <= 5
    assert total > Decimal("4.9"), "and the cap is used"


def test_without_the_file_of_the_sweep_a_job_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="do not share a file system") as caught:
        SweepLedger(tmp_path, "one")
    assert "budget.scope=attempt" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises(EvalrunnerError, match="cannot be written"):
        begin(blocked)
    begin(tmp_path)
    ledger = SweepLedger(tmp_path, "one")
    (tmp_path / "budget.sqlite").write_bytes(os.urandom(4096))
    with pytest.raises(EvalrunnerError, match="the sweep's ledger cannot be used"):
        ledger.take(TENTH, CAP)


def test_without_a_cap_nothing_is_shared(tmp_path: Path) -> None:
    begin(tmp_path)
    ledger = Ledger(Budget(scope="sweep"), PRICING, SweepLedger(tmp_path, "one"))
    ledger.reserve("one", TENTH).forfeit()
    assert "scope" not in ledger.block()
