"""The views of the plugin: what a user does to see each, and what must be on the screen."""

from dataclasses import dataclass

import project
from provider import search, text, thinking
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
        #: Draws a step of a scene under its name.
        self.draw = lambda _: None

    def edit(self, tools, answers, more=None):
        """Opens a chat in the project."""
        self.provider.answers.extend(answers)
        options = {"provider": "anthropic", "sandbox": {"enabled": False}, "tools": tools}
        files = {**project.FILES, **(more or {}), "lexer.chat": project.QUESTION}
        self.editor = Editor(self.look, self.provider, files, ["lexer.chat"], options)
        return self.editor

    def again(self):
        """Closes Neovim, so that the scene can open another chat."""
        if self.editor:
            self.editor.close()
            self.editor = None
        self.provider.answers.clear()

    def step(self, name, *expected, waits_for_key=False):
        """Checks and draws the screen between two steps of a scene."""
        check(self, expected, waits_for_key)
        self.draw(name)


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
    # The window has followed the answer from before the folds were closed.
    editor.keys("G", "z", "b")
    if stage.look.rows < 30:
        return ["Done: `1.5`", "changed 1 file"]
    if stage.look.rows < 50:
        return ["→ bash $ echo", "✗ bash · exit 1", "Missing return type", "Done: `1.5`"]
    # How much is above depends on whether the diff below was drawn before the window was scrolled.
    return ["→ bash $ echo", "✓ edit · +2 −2", "✓ bash", "✗ bash · exit 1", "Done: `1.5`"]


def changes(stage):
    """What a run changed without asking, at its end."""
    editor = stage.edit({}, project.PENDING + [[text("Digits may have a fraction now.")]])
    send(editor)
    ended(editor)
    editor.wait_for("changed 1 file")
    return ["changed 1 file +2 −2 · Enter", "src/lexer.py", "PATTERN = re.compile"]


def answer(stage):
    """An answer in Markdown, with code."""
    editor = stage.edit(ASK, [[thinking("A table shows it best."), text(project.MARKDOWN)]])
    send(editor)
    ended(editor)
    editor.keys("G")
    return ["unexpected `&` at column 3", "def tokens(source):", "all passed"]


def web(stage):
    """A web search of the provider, and the answer that it led to."""
    found = search(
        1,
        "python tokenizer unicode digits",
        ("Lexical analysis", "https://docs.python.org/3/reference/lexical_analysis.html"),
        ("Unicode categories", "https://www.unicode.org/reports/tr44/"),
    )
    said = "Only ASCII digits begin a number in Python, so `PATTERN` can stay as it is."
    editor = stage.edit({**AUTO, "web": "search"}, [[text("I look that up."), *found, text(said)]])
    send(editor)
    ended(editor)
    stage.step("folded", "✓ web_search python tokenizer", "Only ASCII digits", "1 search")
    editor.type("zR")
    editor.keys("G")
    return ["**Server Tool:** `web_search`", "- Lexical analysis", "https://www.unicode.org/reports/tr44/", "Only ASCII digits"]


def pending(stage):
    """An edit that waits, with its diff."""
    editor = stage.edit(ASK, project.PENDING)
    send(editor)
    editor.wait_for("Enter: decide")
    return ["src/lexer.py", "+2 −2", "needs approval", "asks: not in auto_approve", "Enter: decide · Alt-Enter runs · Alt-a runs all · Alt-r rejects"]


def command(stage):
    """A command that waits, and does not fit on its line."""
    editor = stage.edit(ASK, project.COMMAND)
    send(editor)
    editor.wait_for("Alt-Enter runs")
    return ["needs approval", "bash: $ python3 -m pytest", "timeout  60", "asks: runs a command", "Enter: decide · Alt-Enter runs"]


def tried(stage, answers, outcome):
    """Tries a command. Returns false on a machine on which nothing can be tried."""
    editor = stage.edit(ASK, answers)
    send(editor)
    editor.wait_for("Alt-t tries")
    editor.keys("M-t")
    editor.wait("the outcome", lambda shown: "tried: " in shown or "cannot be tried" in shown)
    return outcome if any("tried: " in row for row in editor.screen()) else "cannot be tried"


def trial(stage):
    """A command that was tried, with the changes that it would make."""
    outcome = tried(stage, project.TRIAL, "tried: would change 1 file +1 −1 · exit code 0")
    if outcome == "cannot be tried":
        return [outcome]
    return [outcome, "  renamed", "src/test_lexer.py", "test_whole_numbers", "Alt-Enter runs"]


def trials(stage):
    """The other outcomes of trials."""
    for name, (command, outcome) in project.TRIALS.items():
        stage.again()
        answers = [[project.call("bash", "Trying", command=command, timeout=None)]]
        expected = tried(stage, answers, outcome)
        stage.step(name, expected)
    return [expected]


def narrow(stage):
    """A command that waits in a narrow terminal, which shows how to decide."""
    editor = stage.edit(ASK, project.COMMAND)
    send(editor)
    editor.wait_for("asks: runs a command", "Enter: decide")
    if stage.look.columns < 45:
        return ["Enter: decide · Alt-r rejects"]
    return ["Enter: decide · Alt-Enter runs · Alt-t tries · Alt-r rejects"]


def decision(stage):
    """A command in its window, with plain keys."""
    command(stage)
    editor = stage.editor
    editor.keys("Enter")
    editor.wait_for("a runs · t tries · A all")
    return ["asks: runs a command", "q leaves", "python3 -m pytest", "timeout"]


def concealed(stage):
    """A command that waits, where tree-sitter conceals fences."""
    editor = stage.edit(ASK, project.COMMAND)
    editor.wait_for("@You:")
    editor.command("set conceallevel=2 concealcursor=nc | lua vim.treesitter.start(0, 'markdown')")
    editor.keys("C-]")
    editor.wait_for("Enter: decide")
    return ["bash: $ python3 -m pytest", "asks: runs a command", "Enter: decide · Alt-Enter runs"]


def hidden_line(stage):
    """A refused request where there is no line for messages."""
    editor = stage.edit(ASK, [(401, "invalid x-api-key")])
    editor.wait_for("@You:")
    editor.command("set cmdheight=0")
    editor.keys("C-]")
    editor.wait_for("refused the key")
    return ["@You:"]


def floating(stage):
    """The review of an edit whose chat floats."""
    pending(stage)
    editor = stage.editor
    size = "width = vim.o.columns - 10, height = vim.o.lines - 6, border = 'rounded'"
    editor.command(f"lua vim.api.nvim_open_win(0, true, {{ relative = 'editor', row = 1, col = 4, {size} }})")
    editor.keys("Enter")
    editor.wait_for(":w approves what is left")
    return ["@@ ", ":w approves what is left"]


def review(stage):
    """The diff of an edit as a buffer."""
    pending(stage)
    editor = stage.editor
    editor.keys("Enter")
    editor.wait_for(":w approves what is left")
    return ["@@ ", "-PATTERN = re.compile", "+PATTERN = re.compile", ":w approves what is left · dih drops a hunk · ]c next hunk · :q decides later"]


def turn(stage):
    """What a turn changed, with an edit and a command, to revert parts of it."""
    editor = stage.edit({**AUTO, "require_approval": False}, project.TURN)
    send(editor)
    ended(editor)
    editor.wait_for("changed 1 file")
    editor.keys("G", "Enter")
    editor.wait_for(":w reverts what you removed")
    return ["rename from README.md", "Binary files /dev/null and b/icon.png differ", ":w reverts what you removed", "dih drops a hunk · dif a file · ]c next hunk"]


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


def context(stage):
    """What the next request contains."""
    editor = stage.edit(AUTO, project.RUN)
    send(editor)
    ended(editor)
    # The last line of the diff of what the run changed, which is drawn after the end of the answer.
    editor.wait_for("position = match.end()")
    editor.command("Flemma context")
    shown = ["next request  13.0k tokens, 1 % of 1.00M", "sent before   about", ", from line", "7 tools", "call of grep", "Enter goes to"]
    # The end of the chat stays in sight.
    return shown if stage.look.rows < 30 else ["PATTERN.match(source", *shown]


def summary(stage):
    """A summary that replaces the earlier messages in requests."""
    draft = "The lexer in `src/lexer.py` reads decimals such as `1.5` now, and the tests pass."
    editor = stage.edit(AUTO, [*project.RUN, [text(draft)]])
    send(editor)
    ended(editor)
    editor.command("Flemma compact")
    stage.step("draft", ":w replaces the messages above by this summary", "reads decimals such as `1.5` now")
    editor.command("w")
    editor.wait("the chat", lambda _: editor.lua("return #vim.api.nvim_list_wins()") == 1)
    editor.wait_for("above are not sent")
    return ["flemma:summary of", "messages above are not sent"]


def jobs(stage):
    """The background jobs, and the log of one."""
    editor = stage.edit(AUTO, project.JOB)
    send(editor)
    ended(editor)
    editor.command("Flemma jobs")
    stage.step("list", "Enter opens the log of a job · x stops it · q closes", "running for", "lexer.chat  $ python3", "Watching src")
    editor.keys("Enter")
    editor.wait_for("x stops the job · q closes")
    return ["x stops the job · q closes", "3 passed in 0.12s", "Watching src for changes"]


def outline(stage):
    """The outline of a chat."""
    editor = stage.edit(AUTO, project.RUN)
    send(editor)
    ended(editor)
    editor.type("gO")
    editor.wait("the outline", lambda _: editor.lua("return #vim.fn.getloclist(0)") > 0)
    editor.wait("the list", lambda _: editor.lua("return vim.bo.buftype") == "quickfix")
    return ["@Assistant: Done: `1.5`", "  ✗ bash · exit 1", "Symbols in lexer.chat"]


def newcomer(stage):
    """The first day without a key, an option, or a modifier that a terminal may lack."""
    # Keys of a script come before a person could read the call.
    editor = stage.editor = Editor(stage.look, stage.provider, project.FILES, [], {"tools": {"review_delay": 0}})
    editor.wait_for("VIM")
    editor.command("Flemma tutor")
    stage.step("tutor", "Hello! What can you do here?", "(Press Ctrl-] to send this.)", "idle")
    editor.keys("C-]")
    stage.step("call", "bash: $ wc -w notes.txt", "asks: runs a command", "Enter: decide")
    editor.keys("Enter")
    stage.step("approval", "a runs · t tries · A all · r rejects", "counting the words", "q leaves")
    editor.keys("a")
    editor.wait_for("its output: `30 notes.txt`", 'write "go on" below')
    ended(editor)
    editor.keys("i")
    editor.type("go on")
    editor.keys("Escape", "C-]")
    editor.wait_for("changed 1 file")
    ended(editor)
    stage.step("diff", "changed 1 file +10 −0 · Enter", "+ Ctrl-]     sends, and continues")
    editor.keys("Enter")
    stage.step("changes", ":w reverts what you removed", "+Ctrl-]     sends, and continues")
    editor.command("q")
    editor.command("Flemma review!")
    editor.wait_for("waits for your review")
    editor.keys("G", "i")
    editor.type("go on")
    editor.keys("Escape", "C-]")
    stage.step("edit", "+2 −2", "13 + Ctrl-C     stops the answer", "Enter: decide")
    editor.keys("Enter")
    stage.step("review", ":w approves what is left · dih drops a hunk", "+A conversation is a file that you can edit.")
    editor.type("dih")
    editor.wait("one hunk", lambda shown: "+A conversation" not in shown)
    stage.step("dropped", "@@ -10,4 +10,4 @@", "+Ctrl-C     stops the answer, or what runs")
    editor.command("w")
    editor.wait_for("bash: $ wc -l notes.txt")
    editor.keys("Enter")
    editor.wait_for("a runs · t tries · A all")
    editor.keys("a")
    editor.wait_for("That was the tour")
    ended(editor)
    editor.command("Flemma undo")
    stage.step("undo", "Undo edit", "notes.txt  +1 −1", waits_for_key=True)
    editor.keys("1", "Enter")
    stage.step("undone", "Restored 1 file: notes.txt")
    editor.command("q")
    editor.start_again()
    editor.wait_for("VIM")
    editor.command("Flemma chats")
    stage.step("chats", "This project has no chats. `:Flemma chats all` lists all.")
    editor.command("Flemma chats all")
    stage.step("reopen", "Hello! What can you do here?", "tutor.chat)", waits_for_key=True)
    editor.keys("1", "Enter")
    editor.wait_for("tutor/tutor.chat")
    return ["That was the tour", "✓ bash", "tutor", "idle"]


SCENES = [
    run, changes, answer, web, pending, command, trial, trials, decision, concealed, hidden_line, floating, review, turn, rewind, chats, inbox,
    error, plan, context, summary, jobs, outline, newcomer,
]
#: Views in terminals that are narrower than most.
NARROW_SCENES = [narrow]
#: Scenes that are long, and are played in the smallest terminal only.
LONG = [newcomer, trials, summary]

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
