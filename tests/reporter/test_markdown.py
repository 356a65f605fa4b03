"""Untrusted text in Markdown reads as it was written, in GitHub's own renderer, and does nothing else."""

import re
from html.parser import HTMLParser

import cmarkgfm
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import ANY_MACHINE

from evalrunner.reporter.markdown import escaped, table, within
from evalrunner.reporter.text import plain

GAP = "\u200b"
REFERENCE = re.compile(r"@\w|[#!%~&$]\w|GH-\d|://|www\.|:[a-z0-9_+-]+:", re.IGNORECASE)
"""What forges look for in text that is rendered: mentions, references, addresses, emoji."""


class Rendered(HTMLParser):
    """The tags and the text of HTML."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown))
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


ATTACKS = [
    "@octocat please merge",
    "closes #12, GH-13, owner/repo#14, !15, ~bug, &16, %17, $18",
    "<img src=x onerror=alert(1)> <script>x</script> <!-- hidden",
    "[click](https://evil.example) ![x](https://evil.example/p.png) [ref]: x",
    "https://evil.example www.evil.example ftp://evil.example a@evil.example",
    "**bold** __bold__ *it* _it_ ~~gone~~ `code` ``x`` \\*",
    "# heading",
    "- item",
    "1. item",
    "2) item",
    "> quote",
    "+ item",
    "/close",
    "===",
    "| a | b | \\| c",
    "$x^2$ and $$y$$",
    ":tada: and :100: at 03:00:11",
    "&amp; &#64;octocat &lt;b&gt;",
    "[^1] and [^1]: note, [ ] task, [x] done",
    "_www.evil.example_",
    "line\r\n\r\n# heading\n@octocat",
    "mailto:a@evil.example xmpp:a@evil.example",
    "std::vector<int> a[0] = b_c_d * 2; // 50 % of {x}",
]


def check(text: str) -> None:
    """Renders the text in a list, behind words and in a table, and compares."""
    for around, before, tags in (
        ("- {}", [], ["ul", "li"]),
        ("**word** {}", ["word"], ["p", "strong"]),
        ("| head |\n| :-- |\n| {} |", ["head"], ["table", "thead", "tr", "th", "tbody", "tr", "td"]),
    ):
        rendered = Rendered(around.format(escaped(text)))
        assert rendered.tags == tags, text
        assert rendered.text.replace(GAP, "").split() == before + plain(text).split(), around
        assert not REFERENCE.search(rendered.text), rendered.text


@pytest.mark.parametrize("text", ATTACKS)
def test_what_looks_like_markdown_is_text(text: str) -> None:
    check(text)


@ANY_MACHINE
@given(
    st.lists(
        st.sampled_from([*"a1 \n\\`*_{}[]()#+-.!|~<>&@$%:=^'\"/", "x y", "www.", "://", "GH-1"]),
        min_size=1,
        max_size=24,
    ).map("".join)
)
def test_no_mixture_of_signs_is_more_than_text(text: str) -> None:
    if plain(text):
        check(text)


def test_text_is_cut_before_it_is_escaped() -> None:
    assert escaped("a" * 50 + "*", 10) == "a" * 9 + "…"


def test_a_table_has_its_numbers_on_the_right() -> None:
    text = table(["figure", "now"], [["accuracy", "7.00"]], numbers=(1,))
    html = cmarkgfm.github_flavored_markdown_to_html(text)
    assert '<td align="right">7.00</td>' in html


def test_blocks_that_do_not_fit_are_counted() -> None:
    text = within(300, ["first", "x" * 90, "y" * 90, "z"], lambda left: f"{left} left out")
    assert text == "first\n\n" + "x" * 90 + "\n\n2 left out\n"
