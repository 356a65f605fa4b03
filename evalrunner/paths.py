"""Where the packaged conf/, prompts/ and rubrics/ are, and what of the user's shadows them."""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

Kind = Literal["conf", "prompts", "rubrics"]


@cache
def data_root() -> Path:
    """The folder that holds the packaged conf/, prompts/ and rubrics/.

    Inside a wheel they lie in evalrunner/_data; in a checkout, or an editable install of one, at its top.

    Raises:
        RuntimeError: neither is there: the installation is broken.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / "_data", package.parent):
        if (candidate / "conf" / "run.yaml").is_file():
            return candidate
    raise RuntimeError(f"evalrunner's conf/ is neither in {package / '_data'} nor in {package.parent}")


def demo(name: str) -> Path:
    """The path of a demo file that ships with the package."""
    return Path(__file__).resolve().parent / "demo" / name


def user_conf(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of the user's conf/, whether it is there or not; None where the overlay is switched off.

    It is EVALRUNNER_CONF where set (an empty value or `none` switches the overlay off), else ./conf.
    """
    named = environ.get("EVALRUNNER_CONF")
    if named is not None and named.strip().lower() in {"", "none"}:
        return None
    return (Path(named) if named is not None else Path("conf")).absolute()


def user_folder(kind: Kind, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The user's overlay folder of this kind, or None when there is none; see `user_conf`.

    prompts and rubrics lie beside conf: a project's three folders go together.
    """
    conf = user_conf(environ)
    if conf is None:
        return None
    folder = conf if kind == "conf" else conf.parent / kind
    if not folder.is_dir() or folder.resolve() == (data_root() / kind).resolve():
        return None
    return folder


def find_file(kind: Kind, name: str) -> Path | None:
    """The file `name` of this kind: the user's own when there is one, else the packaged one, else None."""
    for folder in (user_folder(kind), data_root() / kind):
        if folder is not None and (folder / name).is_file():
            return folder / name
    return None


def no_file(path: Path) -> str | None:
    """Why nothing can be written to a file of this name; None where that is not known yet."""
    if path.is_dir():
        return "is a folder, and a file is needed"
    above = next((each for each in path.parents if each.exists()), None)
    if above is not None and not above.is_dir():
        return f"lies in {above}, which is no folder"
    return None
