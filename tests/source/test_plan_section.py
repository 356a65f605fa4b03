"""The managed plan section, and closing words."""

import pytest

from evalrunner.source.plan_section import NotEligible, Plan, closed_issues, read_plan

MODELS = ("haiku", "sonnet", "opus")
END = "**Size:** m\n**Implementation model:** opus\n**Routing reason:** touches two rooms\n"
PLAN = f"## Implementation plan\n\nDo it.\n\n{END}"


@pytest.mark.parametrize(
    "body",
    [
        PLAN,
        f"Before\n\n{PLAN}",
        PLAN.replace("\n", "\r\n"),
        f"{PLAN}\n\n   \n",
        f"{PLAN}\n## Notes\n\nmore\n",
        f"{PLAN}# Other\n",
        "## Implementation plan\n\n### Steps\n\n1. x\n\n" + END.strip().replace("\n", "\n\n"),
        f"```\n## Implementation plan\n```\n\n{PLAN}",
        PLAN.replace("Do it.", "```\n**Size:** s\n## Implementation plan\n```"),
        PLAN.replace("Do it.", "The **Size:** s is only talked of."),
    ],
)
def test_plans(body):
    assert read_plan(body, MODELS) == Plan("m", "opus", "touches two rooms")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "no headings"),
        ("Nothing planned.", "no headings"),
        (f"{PLAN}\n{PLAN}", "2 headings"),
        (PLAN.replace("## Impl", "### Impl"), "no headings"),
        (PLAN.replace("## Implementation plan", "## Implementation Plan"), "no headings"),
        (f"```\n{PLAN}```\n", "no headings"),
        (f"~~~~\n{PLAN}", "no headings"),
        (PLAN.replace("**Size:** m\n", ""), "no lines `**Size:**`"),
        (PLAN.replace("**Size:** m", "**Size:** xl"), "'xl', none of s, m, l"),
        (PLAN.replace("**Size:** m", "**Size:** M"), "'M', none of s, m, l"),
        (PLAN.replace("**Size:** m", "**Size:** s|m|l"), "none of s, m, l"),
        (PLAN.replace("**Size:** m", "**Size:**"), "does not end with"),
        (PLAN.replace("opus", "gpt"), "'gpt' is none of haiku, sonnet, opus"),
        (PLAN.replace("**Size:** m\n", "**Size:** m\n**Size:** m\n"), "2 lines `**Size:**`"),
        (PLAN.replace("Do it.", "**Routing reason:** earlier"), "2 lines `**Routing reason:**`"),
        (f"{PLAN}One more thing.\n", "does not end with"),
        (
            "## Implementation plan\n\n**Implementation model:** opus\n**Size:** m\n**Routing reason:** x\n",
            "does not end with",
        ),
        (f"## Implementation plan\n\n```\n{END}```\n", "no lines"),
        (f"## Implementation plan\n\n```\n{END}", "no lines"),
        (f"## Implementation plan\n\n## Other\n{END}", "no lines"),
        (PLAN.replace("touches two rooms", ""), "does not end with"),
    ],
)
def test_what_is_no_plan(body, why):
    with pytest.raises(NotEligible) as caught:
        read_plan(body, MODELS)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("Closes #12", [12]),
        ("fixes #1 and RESOLVES #2\nCloses: #3", [1, 2, 3]),
        ("closes #7, closes #7", [7]),
        ("closes 12", []),
        ("discloses #4", []),
        ("closes #0", []),
        ("closes #12abc", []),
        ("closes other/repository#5", []),
        ("see #9", []),
        ("<!-- closes #1 --> fixes #2", [2]),
        ("<!-- closes #1", []),
        ("`closes #1` resolves #2", [2]),
        ("```\ncloses #1\n```\nfixes #3", [3]),
        ("", []),
    ],
)
def test_closed_issues(body, numbers):
    assert closed_issues(body) == numbers
