"""`evalrunner list`: config groups and options, one line on each, and where it comes from."""

import sys
from collections.abc import Sequence
from pathlib import Path

from evalrunner.commands.arguments import Arguments
from evalrunner.errors import InputError, Problem, UsageError, nearest, show
from evalrunner.paths import data_root, user_folder
from evalrunner.reporter.text import plain

NOT_GROUPS = ("hydra",)


def main(tokens: Sequence[str]) -> int:
    """Lists all groups, or the options of one."""
    arguments = Arguments("list")
    arguments.add_argument("group", nargs="?", help="only this group")
    arguments.add_argument("--config-dir", metavar="DIR", help="also the options of this folder, as of run")
    given = arguments.read(tokens)
    shown = chosen(given.group, given.config_dir)
    wide = max((len(name) for names in shown.values() for name in names), default=0)
    for group, names in shown.items():
        sys.stdout.write(f"{group}\n")
        for name, (path, origin) in names.items():
            sys.stdout.write(f"  {name:<{wide}}  {origin:<7}  {summary(path)}\n")
    return 0


def chosen(wanted: str | None, config_dir: str | None) -> dict[str, dict[str, tuple[Path, str]]]:
    """The options of one group, or of all; see `options`.

    Raises:
        UsageError: there is no such group, or `--config-dir` is no folder.
    """
    groups = options(config_dir)
    if wanted is not None and wanted not in groups:
        raise UsageError(Problem("list", "no such group", wanted, ", ".join(groups), nearest(wanted, groups)))
    return groups if wanted is None else {wanted: groups[wanted]}


def options(config_dir: str | None = None) -> dict[str, dict[str, tuple[Path, str]]]:
    """group -> option -> (file, where from), sorted.

    An option of the user's hides a packaged one, and both hide one of `--config-dir`.

    Raises:
        UsageError: `--config-dir` is no folder.
    """
    found: dict[str, dict[str, tuple[Path, str]]] = {}
    given = None if config_dir is None else Path(config_dir)
    if given is not None and not given.is_dir():
        raise UsageError(Problem("--config-dir", "is no folder", show(config_dir)))
    folders = ((given, "given"), (data_root() / "conf", "package"), (user_folder("conf"), "yours"))
    for folder, origin in folders:
        if folder is None:
            continue
        for path in sorted(folder.rglob("*.yaml")):
            group = path.parent.relative_to(folder).as_posix()
            if group == "." or group.split("/")[0] in NOT_GROUPS:
                continue
            options = found.setdefault(group, {})
            shadows = origin == "yours" and options.get(path.stem, (path, "given"))[1] == "package"
            options[path.stem] = (path, "shadows" if shadows else origin)
    return {group: dict(sorted(names.items())) for group, names in sorted(found.items())}


def summary(path: Path) -> str:
    """The first comment of an option's file that says something; editors' and Hydra's own lines aside."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}")) from None
    for line in lines:
        if not line.startswith("#"):
            break
        text = line.lstrip("# ").strip()
        if text and not text.startswith(("@package", "yaml-language-server")):
            return plain(text)
    return ""
