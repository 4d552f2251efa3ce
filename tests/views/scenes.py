"""The views of the plugin: what a user does to see each, and what must be on the screen."""

from dataclasses import dataclass

import project
from provider import text, thinking
from terminal import Broken, Editor

#: Approves what runs without a question in the scenes.
AUTO = {"auto_approve": ["$readonly", "read", "grep", "edit", "bash"], "review_delay": 0}
ASK = {"auto_approve": ["$readonly"], "review_delay": 0}


@dataclass(frozen=True)
class Look:
    """The size and colors of a terminal."""

    columns: int
    rows: int
    background: str = "dark"
    rgb: bool = True
    scheme: str = ""

    @property
    def name(self):
        parts = [f"{self.columns}x{self.rows}", self.background]
        parts += [] if self.rgb else ["notermguicolors"]
        return "-".join(parts + ([self.scheme] if self.scheme else []))


class Stage:
    """Where a scene plays."""

    def __init__(self, look, provider):
        self.look, self.provider, self.editor = look, provider, None

    def edit(self, tools, answers, more=None):
        """Opens a chat in the project."""
        self.provider.answers.extend(answers)
        options = {"provider": "anthropic", "sandbox": {"enabled": False}, "tools": tools}
        files = {**project.FILES, **(more or {}), "lexer.chat": project.QUESTION}
        self.editor = Editor(self.look, self.provider, files, "lexer.chat", options)
        return self.editor


def send(editor):
    editor.wait_for("@You:")
    editor.keys("C-]")


def ended(editor):
    """Waits until the chat ends with an empty prompt."""
    code = "local lines = vim.api.nvim_buf_get_lines(0, -4, -1, false)" \
        " return vim.trim(table.concat(lines, ' ')):sub(-5) == '@You:' and vim.api.nvim_buf_line_count(0) > 5"
    editor.wait("the end of the answer", lambda _: editor.lua(code))


def run(stage):
    """A finished agent run: one line for each call."""
    editor = stage.edit(AUTO, project.RUN)
    send(editor)
    ended(editor)
    editor.wait("the folds", lambda _: editor.lua("return vim.fn.foldclosed(11)") > 0)
    if stage.look.rows < 40:
        return ["→ bash $ echo", "✗ bash · exit 1", "Missing return type", "Done: `1.5`"]
    return ["→ edit +2 −2 src/lexer.py", "✓ edit · +2 −2", "✓ bash", "✗ bash · exit 1", "Done: `1.5`"]


def answer(stage):
    """An answer in Markdown, with code."""
    editor = stage.edit(ASK, [[thinking("A table shows it best."), text(project.MARKDOWN)]])
    send(editor)
    ended(editor)
    editor.keys("G")
    return ["unexpected `&` at column 3", "def tokens(source):", "all passed"]


def pending(stage):
    """An edit that waits, with its diff."""
    editor = stage.edit(ASK, project.PENDING)
    send(editor)
    editor.wait_for("Enter reviews")
    return ["src/lexer.py", "+2 −2", "needs approval", "Alt-Enter runs · Enter reviews · Alt-a runs all · Alt-r rejects"]


def command(stage):
    """A command that waits, and does not fit on its line."""
    editor = stage.edit(ASK, project.COMMAND)
    send(editor)
    editor.wait_for("Alt-Enter runs")
    return ["needs approval", "bash: $ python3 -m pytest", "timeout  60", "Alt-Enter runs"]


def review(stage):
    """The diff of an edit as a buffer."""
    pending(stage)
    editor = stage.editor
    editor.keys("Enter")
    editor.wait_for(":w approves what is left")
    return ["@@ ", "-PATTERN = re.compile", "+PATTERN = re.compile", ":w approves what is left · dih drops a hunk · ]c next hunk · :q decides later"]


def rewind(stage):
    """The list of turns to go back to."""
    editor = stage.edit(AUTO, project.RUN + [[text("The README says so now.")]])
    send(editor)
    ended(editor)
    editor.keys("G", "A")
    editor.type("Say so in the README.")
    editor.keys("Escape", "C-]")
    editor.wait_for("The README says so now.")
    ended(editor)
    editor.command("Flemma rewind")
    editor.wait_for("The lexer rejects", "Say so in the README")
    return ["Say so in the README"]


def chats(stage):
    """The picker of chats."""
    editor = stage.edit(ASK, [], more=project.EARLIER)
    for name in project.EARLIER:
        editor.wait_for("@You:")
        editor.command(f"edit {name}")
        editor.wait_for(name.split("/")[1])
        editor.command("silent write!")
    editor.command("Flemma chats")
    editor.wait_for("Chats of this project")
    return ["How do I add decimals to the lexer?", "Write a parser for the tokens", "chats/parser.chat", "1.5`. Please fix that, a…  (lexer.chat)"]


def inbox(stage):
    """The calls of all chats that wait."""
    pending(stage)
    editor = stage.editor
    stage.provider.answers.extend(project.COMMAND)
    editor.command("edit tests.chat")
    editor.wait("the new chat", lambda _: editor.lua("return vim.fn.bufname('%')") == "tests.chat")
    editor.keys("G", "o")
    editor.type("Run the tests.")
    editor.keys("Escape", "C-]")
    editor.wait_for("python3 -m pytest", "Alt-Enter runs")
    editor.command("Flemma pending")
    editor.wait_for("Pending calls")
    return ["lexer.chat  +2 −2  edit: src/lexer.py", "tests.chat  bash: $ python3 -m pytest"]


def error(stage):
    """A refused request, with its reason below the prompt."""
    answer = (400, "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for this model")
    editor = stage.edit(ASK, [answer])
    send(editor)
    editor.wait_for("the conversation is unchanged")
    return ["(400, max_tokens: 64000 > 32000", "press Ctrl-] again; the conversation is unchanged."]


def plan(stage):
    """Plan mode."""
    editor = stage.edit(ASK, [])
    editor.wait_for("@You:")
    editor.command("Flemma plan")
    editor.wait_for("plan")
    return ["plan"]


def outline(stage):
    """The outline of a chat."""
    editor = stage.edit(AUTO, project.RUN)
    send(editor)
    ended(editor)
    editor.type("gO")
    editor.wait("the outline", lambda _: editor.lua("return #vim.fn.getloclist(0)") > 0)
    editor.wait("the list", lambda _: editor.lua("return vim.bo.buftype") == "quickfix")
    return ["@Assistant: Done: `1.5`", "  ✗ bash · exit 1", "Symbols in lexer.chat"]


SCENES = [run, answer, pending, command, review, rewind, chats, inbox, error, plan, outline]

#: Texts that no view shows.
WRONG = ["Press ENTER", "stack traceback", "-- More --", "Error in", "Error executing"]

OVERLONG = """
  local found = {}
  local function width(chunks)
    local sum = 0
    for _, chunk in ipairs(chunks) do sum = sum + vim.api.nvim_strwidth(chunk[1]) end
    return sum
  end
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local info = vim.fn.getwininfo(window)[1]
    local buffer, room = info.bufnr, info.width - info.textoff
    local marks = vim.api.nvim_buf_get_extmarks(buffer, -1, {info.topline - 1, 0}, {info.botline - 1, -1}, {details = true})
    for _, mark in ipairs(marks) do
      local details = mark[4]
      for _, chunks in ipairs(details.virt_lines or {}) do
        if width(chunks) > room then table.insert(found, vim.inspect(chunks)) end
      end
      local is_open = vim.api.nvim_win_call(window, function() return vim.fn.foldclosed(mark[2] + 1) == -1 end)
      if details.virt_text and details.virt_text_pos == "eol" and is_open then
        local line = vim.api.nvim_buf_get_lines(buffer, mark[2], mark[2] + 1, false)[1]
        if vim.api.nvim_strwidth(line) % room + 1 + width(details.virt_text) > room then
          table.insert(found, line .. " " .. vim.inspect(details.virt_text))
        end
      end
    end
  end
  return found
"""


def check(stage, expected, waits_for_key):
    """Fails unless the expected parts are on the screen and nothing else is wrong with it."""
    editor = stage.editor
    editor.wait_for(*expected)
    editor.wait_still()
    shown = "\n".join(editor.screen())
    for wrong in WRONG:
        if wrong in shown:
            raise Broken(f"{wrong!r} is on the screen:\n{shown}")
    if any(row.startswith("E") and row[1:2].isdigit() and ":" in row for row in shown.split("\n")):
        raise Broken(f"An error is on the screen:\n{shown}")
    overlong = [] if waits_for_key else editor.lua(OVERLONG)
    if overlong:
        raise Broken("These texts are cut at the right edge:\n" + "\n".join(overlong) + "\n" + shown)
