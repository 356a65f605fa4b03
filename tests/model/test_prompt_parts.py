"""A prompt that is put together from its parts is letter by letter the one that is rendered."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2 import Environment

from evalrunner.calls.request import Message
from evalrunner.model.fence import fence
from evalrunner.model.prompt_parts import prints_only
from evalrunner.model.prompts import Prompts
from evalrunner.paths import data_root
from evalrunner.rubric import load_rubric

RUBRIC = load_rubric("takes_quality").plain
PROMPTS = Prompts()


def rendered(prompts: Prompts, name: str, items: Sequence[str]) -> tuple[Message, ...]:
    before, after = fence("\n".join(items))
    return prompts.messages(name, items=items, fence_open=before, fence_close=after, rubric=RUBRIC)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(), min_size=1, max_size=4))
def test_the_packaged_prompt_is_the_same_either_way(items: list[str]) -> None:
    built = PROMPTS.about("takes_quality", items=items, fence=fence("\n".join(items)), rubric=RUBRIC)
    assert built == rendered(PROMPTS, "takes_quality", items)


def test_texts_that_look_like_templates_or_like_marks_stay_as_they_are() -> None:
    items = ["{{ rubric }}{% raw %}", "\x000\x00", "\x001\x00", "\ud800", ""]
    built = PROMPTS.about("takes_quality", items=items, fence=fence("\n".join(items)), rubric=RUBRIC)
    assert built == rendered(PROMPTS, "takes_quality", items)


def only(source: str) -> bool:
    return prints_only(Environment(autoescape=False).parse(source), "items", ["fence_open", "fence_close"])


def test_the_packaged_prompt_only_prints() -> None:
    for name in ("takes_quality.j2", "takes_quality.system.j2"):
        assert only((data_root() / "prompts" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source",
    [
        "plain",
        "{{ fence_open }}",
        "{% for text in items %}{{ loop.index }} of {{ loop.length }}: {{ text }}{% endfor %}",
        "{{ items | length }}{% if items | count > 1 %}s{% endif %}",
        "{% for each in rubric.x %}{{ each }}{{ ', ' if not loop.last }}{% endfor %}",
        "{% set x = rubric.y %}{{ x | upper }}",
        "{% for t in items %}{% for d in rubric.x %}{{ t }}{{ d.id }}{% endfor %}{% endfor %}",
    ],
)
def test_what_only_prints(source: str) -> None:
    assert only(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ items }}",
        "{{ items[0] }}",
        "{{ items | join }}",
        "{{ items | first }}",
        "{% if items %}x{% endif %}",
        "{% for t in items | reverse %}{{ t }}{% endfor %}",
        "{% for t in items if t %}{{ t }}{% endfor %}",
        "{% for t in items %}{{ t | trim }}{% endfor %}",
        "{% for t in items %}{{ t | length }}{% endfor %}",
        "{% for t in items %}{{ t ~ '.' }}{% endfor %}",
        "{% for t in items %}{{ t[:10] }}{% endfor %}",
        "{% for t in items %}{% if 'x' in t %}y{% endif %}{% endfor %}",
        "{% for t in items %}{% set x = t %}{{ x }}{% endfor %}",
        "{% for t in items %}{{ loop.previtem }}{% endfor %}",
        "{% for t in items %}{% if loop.changed(t) %}x{% endif %}{% endfor %}",
        "{% for t in items recursive %}{{ loop(items) }}{% endfor %}",
        "{% for a, b in items %}{{ a }}{% endfor %}",
        "{% set items = rubric.x %}{% for t in items %}{{ t }}{% endfor %}",
        "{% for t in rubric.x %}{% endfor %}{% for t in items %}{{ t }}{% endfor %}{{ t.x }}",
        "{% set y = fence_open %}{{ y }}",
        "{{ fence_open | e }}",
        "{% set x %}{{ fence_open }}{% endset %}{{ x | upper }}",
        "{% filter upper %}{{ fence_open }}{% endfilter %}",
        "{% include 'other.j2' %}",
        "{% import 'other.j2' as o %}",
        "{% from 'other.j2' import o %}",
        "{% extends 'other.j2' %}",
        "{% block x %}{{ fence_open }}{% endblock %}",
        "{% macro m() %}{{ fence_open }}{% endmacro %}{{ m() | upper }}",
        "{% call m() %}{{ fence_open }}{% endcall %}",
    ],
)
def test_what_does_more_than_print_is_rendered_each_time(source: str) -> None:
    assert not only(source)


def test_a_prompt_of_ones_own_that_looks_at_the_items_is_right_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("conf", "prompts"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    template = (
        "{% for t in items %}{{ t | upper }} {{ 'long' if t | length > 3 }}{% endfor %}{{ fence_open }}"
    )
    (tmp_path / "prompts" / "mine.j2").write_text(template, encoding="utf-8")
    prompts = Prompts()
    for items in (["abc"], ["abcd"], ["ab", "abcde"]):
        built = prompts.about("mine", items=items, fence=fence("\n".join(items)), rubric=RUBRIC)
        assert built == rendered(prompts, "mine", items)
        assert built[0].content.startswith(items[0].upper())


def test_another_rubric_is_another_prompt() -> None:
    other = {**RUBRIC, "title": "Another one"}
    mine = PROMPTS.about("takes_quality", items=["x"], fence=("a", "b"), rubric=RUBRIC)
    assert PROMPTS.about("takes_quality", items=["x"], fence=("a", "b"), rubric=other) != mine
