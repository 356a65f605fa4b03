"""The environment variables that an agent may be given: none that can hold a credential but its own token."""

import re
from typing import Annotated

from pydantic import AfterValidator

from evalrunner.subject.agent import Variable

_FORGE = re.compile(
    r"(?:GH|GITHUB|GITLAB|GL|GITEA|FORGEJO|CODEBERG|BITBUCKET|HUB|SRHT|EVALRUNNER)_.*|CI_JOB_.*|GIT_.*|SSH_.*|.*_PAT",
    re.IGNORECASE,
)
_CLOUD = re.compile(
    r"(?:AWS|AZURE|ARM|GOOGLE|GCP|GCLOUD|CLOUDSDK|ALIBABA_CLOUD|OCI|DIGITALOCEAN|HCLOUD|VAULT|DOCKER)_.*"
    r"|KUBECONFIG|NETRC|(?:NPM|PYPI|TWINE|CARGO_REGISTRY)_.*(?:TOKEN|PASSWORD)",
    re.IGNORECASE,
)


def _harmless(name: str) -> str:
    if _FORGE.fullmatch(name) or _CLOUD.fullmatch(name):
        raise ValueError(f"{name} can hold credentials of a forge or a cloud, and no agent gets those")
    return name


def _no_forge(name: str) -> str:
    if _FORGE.fullmatch(name):
        raise ValueError(f"{name} can hold a token of a forge, and no agent gets those")
    return name


HandedVariable = Annotated[Variable, AfterValidator(_harmless)]
"""A variable that is handed on to an agent."""

KeyVariable = Annotated[Variable, AfterValidator(_no_forge)] | None
"""The variable with an agent's own token, or none."""
