"""An LLM behind any provider that litellm speaks to: a seat of a panel, and whoever else must be asked."""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from sys import intern
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import Field, field_validator, model_validator

from evalrunner.calls.request import CallRequest, Limits, Message, Slot
from evalrunner.component import Component
from evalrunner.errors import Problem
from evalrunner.model.asking import REASK, Asked, Parse, ask, correction_bytes
from evalrunner.model.clients import ClientName, ready
from evalrunner.model.comparison import Comparison, comparison_messages, read_said, said_schema
from evalrunner.model.ids import direct_route, id_problem, names_provider, route
from evalrunner.model.keys import key_problem, variables
from evalrunner.model.panel_prompt import panel_messages
from evalrunner.model.params import check_endpoint, check_params
from evalrunner.model.scores import read_scores, scores_schema
from evalrunner.model.seat import Bench, SeatKind
from evalrunner.records import Item, Judgement, JudgementStatus

if TYPE_CHECKING:
    from evalrunner.calls.desk import Desk

T = TypeVar("T")

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
        client: what speaks to the provider: `litellm` knows all of them; `openai_compatible` is much lighter,
            needs `api_base`, and sends the id as it stands (without `openai:`). None takes the latter where
            `api_base` is set and the id names no provider.
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
    client: ClientName | None = None
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
        if value is not None:
            check_endpoint(value)
        return value

    @field_validator("params")
    @classmethod
    def _known_params(cls, value: dict[str, Any]) -> dict[str, Any]:
        check_params(value, cls.model_fields)
        return value

    @model_validator(mode="after")
    def _named(self) -> "LitellmModel":
        problem = id_problem(self.id, "", self.api_base)
        if problem is not None:
            raise ValueError(str(problem))
        if self.client == "openai_compatible" and self.api_base is None:
            raise ValueError("client openai_compatible needs the address of its endpoint in api_base")
        return self

    @property
    def kind(self) -> SeatKind:
        """Always `llm`."""
        return "llm"

    @property
    def at_once(self) -> int:
        """Twice as many as may be in flight: the next is ready when one is through, or waits to retry."""
        return 2 * self.concurrency

    @property
    def limits(self) -> Limits:
        """What may be in flight at a time."""
        return Limits(self.concurrency, self.requests_per_minute, self.tokens_per_minute)

    @property
    def speaks(self) -> ClientName:
        """What speaks to the provider: `client` where it is set, else what fits the id and the endpoint."""
        if self.client is not None:
            return self.client
        own = self.api_base is not None and not names_provider(self.id)
        return "openai_compatible" if own else "litellm"

    @property
    def _route(self) -> str:
        direct = self.speaks == "openai_compatible"
        return direct_route(self.id) if direct else route(self.id, self.api_base)

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

        client = await ready(self.speaks)
        return await ask(
            make, messages, parse, reasks=self.reasks, desk=desk, client=client, limits=self.limits
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
        said = asked.value
        return Judgement(
            item_ids=tuple(item.id for item in items),
            place=place,
            cycle=cycle,
            chunk=chunk,
            values={} if said is None else said.values,
            evidence=() if said is None else said.improvements,
            detail=_detail(asked.asks, asked.dropped, None if said is None else said.how),
            error=asked.error,
            **self._answer(asked),
        )

    async def compare(
        self, comparison: Comparison, *, place: int, cycle: int, prompt: str, bench: Bench
    ) -> Judgement:
        """Says with the prompt template of that name whether a change is correct; see `VerdictSeat`.

        Raises:
            InputError: the template is missing or wrong.
        """
        asked = await self.ask(
            comparison_messages(bench.prompts, prompt, comparison),
            said_schema(comparison.classes),
            partial(read_said, classes=comparison.classes),
            Slot("diff_verdict", item=comparison.item, run=comparison.run, cycle=cycle),
            bench.desk,
        )
        said = asked.value
        detail = {"run": comparison.run, **_detail(asked.asks, asked.dropped)}
        if said is not None:
            detail |= {"parse": said.how, "class": said.kind, "reason": said.reason}
        return Judgement(
            item_ids=(comparison.item,),
            place=place,
            cycle=cycle,
            label=None if said is None else said.verdict,
            detail=detail,
            error=None if asked.error is None else f"{comparison.item}, run {comparison.run}: {asked.error}",
            **self._answer(asked),
        )

    def _answer(self, asked: Asked[Any]) -> dict[str, Any]:
        """The fields of a judgement that say who answered, and whether."""
        return {
            "seat": self.id,
            "status": _STATUS[asked.status],
            "answered_by": None if asked.answered_by is None else intern(asked.answered_by),
        }

    def planned(self, items: Sequence[Item], *, prompt: str, bench: Bench) -> list[tuple[int, int, int]]:
        """What scoring the items may take at worst; see `worst_case`.

        Raises:
            InputError: the template is missing or wrong.
        """
        messages = panel_messages(bench.prompts, prompt, bench.rubric, items)
        return self.worst_case(messages, scores_schema(bench.rubric))

    def planned_comparison(
        self, comparison: Comparison, *, prompt: str, bench: Bench
    ) -> list[tuple[int, int, int]]:
        """What comparing may take at worst; see `worst_case`.

        Raises:
            InputError: the template is missing or wrong.
        """
        messages = comparison_messages(bench.prompts, prompt, comparison)
        return self.worst_case(messages, said_schema(comparison.classes))

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
        return self.model_dump(mode="json", exclude_none=True) | {"client": self.speaks}

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

    def key_variables(self) -> tuple[str, ...]:
        """The environment variables that may hold the key; none where no key is needed or none is known."""
        return variables(self._route, self.api_base, self.api_key_env)


@cache
def _detail(asks: int, dropped: tuple[str, ...], parse: str | None = None) -> Mapping[str, Any]:
    """What is kept of how an answer was got; of thousands of judgements that got it alike, once."""
    told: dict[str, Any] = {"asks": asks}
    if dropped:
        told["dropped"] = list(dropped)
    return told if parse is None else told | {"parse": parse}
