"""`evalrunner trend`: stored receipts over time, newest first, one rubric epoch after another."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from evalrunner.commands.output import say
from evalrunner.config.tree import TrendConfig, TrendFilter, load
from evalrunner.errors import nearest, show
from evalrunner.receipt.jsontext import readable_json
from evalrunner.reporter.trend import print_cells, print_trend
from evalrunner.store.reader import CellRow, Reader, TrendRow


def main(config: DictConfig, *, folder: Path | None) -> int:
    """Prints the rows, as a table or as `{"schema_version": 1, "rows": [...]}`; with a group one a cell."""
    asked = load(config, TrendConfig)
    wanted = asked.trend
    with asked.store.reading(say) as reader:
        rows = matching(reader, wanted)
        cells = [] if wanted.group is None else reader.cells(rows, wanted.group)
        groups = reader.groups(rows) if rows and wanted.group is not None and not cells else []
        empty = reader.is_empty
        known = reader.evals()
        names = sorted({row.eval for row in rows})
        versions = {name: reader.rubric_versions(name) for name in names}
    several = {
        (name, version)
        for name, by_version in versions.items()
        for version, shas in by_version.items()
        if len(shas) > 1
    }
    for name, version in sorted(several):
        say(f"warning: {name}: rubric {version} appears with {len(versions[name][version])} fingerprints")
    if asked.json:
        shown = [_json(row) for row in rows] if wanted.group is None else [_cell_json(each) for each in cells]
        sys.stdout.write(readable_json({"schema_version": 1, "rows": shown}) + "\n")
    elif empty:
        say("no runs yet")
    elif not rows:
        say("no runs match; leave a filter out to see more")
        if wanted.eval is not None and wanted.eval not in known:
            close = nearest(wanted.eval, known)
            hint = f"; did you mean {close!r}?" if close else ""
            say(f"the store has runs of {', '.join(known)}, none of {show(wanted.eval)}{hint}")
    elif wanted.group is None:
        print_trend(rows, several, sys.stdout)
    elif cells:
        print_cells(cells, several, sys.stdout)
    else:
        close = nearest(wanted.group, groups)
        hint = f"; did you mean {close!r}?" if close else ""
        say(f"no run has a group {show(wanted.group)}; their groups: {', '.join(groups) or 'none'}{hint}")
    return 0


def matching(reader: Reader, wanted: TrendFilter) -> list[TrendRow]:
    """The rows of an open store that are wanted; the newest first."""
    return reader.trend(
        eval_name=wanted.eval,
        rubric_version=wanted.rubric_version,
        panel=wanted.panel,
        corpus=wanted.corpus,
        limit=wanted.limit,
        attempts=wanted.attempts,
    )


def _json(row: TrendRow) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name != "metric"}


def _cell_json(each: CellRow) -> dict[str, Any]:
    own = {name: value for name, value in asdict(each).items() if name != "row"}
    return {**_json(each.row), "metric": each.row.metric, **own}
