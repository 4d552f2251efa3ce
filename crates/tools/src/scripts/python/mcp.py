"""The arguments and the result of a script tool, and calls of other tools.

All names are those of the specification of script tools.
"""


class ToolError(Exception):
    """A call of another tool failed or was refused for the reason in the text."""


def get(name, default=None):
    """Returns the argument with this name, or `default` if the call has none."""
    return _arguments.get(name, default)


def return_string(text):
    """Sets the result of the tool. The last call counts, and the script continues."""
    text = text if isinstance(text, str) else str(text)
    _result.append(text)
    return text


def return_object(value):
    """Sets the result of the tool to this value as JSON."""
    return return_string(_json().dumps(value, ensure_ascii=False))


def list_tools():
    """Returns all tools as a list of dictionaries with `name` and `description`."""
    ok, error = _ask({"list": True})
    if error is not None:
        raise ToolError(error)
    return _json().loads(ok)


def call_tool(name, args=None):
    """Calls another tool, under the same rules as a call by the model. Returns the parsed result if
    it is JSON, and otherwise text."""
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
    """Returns the tools that match a query, best first: dictionaries with `name`, `description`,
    and `score`."""
    ok, error = _ask({"search": query})
    if error is not None:
        raise ToolError(error)
    return _json().loads(ok)
