"""Compares requests with the types of the providers' official Python SDKs.

Usage: validate.py FOLDER, which holds a folder for each API with requests as JSON,
as `make test-wire` has them written by the encoders. The SDKs' types are read
strictly: a key that they do not know is an error, and so is a number in quotes.
Nothing is sent.
"""

import json
import sys
import typing
from pathlib import Path

# The SDKs call lists iterables, which pydantic would only look into when they are
# read. As lists they are looked into at once.
typing.Iterable = typing.List

import pydantic  # noqa: E402
import typing_extensions  # noqa: E402


def chat_completions():
    from openai.types.chat import completion_create_params

    return completion_create_params.CompletionCreateParamsStreaming


def responses():
    from openai.types.responses import response_create_params

    return response_create_params.ResponseCreateParamsStreaming


def messages():
    from anthropic.types import message_create_params

    return message_create_params.MessageCreateParamsStreaming


def gemini():
    """The SDK has no type for the whole of a request, only for each field of it."""
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
    """Makes every dictionary of the SDKs refuse keys that it does not name."""
    for module in list(sys.modules.values()):
        if not getattr(module, "__name__", "").startswith(("openai.types", "anthropic.types")):
            continue
        for value in vars(module).values():
            if typing_extensions.is_typeddict(value):
                # The types also take open files, which are not of pydantic's.
                value.__pydantic_config__ = pydantic.ConfigDict(
                    extra="allow" if is_open(value) else "forbid", arbitrary_types_allowed=True
                )


def is_open(typed_dict):
    """Whether the SDK itself says that further keys are welcome, as in a schema."""
    config = getattr(typed_dict, "__pydantic_config__", None) or {}
    return config.get("extra") == "allow"


def as_published(api, request):
    """Two known differences between the types and the published APIs: a function's
    `strict` may be left out of Responses, and `temperature` has gone from the types
    of Messages, although the models up to 4.6 take it."""
    if api == "responses":
        for tool in request.get("tools", []):
            tool.setdefault("strict", None)
    if api == "messages" and isinstance(request.get("temperature"), float):
        del request["temperature"]
    return request


def validate(api, request, adapter):
    """Gemini's types know binary fields, which are text in JSON, and names as Python
    writes them, which the API does not: what was read must say the same again."""
    if api != "gemini":
        adapter.validate_python(request, strict=True)
        return
    model = adapter.validate_json(json.dumps(request), strict=True)
    again = adapter.dump_python(model, mode="json", by_alias=True, exclude_unset=True)
    for name, value in request.items():
        if plain(value) != plain(again[name]):
            raise ValueError(f"{name} is read as {again[name]}")


def plain(value):
    """The same text for both alphabets of base64."""
    return json.dumps(value, sort_keys=True).replace("/", "_").replace("+", "-")


def check(api, path, adapter):
    request = as_published(api, json.loads(path.read_bytes()))
    try:
        validate(api, request, adapter)
    except ValueError as error:
        if not isinstance(error, pydantic.ValidationError):
            print(f"{path}: {error}", file=sys.stderr)
            return False
        # Of a union every branch complains; the shortest paths say the most.
        found = sorted(error.errors(), key=lambda it: len(it["loc"]))
        lines = [f"    {place(it['loc'])}: {it['msg']}" for it in found[:12]]
        print(f"{path}:\n" + "\n".join(lines), file=sys.stderr)
        return False
    return True


def place(parts):
    """Where an error is, without the names of whole unions."""
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
