"""An LLM behind any provider that litellm speaks to: a seat of a panel, and whoever else must be asked."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from evalrunner.calls.request import CallRequest, Limits, Message, Slot
from evalrunner.component import Component
from evalrunner.errors import Problem, nearest
from evalrunner.model.asking import REASK, Asked, Parse, ask, correction_bytes
from evalrunner.model.ids import id_problem, route
from evalrunner.model.keys import key_problem
from evalrunner.model.litellm_client import load, shared
from evalrunner.model.panel_prompt import panel_messages
from evalrunner.model.reply import read_scores, scores_schema
from evalrunner.model.seat import Bench, SeatKind
from evalrunner.records import Item, Judgement, JudgementStatus

if TYPE_CHECKING:
    from evalrunner.calls.desk import Desk

T = TypeVar("T")

PARAMS = frozenset(
    {
        "extra_body",
        "frequency_penalty",
        "logit_bias",
        "min_p",
        "presence_penalty",
        "reasoning_effort",
        "repetition_penalty",
        "safety_settings",
        "stop",
        "thinking",
        "top_k",
        "verbosity",
    }
)
"""What `params` may hold: it changes what is asked, and nothing about where, how often or with which key."""

BOUND = frozenset(
    {
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "response_format",
        "service_tier",
        "stream",
        "tools",
    }
)
"""What `params.extra_body` must leave alone: the budget's bound and the reading of the reply stand on it."""

_STATUS: Mapping[str, JudgementStatus] = {
    "answered": "scored",
    "rejected": "rejected",
    "failed": "failed",
    "skipped": "skipped",
}


class LitellmModel(Component):
    """One LLM with its call parameters.

    Attributes:
        id: `provider:name` or `provider/name`; any name when `api_base` is set. Stays as written in receipts.
        client: what speaks to the provider.
        api_base: an endpoint of your own, http or https; it gets no key but the one in `api_key_env`.
        api_key_env: the environment variable that holds the key; None takes the provider's usual one.
        temperature: 0 to 2. top_p: above 0, up to 1. seed: any integer. None leaves them to the provider.
        max_tokens: the longest reply, reasoning included; always sent.
        timeout_s: seconds for one attempt.
        concurrency: calls in flight at once. requests_per_minute, tokens_per_minute: None is no limit.
        structured: ask for the JSON schema of the reply where the model is known to take one, or is unknown
            and its API takes one.
        reasks: how often a rejected reply is asked for again, 0 to 3.
        params: further parameters of the request, those of PARAMS.
    """

    id: str
    client: Literal["litellm"] = "litellm"
    api_base: str | None = None
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = None
    max_tokens: int = Field(default=4096, ge=1)
    timeout_s: float = Field(default=120.0, gt=0)
    concurrency: int = Field(default=8, ge=1)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    structured: bool = True
    reasks: int = Field(default=1, ge=0, le=3)
    params: dict[str, Any] = Field(default_factory=dict)

    @field_validator("api_base")
    @classmethod
    def _endpoint(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
        except ValueError as error:
            raise ValueError(f"not an address: {error}") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("an address such as http://127.0.0.1:8000/v1 is needed")
        if parts.username is not None or parts.password is not None:
            raise ValueError("credentials in an address are refused; name a variable in api_key_env")
        return value

    @field_validator("params")
    @classmethod
    def _known_params(cls, value: dict[str, Any]) -> dict[str, Any]:
        wrong = []
        for name in value:
            if name in cls.model_fields:
                wrong.append(f"{name} is a key of the model itself")
            elif name not in PARAMS:
                meant = nearest(name, PARAMS)
                wrong.append(f"{name} is not one of them" + (f" (did you mean {meant}?)" if meant else ""))
        if wrong:
            raise ValueError(f"{'; '.join(wrong)}; allowed: {', '.join(sorted(PARAMS))}")
        body = value.get("extra_body", {})
        if not isinstance(body, dict):
            raise ValueError("extra_body is a mapping")
        if touched := sorted(BOUND & body.keys()):
            raise ValueError(f"extra_body must leave {', '.join(touched)} alone")
        return value

    @model_validator(mode="after")
    def _named(self) -> "LitellmModel":
        problem = id_problem(self.id, "", self.api_base)
        if problem is not None:
            raise ValueError(str(problem))
        return self

    @property
    def kind(self) -> SeatKind:
        """Always `llm`."""
        return "llm"

    @property
    def limits(self) -> Limits:
        """What may be in flight at a time."""
        return Limits(self.concurrency, self.requests_per_minute, self.tokens_per_minute)

    @property
    def _route(self) -> str:
        return route(self.id, self.api_base)

    def call_params(self) -> dict[str, Any]:
        """The request's parameters that were set, besides max_tokens."""
        own = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed}
        return {name: value for name, value in own.items() if value is not None} | self.params

    def request(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, slot: Slot
    ) -> CallRequest:
        """One question to this model; the schema is left out where `structured` is false."""
        return CallRequest(
            model=self.id,
            route=self._route,
            messages=tuple(messages),
            max_tokens=self.max_tokens,
            slot=slot,
            params=self.call_params(),
            schema=schema if self.structured else None,
            api_base=self.api_base,
            key_env=self.api_key_env,
            timeout_s=self.timeout_s,
        )

    async def ask(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        parse: Parse[T],
        slot: Slot,
        desk: "Desk",
    ) -> Asked[T]:
        """Asks until `parse` takes the reply, with at most `reasks` re-asks.

        Never raises for what a model or provider does; see `Asked`.
        """

        def make(conversation: Sequence[Message], number: int) -> CallRequest:
            place = Slot(slot.purpose, slot.item, slot.run, slot.cycle, slot.chunk, number)
            return self.request(conversation, schema, place)

        load()  # takes seconds, once; not at the expense of the first call's time limit
        return await ask(
            make, messages, parse, reasks=self.reasks, desk=desk, client=shared(), limits=self.limits
        )

    async def score(
        self, items: Sequence[Item], *, place: int, cycle: int, chunk: int, prompt: str, bench: Bench
    ) -> Judgement:
        """Scores the items on `bench.rubric` with the prompt template of that name.

        Raises:
            InputError: the template is missing or wrong.
        """
        rubric = bench.rubric
        asked = await self.ask(
            panel_messages(bench.prompts, prompt, rubric, items),
            scores_schema(rubric),
            partial(read_scores, rubric=rubric),
            Slot("judge", cycle=cycle, chunk=chunk),
            bench.desk,
        )
        detail: dict[str, Any] = {"asks": asked.asks}
        if asked.dropped:
            detail["dropped"] = list(asked.dropped)
        if asked.value is not None:
            detail["parse"] = asked.value.how
        return Judgement(
            item_ids=tuple(item.id for item in items),
            seat=self.id,
            place=place,
            cycle=cycle,
            chunk=chunk,
            status=_STATUS[asked.status],
            values=asked.value.values if asked.value is not None else {},
            evidence=asked.value.improvements if asked.value is not None else (),
            detail=detail,
            error=asked.error,
            answered_by=asked.answered_by,
            spend=asked.spend,
        )

    def planned(self, items: Sequence[Item], *, prompt: str, bench: Bench) -> list[tuple[int, int, int]]:
        """What scoring the items may take at worst; see `worst_case`.

        Raises:
            InputError: the template is missing or wrong.
        """
        messages = panel_messages(bench.prompts, prompt, bench.rubric, items)
        return self.worst_case(messages, scores_schema(bench.rubric))

    def worst_case(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> list[tuple[int, int, int]]:
        """A bound for each possible ask: (UTF-8 bytes of prompt, messages, most tokens of reply).

        The first is the question itself. Each re-ask adds at most the echo of one reply and what was wrong.
        """
        first = self.request(messages, schema, Slot("bound")).prompt_bytes()
        again = (first + correction_bytes(), len(messages) + 2, self.max_tokens)
        return [(first, len(messages), self.max_tokens), *[again] * self.reasks]

    def described(self) -> dict[str, Any]:
        """The seat as configured, JSON-ready; what was left to its default None is left out."""
        return self.model_dump(mode="json", exclude_none=True)

    def asked(self) -> dict[str, Any]:
        """The call parameters that change what is asked: no endpoint, no key, no limits."""
        return {
            **self.call_params(),
            "max_tokens": self.max_tokens,
            "structured": self.structured,
            "reasks": self.reasks,
            "reask": REASK if self.reasks else None,
        }

    def check_ready(self, environ: Mapping[str, str]) -> list[Problem]:
        """Whether the key is there: names the variable that is missing."""
        problem = key_problem(self.id, self._route, self.api_base, self.api_key_env, environ)
        return [] if problem is None else [problem]
