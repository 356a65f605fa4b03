"""Which gateway a model under test is behind, and taking turns there."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evalrunner.model.ids import route, split
from evalrunner.model.keys import variables
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.seat import Bench
from evalrunner.subject.one_at_a_time import one_at_a_time


@asynccontextmanager
async def in_turn(model: LitellmModel, bench: Bench) -> AsyncIterator[None]:
    """Holds the model's gateway for one run, so that runs never overlap there, whatever process makes them.

    Where the user raised `concurrency`, nobody waits for anybody.

    Raises:
        EvalrunnerError: the lock cannot be made.
    """
    if bench.concurrency > 1:
        yield
        return
    async with one_at_a_time(*gateway(model), bench.note):
        yield


def gateway(model: LitellmModel) -> tuple[str, str]:
    """The endpoint, or the provider's name, and the variable that holds the key."""
    path = route(model.id, model.api_base)
    names = variables(path, model.api_base, model.api_key_env)
    used = next((name for name in names if os.environ.get(name, "").strip()), "".join(names[:1]))
    return model.api_base or split(path)[0] or path, used
