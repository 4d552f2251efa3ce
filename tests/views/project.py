"""The project in which the views are opened, and the chats and answers in it."""

from provider import call, text, thinking

LEXER = '''"""Splits a formula into tokens."""

import re
from dataclasses import dataclass

PATTERN = re.compile(r"\\s*(\\d+|[-+*/()])")


@dataclass
class Token:
    kind: str
    text: str


def tokens(source):
    """Yields the tokens of a formula."""
    position = 0
    while position < len(source):
        match = PATTERN.match(source, position)
        if not match:
            raise SyntaxError("bad character")
        yield Token("number" if match[1].isdigit() else "operator", match[1])
        position = match.end()
'''
TESTS = '''from lexer import tokens


def test_numbers():
    assert [it.text for it in tokens("1 + 23")] == ["1", "+", "23"]
'''
FILES = {
    "src/lexer.py": LEXER,
    "src/test_lexer.py": TESTS,
    "README.md": "# Formulas\n\nA small calculator.\n",
    "notes/todo.txt": "decimals\nparentheses\n",
}
EDITS = [
    {"oldText": '(r"\\s*(\\d+|[-+*/()])")', "newText": '(r"\\s*(\\d+(?:\\.\\d+)?|[-+*/()])")'},
    {
        "oldText": '            raise SyntaxError("bad character")\n',
        "newText": '            raise SyntaxError(f"unexpected {source[position]!r} at column {position + 1}")\n',
    },
]
QUESTION = "@You:\nThe lexer rejects `1.5`. Please fix that, and give a better error message.\n"

#: A run that ends without questions, if reads, edits, and `python3` are approved.
RUN = [
    [
        thinking("The pattern has no decimals. I look at the lexer first."),
        text("I read the lexer and its tests first."),
        call("read", "Reading the lexer", path="src/lexer.py", offset=None, limit=None),
        call("grep", "Looking for uses", pattern="tokens\\(", path="src", glob=None),
    ],
    [
        text("The pattern only knows whole numbers."),
        call("edit", "Accepting decimals", path="src/lexer.py", edits=EDITS),
        call("bash", "Running the tests", command="python3 -c 'print(\"2 passed in 0.01s\")'", timeout=None),
    ],
    [
        call("bash", "Checking the types", command="echo 'src/lexer.py:17: error: Missing return type' >&2; exit 1", timeout=None),
    ],
    [text("Done: `1.5` is one token now, and the error names the character and its column.")],
]

#: Reads, and then an edit that waits.
PENDING = [
    [
        text("I read the lexer first."),
        call("read", "Reading the lexer", path="src/lexer.py", offset=None, limit=None),
    ],
    [
        text("The pattern only knows whole numbers. This edit adds decimals and names the bad character."),
        call("edit", "Accepting decimals", path="src/lexer.py", edits=EDITS),
    ],
]

#: A run that edits a file, and runs a command that moves one, makes others, and changes a mode.
TURN = [
    [
        call("edit", "Accepting decimals", path="src/lexer.py", edits=EDITS),
        call("bash", "Tidying up", command="mv README.md README.txt; printf '\\000' > icon.png; echo later > notes/ideas.txt; chmod +x src/test_lexer.py", timeout=None),
    ],
    [text("Digits may have a fraction now.")],
]

COMMAND = [
    [
        text("I run the tests with coverage."),
        call("bash", "Running the tests", command="python3 -m pytest --cov=src --cov-report=term-missing -q src/", timeout=60),
    ]
]

#: A command that runs in the background.
JOB = [
    [
        text("I run the tests again after each change."),
        call(
            "bash",
            "Watching the tests",
            command="python3 -c 'print(\"3 passed in 0.12s\\nWatching src for changes…\")'; sleep 600",
            timeout=None,
            background=True,
        ),
    ],
    [text("The tests pass, and they run again when you change a file.")],
]

#: A command that changes files, and what others show when they are tried.
TRIAL = [
    [
        text("I rename the test everywhere."),
        call("bash", "Renaming the test", command="sed -i 's/test_numbers/test_whole_numbers/' src/*.py && echo renamed", timeout=None),
    ]
]
TRIALS = {
    "no-effect": ("grep -n PATTERN src/lexer.py", "tried: no effect · exit code 0"),
    "hindered": ("touch /etc/formulas", "tried: the trial did not allow it (Read-only file system), so approving runs it"),
    "network": ("(exec 3<>/dev/tcp/192.0.2.9/80)", "tried: it needs the network, so approving runs it"),
}

MARKDOWN = '''## What changed

The lexer accepts **decimals** and says *where* a formula is wrong:

1. `PATTERN` matches a fraction after the digits.
2. The error names the character and its column, see [the tests](src/test_lexer.py).

| formula | before | now |
| --- | --- | --- |
| `1.5 + 2` | error | `1.5`, `+`, `2` |
| `1 & 2` | bad character | unexpected `&` at column 3 |

> Numbers such as `.5` are still an error.

```python
def tokens(source):
    """Yields the tokens of a formula."""
    for match in PATTERN.finditer(source):  # stops at the end
        yield Token("number", match[1])
```

```sh
python3 -m pytest -q && echo "all passed"
```'''

EARLIER = {
    "chats/decimals.chat": "@You:\nHow do I add decimals to the lexer?\n\n@Assistant:\nChange the pattern.\n\n@You:\n",
    "chats/parser.chat": "@You:\nWrite a parser for the tokens\n\n@Assistant:\nHere it is.\n\n@You:\n",
}
