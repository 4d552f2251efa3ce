"""Used by the tool `shout`; any tool beside it can import it."""


def to_uppercase(text):
    return text.upper()
