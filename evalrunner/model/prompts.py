"""Prompt templates: found in the user's ./prompts, else among the packaged ones; rendered in a sandbox.

Values are data. They are put into the text as they are and never read as templates themselves.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from evalrunner.calls.request import Message, Role
from evalrunner.errors import InputError, Problem, nearest, show
from evalrunner.model.prompt_parts import Parts, parts, prints_only, together
from evalrunner.once import Once
from evalrunner.paths import data_root, find_file, user_folder

if TYPE_CHECKING:
    from types import TracebackType

    from jinja2 import Template, TemplateError, nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

SUFFIX = ".j2"


class Prompts:
    """Renders prompt templates, and knows all the text that a prompt is made of.

    A template file is read once; what is written to it later is not seen.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._references: dict[str, list[str]] = {}
        self._trees: dict[str, nodes.Template] = {}
        self._there: dict[str, bool] = {}
        self._templates: dict[str, Template] = {}
        self._checked = Once(_check_plain)
        self._shown: set[tuple[str, ...]] = set()
        self._plans: dict[tuple[Any, ...], tuple[object, list[tuple[Role, Parts]] | None]] = {}

    @cached_property
    def _jinja(self) -> "ImmutableSandboxedEnvironment":
        from jinja2 import FunctionLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        class Environment(ImmutableSandboxedEnvironment):
            """What is asked for most goes the shortest way; what it gives is the same."""

            def getattr(self, obj: Any, attribute: str) -> Any:
                if type(obj) is dict and attribute in obj and not hasattr(dict, attribute):
                    return obj[attribute]
                return super().getattr(obj, attribute)

            def make_globals(self, d: Any) -> Any:
                return {**self.globals, **(d or {})}

        return Environment(
            loader=FunctionLoader(lambda name: (self._text(name), str(_find(name)), lambda: True)),
            undefined=StrictUndefined,
            autoescape=False,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def has(self, name: str) -> bool:
        """Whether there is a template `<name>.j2`."""
        if name not in self._there:
            self._there[name] = find_file("prompts", f"{name}{SUFFIX}") is not None
        return self._there[name]

    def render(self, name: str, /, **values: Any) -> str:
        """The text of template `<name>.j2` with these values.

        Args:
            name: without the suffix, such as `takes_quality.system`.
            values: plain data: text, numbers, booleans, None, lists, tuples and mappings of them.

        Raises:
            InputError: no such template, a mistake in it, a value that it needs and does not get, something
                that the sandbox forbids; with file and line.
            TypeError: a value that is not plain data.
        """
        from jinja2 import TemplateError

        for value in values.values():  # mappings, such as a rubric, are looked through once
            (self._checked if isinstance(value, dict) else _check_plain)(value)
        file = f"{name}{SUFFIX}"
        try:
            return self._template(file).render(values)
        except TemplateError as error:
            raise InputError(_problem(error, file)) from None
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
            where = _place(error.__traceback__) or str(_find(file))
            raise InputError(Problem(where, f"the template fails: {error}")) from None

    def messages(self, name: str, about: Sequence[str] = (), /, **values: Any) -> tuple[Message, ...]:
        """The conversation of a prompt: `<name>.system.j2` as system message when there is one, then
        `<name>.j2` as user message.

        Args:
            name: as for `render`.
            about: the names of the values, texts or lists of texts, that the prompt asks about.
            values: as for `render`.

        Raises:
            InputError: as `render`, or the templates say the same whatever the values of `about` are.
        """
        if about:
            self._shows(name, about, values)
        user = Message("user", self.render(name, **values))
        if not self.has(f"{name}.system"):
            return (user,)
        return Message("system", self.render(f"{name}.system", **values)), user

    def about(
        self, name: str, /, items: Sequence[str], fence: tuple[str, str], **shared: dict[str, Any]
    ) -> tuple[Message, ...]:
        """`messages` with `items`, `fence_open`, `fence_close` and the shared values, much faster when asked
        again about other items with the same shared values.

        Raises:
            InputError: as `render`, or the template says the same whatever the items are.
        """
        count = len(items)
        asked = (name, count, *map(id, shared.values()))
        if asked not in self._plans:
            given = {"items": items, "fence_open": fence[0], "fence_close": fence[1], **shared}
            plan = self._plan(name, count, shared)
            if plan is None:
                self._shows(name, ["items"], given)
            elif count and not any(
                isinstance(part, int) and part < count for _, prompt in plan for part in prompt
            ):
                raise self._unseen(name, ["items"], given)
            self._plans[asked] = (shared, plan)
        plan = self._plans[asked][1]
        if plan is None:
            return self.messages(name, items=items, fence_open=fence[0], fence_close=fence[1], **shared)
        texts = (*items, *fence)
        return tuple(Message(role, together(prompt, texts)) for role, prompt in plan)

    def _shows(self, name: str, about: Sequence[str], values: Mapping[str, Any]) -> None:
        """Makes sure that who is asked sees what it is asked about: other texts there make another prompt.

        Once a template, as soon as none of these values is empty: a template may show one of them alone.
        """
        if (name, *about) in self._shown or not all(values[each] for each in about):
            return
        self._shown.add((name, *about))
        said = []
        for text in ("one", "two"):
            others = {
                each: text if isinstance(values[each], str) else [text] * len(values[each]) for each in about
            }
            try:
                said.append(self.messages(name, **{**values, **others}))
            except InputError:  # the template is wrong, which its own values tell, or takes the texts apart
                return
        if said[0] == said[1]:
            raise self._unseen(name, about, values)

    @staticmethod
    def _unseen(name: str, about: Sequence[str], values: Mapping[str, Any]) -> InputError:
        ways = (
            f"{{{{ {each} }}}}" if isinstance(values[each], str) else f"{{% for text in {each} %}}"
            for each in about
        )
        what = "shows none of the items that it asks about"
        allowed = f"{' or '.join(ways)}, fence_open, the text, and fence_close each on a line of its own"
        return InputError(Problem(str(_find(f"{name}{SUFFIX}")), what, None, allowed))

    def _plan(self, name: str, count: int, shared: Mapping[str, Any]) -> list[tuple[Role, Parts]] | None:
        """The parts of each message; None where a template does more with the items than print them."""
        files = [f"{name}{SUFFIX}"] + [f"{name}.system{SUFFIX}"] * self.has(f"{name}.system")
        if not all(
            prints_only(self._trees[file], "items", ["fence_open", "fence_close"])
            for file in self._whole(files)
        ):
            return None

        def content(number: int) -> Parts:
            def render(texts: Sequence[str]) -> str:
                *items, before, after = texts
                given = {"items": items, "fence_open": before, "fence_close": after, **shared}
                return self.messages(name, **given)[number].content

            return parts(render, count + 2)

        return [("system", content(0)), ("user", content(1))] if len(files) > 1 else [("user", content(0))]

    def sources(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Every template text that these prompts are made of, as (file name, text), sorted by name.

        A prompt's system template belongs to it, and so does whatever they include, import or extend, however
        deep. Line ends are LF whatever the files have.

        Raises:
            InputError: a template is missing or wrong, or names what it includes by an expression.
        """
        files = [f"{name}{SUFFIX}" for name in names]
        files += [f"{name}.system{SUFFIX}" for name in names if self.has(f"{name}.system")]
        return sorted((file, self._text(file)) for file in self._whole(files))

    def _template(self, file: str) -> "Template":
        if file not in self._templates:
            self._whole([file])
            self._templates[file] = self._jinja.get_template(file)
        return self._templates[file]

    def _whole(self, files: Sequence[str]) -> set[str]:
        """The templates and all that they refer to, checked; see `_parsed`."""
        waiting, found = list(files), set[str]()
        while waiting:
            file = waiting.pop()
            if file not in found:
                found.add(file)
                waiting += self._parsed(file)
        return found

    def _text(self, file: str) -> str:
        if file not in self._texts:
            self._texts[file] = _source(file)
        return self._texts[file]

    def _parsed(self, file: str) -> list[str]:
        """The templates that one refers to; refuses mistakes in it and references by expression."""
        if file in self._references:
            return self._references[file]
        from jinja2 import TemplateSyntaxError
        from jinja2.meta import find_referenced_templates

        try:
            tree = self._jinja.parse(self._text(file), file, str(_find(file)))
        except TemplateSyntaxError as error:
            raise InputError(_problem(error, file)) from None
        named = list(find_referenced_templates(tree))
        if None in named:
            raise InputError(
                Problem(
                    str(_find(file)),
                    "what a template includes must be named in it, not worked out by an expression",
                    allowed='names in quotes, such as {% include "part.j2" %}',
                )
            )
        self._trees[file] = tree
        self._references[file] = [name for name in named if name is not None]
        return self._references[file]


def _shows_text(prompt: Parts, count: int) -> bool:
    """Whether one of the first `count` texts stands in a prompt."""
    return any(isinstance(part, int) and part < count for part in prompt)


def _find(file: str) -> Any:
    """The path of a template file, or the bare name where there is none."""
    return find_file("prompts", file) or f"prompts/{file}"


def _source(file: str) -> str:
    """The text of a template file, with LF as line end."""
    pure = PurePosixPath(file)
    path = None if pure.is_absolute() or ".." in pure.parts or "\\" in file else find_file("prompts", file)
    if path is None:
        known = sorted(
            each.relative_to(folder).as_posix()
            for folder in (user_folder("prompts"), data_root() / "prompts")
            if folder is not None
            for each in folder.rglob(f"*{SUFFIX}")
        )
        raise InputError(
            Problem(
                "prompts", "no such template", show(file), ", ".join(known) or "none", nearest(file, known)
            )
        )
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(str(path), f"the template cannot be read: {error}")) from None


def _problem(error: "TemplateError", file: str) -> Problem:
    line = getattr(error, "lineno", None)
    path = getattr(error, "filename", None) or _find(getattr(error, "name", None) or file)
    where = f"{path}:{line}" if line else _place(error.__traceback__) or str(path)
    return Problem(where, f"the template fails: {error.message or type(error).__name__}")


def _place(trace: "TracebackType | None") -> str | None:
    """`file:line` of the innermost template frame of a traceback."""
    place = None
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.endswith(SUFFIX):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _check_plain(value: Any) -> None:
    """Refuses objects with methods that a template could call."""
    if isinstance(value, str):
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            _check_plain(key)
            _check_plain(each)
    elif isinstance(value, list | tuple):
        for each in value:
            _check_plain(each)
    elif value is not None and not isinstance(value, int | float | Decimal):
        raise TypeError(f"a template is given plain data, not a {type(value).__name__}")
