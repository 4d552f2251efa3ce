"""What a tool is asked, what it answers, and the other tools.

`get` and the `return_` functions are those of document 5; so are the names of the rest.
"""


class ToolError(Exception):
    """Another tool was not run, or it failed; the text says why."""


def get(name, default=None):
    """The argument of this name, or `default` when the call has none."""
    return _arguments.get(name, default)


def return_string(text):
    """Makes this text the tool's result; the last one counts. The script goes on."""
    text = text if isinstance(text, str) else str(text)
    _result.append(text)
    return text


def return_object(value):
    """Makes this value the tool's result, as JSON."""
    return return_string(_json().dumps(value, ensure_ascii=False))


def list_tools():
    """The tools there are: a list of dictionaries with `name` and `description`."""
    ok, error = _ask({"list": True})
    if error is not None:
        raise ToolError(error)
    return _json().loads(ok)


def call_tool(name, args=None):
    """Calls another tool by the rules that a model's calls meet. JSON comes back as what
    it stands for, anything else as text."""
    ok, error = _ask({"call": {"name": name, "arguments": args or {}}})
    if error is not None:
        raise ToolError(error)
    if ok[:1] in ("{", "["):
        try:
            return _json().loads(ok)
        except ValueError:
            pass
    return ok


def execute_tool(name, args=None):
    """Calls a tool that was found by `tool_search`."""
    return call_tool(name, args)


def tool_search(query):
    """The tools that fit a few words, the best first: dictionaries with `name`,
    `description` and `score`."""
    ok, error = _ask({"search": query})
    if error is not None:
        raise ToolError(error)
    return _json().loads(ok)
