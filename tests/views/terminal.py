"""A Neovim with the plugin in a real terminal: a private tmux server with one pane, real keys,
and the screen with its colors.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PATIENCE_S = 20
#: A relative path starts from the repository.
NVIM = str(REPOSITORY / (os.environ.get("FLEMMA_NVIM") or ".tools/bin/nvim"))
HOST = os.environ.get("FLEMMA_HOST") or str(REPOSITORY / "target" / "debug" / "flemma")


class Broken(Exception):
    """The screen is not as it should be."""


class Terminal:
    """A terminal that runs one command."""

    def __init__(self, folder, command, columns, rows, environment, work):
        self.socket = os.path.join(folder, "tmux")
        inherited = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color", "HOME": folder}
        size = ["-x", str(columns), "-y", str(rows), "-c", str(work)]
        start = ["-f", "/dev/null", "new-session", "-d", *size, *command]
        subprocess.run(self.tmux(*start), env={**inherited, **environment}, check=True)
        self.run("set", "-g", "status", "off")
        self.run("set", "-ga", "terminal-features", "*:RGB")
        self.run("set", "-sg", "escape-time", "0")
        self.run("set", "-g", "remain-on-exit", "on")

    def tmux(self, *arguments):
        return ["tmux", "-S", self.socket, *arguments]

    def run(self, *arguments):
        return subprocess.run(self.tmux(*arguments), check=True, capture_output=True, text=True).stdout

    def screen(self, *options):
        """The rows of the screen, with -e and their colors."""
        return self.run("capture-pane", "-p", "-N", *options).rstrip("\n").split("\n")

    def keys(self, *keys):
        """Types keys, as tmux names them."""
        self.run("send-keys", *keys)

    def type(self, text):
        self.run("send-keys", "-l", text)

    def wait(self, what, condition):
        """Waits until the condition holds for the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition(shown := "\n".join(self.screen())):
            if time.monotonic() > deadline:
                raise Broken(f"{what} is not on the screen:\n{shown}")
            time.sleep(0.03)

    def wait_for(self, *texts):
        """Waits until the screen shows these texts."""
        for text in texts:
            self.wait(repr(text), lambda shown, text=text: text in shown)

    def wait_still(self):
        """Waits until two looks at the screen, a few frames apart, are the same."""
        before = None
        deadline = time.monotonic() + PATIENCE_S
        while before != (now := self.screen("-e")):
            if time.monotonic() > deadline:
                raise Broken("The screen keeps changing:\n" + "\n".join(self.screen()))
            before = now
            time.sleep(0.15)

    def start_again(self):
        """Starts the command again, which must have ended."""
        self.wait("the end of the command", lambda _: self.run("display", "-p", "#{pane_dead}").strip() == "1")
        self.run("respawn-pane")

    def close(self):
        subprocess.run(self.tmux("kill-server"), check=False, capture_output=True)


class Editor(Terminal):
    """A terminal with Neovim, in a project of its own."""

    def __init__(self, look, provider, files, opened, options):
        self.look = look
        self.folder = tempfile.TemporaryDirectory(prefix="flemma-views-")
        home = Path(self.folder.name)
        self.work = home / "project"
        for name, content in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        (self.work / ".git").mkdir()
        self.server = str(home / "nvim")
        environment = {
            "COLORTERM": "truecolor" if look.rgb else "",
            "FLEMMA_HOST": HOST,
            "FLEMMA_TEST_OPTIONS": json.dumps(options),
            "ANTHROPIC_BASE_URL": provider.url,
            "ANTHROPIC_API_KEY": "test-key",
        }
        for name in ("CACHE", "CONFIG", "DATA", "STATE"):
            environment[f"XDG_{name}_HOME"] = str(home / name.lower())
        set_look = f"set background={look.background} {'' if look.rgb else 'no'}termguicolors linebreak"
        if look.scheme:
            set_look += f" | colorscheme {look.scheme}"
        init = str(REPOSITORY / "tests" / "init.lua")
        arguments = ["--clean", "--listen", self.server, "--cmd", set_look, "-u", init, "-c", set_look, *opened]
        super().__init__(str(home), [NVIM, *arguments], look.columns, look.rows, environment, self.work)

    def lua(self, code):
        """Runs Lua and returns its value, which must be a value of JSON."""
        wrapped = f"vim.json.encode((function() {code} end)())"
        expression = f"luaeval({vim_string(wrapped)})"
        ask = [NVIM, "--clean", "--server", self.server, "--remote-expr", expression]
        try:
            done = subprocess.run(ask, capture_output=True, text=True, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Broken("Neovim does not answer:\n" + "\n".join(self.screen())) from None
        output = done.stdout or done.stderr
        try:
            return json.loads(output)
        except ValueError:
            raise Broken(f"Lua failed: {output}") from None

    def command(self, line):
        """Types an Ex command."""
        self.keys("Escape")
        self.type(f":{line}")
        self.keys("Enter")

    def close(self):
        super().close()
        # A Neovim that waits at a prompt survives its terminal, and then uses all of a processor.
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self.server.encode() in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass  # It has ended meanwhile.
        remove(self.folder)


def remove(folder):
    """Removes a temporary folder. The host ends when Neovim does, and may write until then."""
    for _ in range(20):
        try:
            return folder.cleanup()
        except OSError:
            time.sleep(0.1)


def vim_string(text):
    return "'" + re.sub(r"\s*\n\s*", " ", text).replace("'", "''") + "'"
