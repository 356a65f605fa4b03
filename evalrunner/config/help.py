"""The help of one command: what it does, its flags as spellings of keys, examples, groups and options."""

import textwrap

from hydra.core.object_type import ObjectType
from hydra.types import RunMode

from evalrunner.config.app import App
from evalrunner.config.flags import FLAGS, Flag
from evalrunner.config.table import COMMANDS

_WIDTH = 100

_HYDRA = """\
  -h, --help                this help
  -m, --multirun            sweep: key=a,b runs a job for each value
  -c, --cfg job|hydra|all   show the composed configuration and run nothing
      --resolve             with --cfg: resolve interpolations
  -p, --package KEY         with --cfg: show only this part
  -i, --info [WHAT]         all, config, defaults, defaults-tree, plugins or searchpath
  -cn, --config-name NAME   another primary configuration, such as one of yours
  -cd, --config-dir DIR     a further folder of options
      --hydra-help          Hydra's own help
      --debug               show tracebacks"""


def command_help(command: str, app: App) -> str:
    """The help of a command; groups and options are those that Hydra finds, the user's own among them."""
    row = COMMANDS[command]
    receipt = " [RECEIPT]" if command == "replay" else ""
    examples = textwrap.indent(row.examples, "  ")
    return f"""\
usage: evalrunner {command}{receipt} [flags] [key=value ...]

{row.summary[0].upper()}{row.summary[1:]}.

examples:
{examples}

flags (each is another spelling of a key; --flag VALUE or --flag=VALUE, before or after overrides):
{_flags(FLAGS[command])}

groups and options (group=option):
{_groups(app, command)}

Every key can be overridden: key=value, +key=value adds one, ~key removes one.
  evalrunner {command} --cfg job   shows all keys with their values

flags of Hydra:
{_HYDRA}
"""


def _flags(flags: tuple[Flag, ...]) -> str:
    heads = [f"{flag.name} {flag.metavar}".strip() for flag in flags]
    wide = max(map(len, heads))
    keys = max(len(_key(flag)) for flag in flags)
    return "\n".join(
        f"  {head:<{wide}}  {_key(flag):<{keys}}  {flag.text}"
        for head, flag in zip(heads, flags, strict=True)
    )


def _key(flag: Flag) -> str:
    return " ".join([*flag.also, flag.key])


def _groups(app: App, command: str) -> str:
    lines = []
    for group in groups(app, command):
        options = ", ".join(app.config_loader.get_group_options(group, ObjectType.CONFIG)) or "none yet"
        indent = " " * 14
        text = textwrap.fill(options, _WIDTH - len(indent), break_on_hyphens=False, break_long_words=False)
        lines.append(f"  {group:<12}" + textwrap.indent(text, indent)[len(indent) :])
    return "\n".join(lines)


def groups(app: App, command: str) -> list[str]:
    """The groups that a command's defaults list chooses from, `model` with `panel`."""
    defaults = app.config_loader.compute_defaults_list(command, [], RunMode.RUN)
    chosen = {str(each) for each in defaults.overrides.known_choices if not str(each).startswith("hydra/")}
    paths = [each.config_path or "" for each in defaults.defaults]
    chosen |= {path.partition("/")[0] for path in paths if "/" in path}
    if "panel" in chosen:
        chosen.add("model")
    return sorted(chosen - {"hydra"})
