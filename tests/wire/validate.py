"""Compares requests with the types of the providers' official Python SDKs.

Usage: validate.py FOLDER, which contains a folder with JSON requests for each API. `make test-wire`
lets the encoders write them. The types are applied strictly: an unknown key or a number in quotes is
an error. Nothing is sent.
"""

import json
import sys
import typing
from pathlib import Path

# The SDKs declare lists as iterables, which pydantic validates only when they are read. As lists, they
# are validated at once.
typing.Iterable = typing.List

import pydantic  # noqa: E402
import pydantic_core  # noqa: E402
import typing_extensions  # noqa: E402


def chat_completions():
    from openai.types.chat import completion_create_params

    return completion_create_params.CompletionCreateParamsStreaming


def responses():
    from openai.types.responses import response_create_params

    return response_create_params.ResponseCreateParamsStreaming


def messages():
    """The types with the fields that need a beta header. A strict provider of tests/harness checks
    the headers."""
    from anthropic import _models
    from anthropic.types.beta import message_create_params

    # Requests may also contain the SDK's objects of responses, which take unknown keys. A JSON object
    # is none of these.
    _models.BaseModel.__get_pydantic_core_schema__ = classmethod(
        lambda cls, source, handler: pydantic_core.core_schema.is_instance_schema(cls)
    )
    return message_create_params.MessageCreateParamsStreaming


def gemini():
    """The SDK only has types for the fields of a request, not for a whole request."""
    from google.genai import types

    class GenerateContentRequest(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="forbid")
        contents: typing.List[types.Content]
        systemInstruction: types.Content = None
        tools: typing.List[types.Tool] = None
        toolConfig: types.ToolConfig = None
        generationConfig: types.GenerationConfig = None

    return GenerateContentRequest


APIS = {
    "chat_completions": chat_completions,
    "gemini": gemini,
    "messages": messages,
    "responses": responses,
}


def forbid_unknown_keys():
    """Makes every dictionary type of the SDKs refuse unknown keys."""
    for module in list(sys.modules.values()):
        if not getattr(module, "__name__", "").startswith(("openai.types", "anthropic.types")):
            continue
        for value in vars(module).values():
            if typing_extensions.is_typeddict(value):
                # The types also accept open files, which pydantic does not know.
                value.__pydantic_config__ = pydantic.ConfigDict(
                    extra="allow" if is_open(value) else "forbid", arbitrary_types_allowed=True
                )


def is_open(typed_dict):
    """Returns true if the SDK itself allows other keys, as in a schema."""
    config = getattr(typed_dict, "__pydantic_config__", None) or {}
    nothing = typing_extensions.NoExtraItems
    has_items = getattr(typed_dict, "__extra_items__", nothing) is not nothing
    return config.get("extra") == "allow" or has_items


def as_published(api, request):
    """Removes two known differences between the types and the published APIs: in Responses, `strict`
    of a function is optional. The types of Messages lack `temperature`, which the API version
    2026-10-21 removed and models up to 4.6 support before it."""
    if api == "responses":
        for tool in request.get("tools", []):
            tool.setdefault("strict", None)
    if api == "messages" and isinstance(request.get("temperature"), float):
        del request["temperature"]
    return request


def validate(api, request, adapter):
    """Validates a request. Gemini's types also accept Python's spelling of names, which the API does
    not, so the parsed request must produce the same JSON again."""
    if api != "gemini":
        adapter.validate_python(request, strict=True)
        return
    model = adapter.validate_json(json.dumps(request), strict=True)
    again = adapter.dump_python(model, mode="json", by_alias=True, exclude_unset=True)
    for name, value in request.items():
        if plain(value) != plain(again[name]):
            raise ValueError(f"{name} is read as {again[name]}")


def plain(value):
    """Returns the same text for both alphabets of base64."""
    return json.dumps(value, sort_keys=True).replace("/", "_").replace("+", "-")


def check(api, path, adapter):
    request = as_published(api, json.loads(path.read_bytes()))
    try:
        validate(api, request, adapter)
    except ValueError as error:
        if not isinstance(error, pydantic.ValidationError):
            print(f"{path}: {error}", file=sys.stderr)
            return False
        # Each branch of a union reports errors. Those with the shortest paths are the most useful.
        found = sorted(error.errors(), key=lambda it: len(it["loc"]))
        lines = [f"    {place(it['loc'])}: {it['msg']}" for it in found[:12]]
        print(f"{path}:\n" + "\n".join(lines), file=sys.stderr)
        return False
    return True


def place(parts):
    """Formats the path of an error, without the names of unions."""
    return ".".join(str(part) for part in parts if not str(part).startswith("list["))


def main():
    folder = Path(sys.argv[1])
    passed = failed = 0
    for api, load in APIS.items():
        params = load()
        forbid_unknown_keys()
        adapter = pydantic.TypeAdapter(params)
        paths = sorted((folder / api).glob("*.json"))
        if not paths:
            print(f"{folder / api} holds no requests", file=sys.stderr)
            failed += 1
        for path in paths:
            if check(api, path, adapter):
                passed += 1
            else:
                failed += 1
    print(f"wire: {passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
