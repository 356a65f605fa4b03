"""Completion in bash: commands, groups, options, keys and flags.

eval "$(evalrunner -sc install=bash)"
"""

import os
import sys
from collections.abc import Sequence

from evalrunner.config import commandline, flags
from evalrunner.config.table import COMMANDS
from evalrunner.errors import EvalrunnerError, Problem, UsageError, show

_INSTALL = """\
_evalrunner_complete() {
    local line=${COMP_LINE:0:COMP_POINT}
    local word=${line##*[[:space:]]}
    local breaks=${COMP_WORDBREAKS//[^=:]/}
    local kept=""
    [[ -n $breaks && $word == *["$breaks"]* ]] && kept=${word%"${word##*["$breaks"]}"}
    local IFS=$'\\n'
    COMPREPLY=($(COMP_LINE=$line "${COMP_WORDS[0]}" -sc query=bash 2>/dev/null))
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}
complete -o nospace -o default -F _evalrunner_complete evalrunner
"""

_UNFINISHED = ("=", ".", "/", ",")

_UNINSTALL = """\
complete -r evalrunner
unset -f _evalrunner_complete
"""


def main(tokens: Sequence[str]) -> int:
    """Answers `-sc install=bash`, `-sc uninstall=bash` and, from the shell, `-sc query=bash`.

    Raises:
        UsageError: it is none of these.
    """
    if list(tokens) == ["install=bash"]:
        sys.stdout.write(_INSTALL)
    elif list(tokens) == ["uninstall=bash"]:
        sys.stdout.write(_UNINSTALL)
    elif list(tokens) == ["query=bash"]:
        for candidate in candidates(os.environ.get("COMP_LINE", "")):
            end = "" if candidate.endswith(_UNFINISHED) else " "
            sys.stdout.write(f"{candidate}{end}\n")
    else:
        raise UsageError(
            Problem(
                "-sc", "no such request", show(" ".join(tokens)), "install=bash, uninstall=bash, query=bash"
            )
        )
    return 0


def candidates(line: str) -> list[str]:
    """What the last word of a command line may become; [] where nothing is known."""
    words = line.split()
    word = words[-1] if words and not line[-1:].isspace() else ""
    before = words[1:-1] if word else words[1:]
    if not before:
        return [name for name in (*COMMANDS, "--help", "--version") if name.startswith(word)]
    command = before[0]
    if command not in COMMANDS:
        return []
    try:
        return sorted(set(_after(command, before[1:], word)))
    except Exception:  # a half-written line may be wrong in any way; a shell wants no message about it
        return []


def _after(command: str, before: Sequence[str], word: str) -> list[str]:
    known = flags.flags_of(command)
    previous = known.get(before[-1]) if before else None
    if word.startswith("-"):
        return [name for name in (*known, flags.DEBUG, *commandline.HYDRA_FLAGS) if name.startswith(word)]
    if previous is not None and previous.kind == "origin":
        return [name for name in flags.ORIGINS if name.startswith(word)]
    if previous is not None and previous.kind not in {"switch", "list"}:
        return []
    return _from_hydra(command, before, word, is_list=previous is not None and previous.kind == "list")


def _from_hydra(command: str, before: Sequence[str], word: str, *, is_list: bool) -> list[str]:
    """Groups, options and keys, by Hydra's own completion; model options for a list of models."""
    from hydra.core.object_type import ObjectType
    from hydra.plugins.completion_plugin import DefaultCompletionPlugin

    from evalrunner.config.app import App
    from evalrunner.config.help import groups

    with App(command) as app:
        if is_list:
            done, _, begun = word.rpartition(",")
            options = app.config_loader.get_group_options("model", ObjectType.CONFIG)
            return [f"{done}{',' if done else ''}{name}" for name in options if name.startswith(begun)]
        overrides = commandline.parse(command, before).overrides
        plugin = DefaultCompletionPlugin(app.config_loader)
        try:
            found = plugin._query(command, " ".join([*overrides, word]))
        except (
            EvalrunnerError
        ):  # the line is wrong so far: no keys of it, but groups and options all the same
            found, _ = plugin._query_config_groups(word, command, [])
        known = {*groups(app, command), "hydra"} if word else set(groups(app, command))
        others = [name for name in app.config_loader.list_groups("") if name not in known]
        strange = {
            *others,
            *(f"{name}=" for name in others),
            "model=",
            *(() if word else ("hydra.", "hydra/")),
        }
        return [each for each in found if each not in strange and not each.endswith("_target_=")]
