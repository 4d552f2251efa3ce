"""Completions of models, with the user's provider and key, which the script never sees."""


class CompletionError(Exception):
    """The completion failed for the reason in the text."""


def completion(model, messages, tools=True):
    """Returns the text of a model's answer. `messages` are dictionaries with `role` and `content`.
    `model` defaults to the user's model. With `tools`, the model may search for tools and run those
    that the user's rules approve, for at most ten rounds."""
    ok, error = _ask({"completion": {"model": model, "messages": messages, "tools": bool(tools)}})
    if error is not None:
        raise CompletionError(error)
    return ok
