"""What a call costs: a table of prices by model id, in exact decimals.

A model is in one of three states: its price is known, it is declared free, or nothing is known of it. What is
unknown is never taken for 0.
"""

from decimal import Decimal
from functools import cached_property, lru_cache

from pydantic import Field, field_validator, model_validator

from evalrunner.component import Component, ExactDecimal
from evalrunner.records import Usage

PER_MILLION = Decimal("0.000001")
ZERO = Decimal(0)

_ALIASES = {"google": "gemini"}


@lru_cache(maxsize=1024)
def canonical(model: str) -> str:
    """One spelling for all ids of a model: `openai:gpt-4o` is `openai/gpt-4o`, `google:x` is `gemini/x`.

    What stands before the first `:` or `/` is the provider; an id without one counts as OpenAI's.
    """
    places = [place for place in (model.find(":"), model.find("/")) if place >= 0]
    place = min(places, default=0)
    provider = model[:place].lower() if places else "openai"
    name = model[place + 1 :] if places else model
    return f"{_ALIASES.get(provider or 'openai', provider or 'openai')}/{name}"


def _above_zero(value: Decimal | None) -> Decimal | None:
    if value is not None and value <= 0:
        raise ValueError("a price must be above 0; a model that costs nothing is declared as `free: true`")
    return value


class Above(Component):
    """The rates of requests with many input tokens, in US dollars per million tokens.

    Attributes:
        tokens: they hold for the whole request when it has more input tokens than this.
        cached_input_usd_per_mtok: None takes the input rate.
    """

    tokens: int = Field(gt=0)
    input_usd_per_mtok: ExactDecimal
    output_usd_per_mtok: ExactDecimal
    cached_input_usd_per_mtok: ExactDecimal | None = None

    _positive = field_validator(
        "input_usd_per_mtok", "output_usd_per_mtok", "cached_input_usd_per_mtok", mode="after"
    )(_above_zero)


class Price(Component):
    """One model's rates in US dollars per million tokens, or that it is free.

    Attributes:
        free: declared to cost nothing; then no rate may stand beside it.
        input_usd_per_mtok, output_usd_per_mtok: both are needed unless free.
        cached_input_usd_per_mtok: for input that the provider read from its cache; None takes the input rate.
        reasoning_output_usd_per_mtok: for output spent on reasoning; None takes the output rate.
        above: dearer rates of long requests.
    """

    free: bool = False
    input_usd_per_mtok: ExactDecimal | None = None
    output_usd_per_mtok: ExactDecimal | None = None
    cached_input_usd_per_mtok: ExactDecimal | None = None
    reasoning_output_usd_per_mtok: ExactDecimal | None = None
    above: Above | None = None

    _positive = field_validator(
        "input_usd_per_mtok",
        "output_usd_per_mtok",
        "cached_input_usd_per_mtok",
        "reasoning_output_usd_per_mtok",
        mode="after",
    )(_above_zero)

    @model_validator(mode="after")
    def _whole(self) -> "Price":
        written = [name for name in Price.model_fields if name != "free" and getattr(self, name) is not None]
        if self.free and written:
            raise ValueError(f"a free model has no rates: leave out {', '.join(written)}, or `free: true`")
        needed = ("input_usd_per_mtok", "output_usd_per_mtok")
        missing = [name for name in needed if name not in written]
        if not self.free and missing:
            raise ValueError(f"{' and '.join(missing)} must be given, or `free: true`")
        return self

    @cached_property
    def _base(self) -> "_Rates":
        base = self.input_usd_per_mtok or ZERO
        output = self.output_usd_per_mtok or ZERO
        return _Rates(
            base,
            base if self.cached_input_usd_per_mtok is None else self.cached_input_usd_per_mtok,
            output,
            output if self.reasoning_output_usd_per_mtok is None else self.reasoning_output_usd_per_mtok,
        )

    @cached_property
    def _long(self) -> "_Rates":
        above = self.above
        if above is None:
            return self._base
        cached = above.cached_input_usd_per_mtok
        return _Rates(
            above.input_usd_per_mtok,
            above.input_usd_per_mtok if cached is None else cached,
            above.output_usd_per_mtok,
            max(above.output_usd_per_mtok, self._base.reasoning),
        )

    def cost(self, usage: Usage) -> Decimal:
        """The price of the tokens that a provider reported, in US dollars.

        Cached tokens are part of the input and reasoning tokens of the output, as providers report them; a
        count of reasoning larger than the output that it should be part of is priced beside it.
        """
        long = self.above is not None and usage.input_tokens > self.above.tokens
        rates = self._long if long else self._base
        cached, reasoning = usage.cached_tokens, usage.reasoning_tokens
        fresh = max(0, usage.input_tokens - cached)
        written = usage.output_tokens - reasoning if reasoning <= usage.output_tokens else usage.output_tokens
        micros = (
            fresh * rates.input + cached * rates.cached + written * rates.output + reasoning * rates.reasoning
        )
        return micros * PER_MILLION

    def bound(self, input_tokens: int, output_tokens: int) -> Decimal:
        """The most that a request of at most so many tokens can cost: every token at its dearest rate."""
        dear_input, dear_output = self._base.dearest()
        if self.above is not None and input_tokens > self.above.tokens:
            long_input, long_output = self._long.dearest()
            dear_input, dear_output = max(dear_input, long_input), max(dear_output, long_output)
        return (input_tokens * dear_input + output_tokens * dear_output) * PER_MILLION


class _Rates:
    """Four rates per million tokens."""

    __slots__ = ("cached", "input", "output", "reasoning")

    def __init__(self, fresh: Decimal, cached: Decimal, output: Decimal, reasoning: Decimal) -> None:
        self.input = fresh
        self.cached = cached
        self.output = output
        self.reasoning = reasoning

    def dearest(self) -> tuple[Decimal, Decimal]:
        """The dearer rate of input, and of output."""
        return max(self.input, self.cached), max(self.output, self.reasoning)


class Pricing(Component):
    """The price table.

    Attributes:
        source: where the prices come from, in words.
        version: the source's version.
        models: model id, in any of its spellings -> price. No entry stands for another model than its own:
            neither a date at the end of an id nor a likeness of names is looked through.
    """

    source: str = Field(min_length=1)
    version: str = Field(min_length=1)
    models: dict[str, Price] = Field(default_factory=dict)

    @field_validator("models", mode="after")
    @classmethod
    def _once(cls, models: dict[str, Price]) -> dict[str, Price]:
        spelled: dict[str, list[str]] = {}
        for model in models:
            if not model.strip() or model != model.strip():
                raise ValueError(f"{model!r} is no model id")
            spelled.setdefault(canonical(model), []).append(model)
        twice = [" and ".join(each) for each in spelled.values() if len(each) > 1]
        if twice:
            raise ValueError(f"the same model is priced twice: {'; '.join(twice)}")
        return models

    @cached_property
    def _by_id(self) -> dict[str, Price]:
        return {canonical(model): price for model, price in self.models.items()}

    def price(self, model: str) -> Price | None:
        """The price of a model, however its id is spelled; None when it is unknown."""
        return self._by_id.get(canonical(model))
