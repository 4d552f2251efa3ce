"""Models, by way of the user's own provider and key, which the script never sees."""


class CompletionError(Exception):
    """No answer came; the text says why."""


def completion(model, messages, tools=True):
    """The words of a model's answer. `messages` are dictionaries with `role` and
    `content`. Without a `model` it is the one that the user set. With `tools`, the model
    may look for tools and run those that the user's rules approve, for ten rounds."""
    ok, error = _ask({"completion": {"model": model, "messages": messages, "tools": bool(tools)}})
    if error is not None:
        raise CompletionError(error)
    return ok
