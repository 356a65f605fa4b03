"""Sends one request through litellm, once: no retries, no prices, no limits; the desk does those."""

import asyncio
import json
import logging
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from evalrunner.calls.request import CallFailed, CallReply, CallRequest
from evalrunner.garbage import LeftAlone
from evalrunner.model.ids import split
from evalrunner.model.keys import PLACEHOLDER, find_key, key_problem
from evalrunner.model.wire_errors import redacted
from evalrunner.receipt.jsontext import clean
from evalrunner.records import Usage

if TYPE_CHECKING:
    from aiohttp import ClientSession

_QUIET = r"Items? .* on TypedDict class .* using the `ReadOnly` qualifier"
"""What pydantic says of litellm's own types whenever litellm loads one more of its modules."""

_STOPS = frozenset(
    {"stop", "STOP", "end_turn", "stop_sequence", "STOP_SEQUENCE", "COMPLETE", "eos", "eos_token"}
)
"""Providers' own words for a clean stop. litellm also turns unknown words and errors into `stop`."""


@cache
def load() -> Any:
    """The litellm module: offline, quiet, imported once for the process.

    It takes seconds, so it happens at the first call and never for commands that call nothing.
    """
    os.environ["LITELLM_OFFLINE_MODE"] = "true"
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # or it reads the keys of a ./.env behind our back
    with LeftAlone(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import litellm
    litellm.suppress_debug_info = True  # it prints to stdout otherwise
    litellm.telemetry = False
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    return litellm


@dataclass(frozen=True)
class _Abilities:
    """What a model takes.

    Attributes:
        schema: it can be held to a JSON schema.
        params: of the parameters asked for, those that it takes, with their values.
        dropped: the names of the others.
    """

    schema: bool
    params: Mapping[str, Any]
    dropped: tuple[str, ...]


class LitellmClient:
    """Speaks to every provider that litellm knows. Usable again after `close`."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._session: ClientSession | None = None
        self._known: dict[tuple[str, str], _Abilities] = {}

    async def send(self, request: CallRequest) -> CallReply:
        """The provider's reply.

        The whole attempt is bounded by `request.timeout_s`, also when bytes keep trickling in; the reply by
        MAX_REPLY_BYTES where litellm takes our session, which it does for the OpenAI format. Parameters that
        the model does not take are not sent, and are named in `dropped`.

        Raises:
            CallFailed: for everything that can go wrong; the message holds no key.
        """
        problem = key_problem(request.model, request.route, request.api_base, request.key_env, self._environ)
        if problem is not None:
            raise CallFailed("auth", problem.what)
        key = find_key(request.route, request.api_base, request.key_env, self._environ)
        litellm = load()
        from evalrunner.model.http_session import bound_replies, open_session
        from evalrunner.model.litellm_errors import failure

        if self._session is None:
            self._session = open_session(bound_replies)
        warnings.filterwarnings("ignore", _QUIET, UserWarning)
        secret = None if key == PLACEHOLDER else key
        try:
            able = self._abilities(request)
            async with asyncio.timeout(request.timeout_s):
                response = await litellm.acompletion(
                    **_arguments(request, able, key), shared_session=self._session
                )
            return redacted(_reply(response, able.dropped), secret)
        except Exception as error:
            raise failure(error, secret, request.timeout_s) from None

    async def close(self) -> None:
        """Closes litellm's pooled connections; a later `send` opens new ones."""
        session, self._session = self._session, None
        if session is None:
            return
        from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

        await close_litellm_async_clients()
        load().in_memory_llm_clients_cache.flush_cache()
        await session.close()
        await asyncio.sleep(0)

    def _abilities(self, request: CallRequest) -> _Abilities:
        key = (request.route, json.dumps(dict(request.params), sort_keys=True))
        if key not in self._known:
            self._known[key] = _abilities(load(), request)
        return self._known[key]


@cache
def shared() -> LitellmClient:
    """The process's client: all models share its connections."""
    return LitellmClient()


def _abilities(litellm: Any, request: CallRequest) -> _Abilities:
    """Asks litellm, without a call, what the model takes; makes litellm know the model if it does not."""
    from litellm.utils import get_optional_params, supports_native_structured_output

    provider, name = split(request.route)
    known = request.route in litellm.model_cost or name in litellm.model_cost
    takes = litellm.get_supported_openai_params(model=name, custom_llm_provider=provider) or []
    schema = litellm.supports_response_schema(request.route) if known else "response_format" in takes
    if "claude" in name and not supports_native_structured_output(name, provider):
        schema = False  # litellm would force a tool call, and then report a reply that was cut off as whole
    kept: dict[str, Any] = {}
    for param, value in request.params.items():
        try:
            get_optional_params(
                model=name, custom_llm_provider=provider, max_tokens=request.max_tokens, **{param: value}
            )
        except litellm.UnsupportedParamsError:
            continue
        kept[param] = value
    if not known:  # saves a tenth of each call's CPU; prices are the desk's and never come from here
        litellm.register_model({request.route: {"litellm_provider": provider, "mode": "chat"}})
    return _Abilities(bool(schema), kept, tuple(param for param in request.params if param not in kept))


def _arguments(request: CallRequest, able: _Abilities, key: str | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": request.route,
        "messages": [{"role": each.role, "content": each.content} for each in request.messages],
        "max_tokens": request.max_tokens,
        "timeout": request.timeout_s,
        "max_retries": 0,
        "num_retries": 0,
        **able.params,
    }
    if request.api_base is not None:
        arguments["api_base"] = request.api_base
    if key is not None:
        arguments["api_key"] = key
    if request.schema is not None and able.schema:
        arguments["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": dict(request.schema), "strict": True},
        }
    return arguments


def _reply(response: Any, dropped: tuple[str, ...]) -> CallReply:
    choice = response.choices[0]
    text, reason = choice.message.content or "", _finish(choice)
    if not text and (refusal := getattr(choice.message, "refusal", None)):
        text, reason = refusal, "refusal"
    return CallReply(
        text=clean(text),
        finish_reason=reason,
        usage=_usage(getattr(response, "usage", None)),
        answered_by=response.model or None,
        raw=_raw(response),
        dropped=dropped,
    )


def _raw(response: Any) -> str:
    """The reply as litellm read it, as one line of JSON. Lone surrogates, which the quick way refuses, go."""
    try:
        quickly: str = response.model_dump_json(warnings=False)
    except ValueError:
        return clean(json.dumps(response.model_dump(mode="json", warnings=False), ensure_ascii=False))
    return quickly


def _finish(choice: Any) -> str | None:
    """Why the model stopped: the provider's own word where litellm kept it, since litellm's `stop` also
    stands for errors and for words that it does not know.
    """
    native = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    if choice.finish_reason != "stop" or native is None or native in _STOPS:
        reason: str | None = choice.finish_reason
        return reason
    return str(native)


def _usage(reported: Any) -> Usage:
    """The tokens reported. None reported, which litellm shows as zeros, is `estimated` with counts of 0."""
    if reported is None or not reported.prompt_tokens:
        return Usage(calls=1, estimated=True)
    prompt = getattr(reported, "prompt_tokens_details", None)
    completion = getattr(reported, "completion_tokens_details", None)
    return Usage(
        calls=1,
        input_tokens=reported.prompt_tokens,
        output_tokens=reported.completion_tokens or 0,
        cached_tokens=getattr(prompt, "cached_tokens", None) or 0,
        reasoning_tokens=getattr(completion, "reasoning_tokens", None) or 0,
    )
