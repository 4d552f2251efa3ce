#!/usr/bin/env python3
"""Draws doc/screenshot.svg: the tutor's chat in a real terminal, at the first pending call.

    scripts/screenshot.py [--check]

Needs tmux and a built host (`make demo` builds it). Runs the same session as `make demo`,
presses Ctrl-], waits for the preview, and draws the terminal's screen. With --check, it
prints the screen and writes no file.
"""

import html
import os
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 96, 24
# The cell of a monospace font, in pixels.
WIDTH, HEIGHT, FONT = 8.4, 18, 14
FOREGROUND, BACKGROUND = "#e0e2ea", "#14161b"  # Neovim's default dark colors
BASIC = [
    "#07080d", "#ffc0b9", "#b3f6c0", "#fce094", "#a6dbff", "#ffcaff", "#8cf8f7", "#eef1f8",
    "#4f5258", "#ffc0b9", "#b3f6c0", "#fce094", "#a6dbff", "#ffcaff", "#8cf8f7", "#eef1f8",
]


class Terminal:
    """A private tmux server with one pane."""

    def __init__(self, folder):
        self.socket = os.path.join(folder, "tmux")
        environment = {k: v for k, v in os.environ.items() if not re.search("KEY|TOKEN|TMUX", k)}
        environment.update(TERM="xterm-256color", COLORTERM="truecolor", HOME=folder)
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        command = [str(REPOSITORY / "scripts" / "demo.sh")]
        subprocess.run(self.tmux("-f", "/dev/null", "new-session", "-d", *size, *command), env=environment, check=True)
        self.run("set", "-g", "status", "off")
        self.run("set", "-ga", "terminal-features", "*:RGB")

    def tmux(self, *arguments):
        return ["tmux", "-S", self.socket, *arguments]

    def run(self, *arguments):
        done = subprocess.run(self.tmux(*arguments), check=True, capture_output=True, text=True)
        return done.stdout

    def screen(self, *options):
        return self.run("capture-pane", "-p", "-N", *options)

    def wait_for(self, text):
        """Waits until the screen shows a text, for at most 20 seconds."""
        deadline = time.monotonic() + 20
        while text not in (shown := self.screen()):
            if time.monotonic() > deadline:
                sys.exit(f"The screen does not show {text!r}:\n{shown}")
            time.sleep(0.05)

    def close(self):
        subprocess.run(self.tmux("kill-server"), check=False, capture_output=True)


def color(numbers):
    """The color behind 38 or 48 in an SGR sequence; takes its numbers off the list."""
    kind = numbers.pop(0)
    if kind == 2:
        red, green, blue = numbers[:3]
        del numbers[:3]
        return f"#{red:02x}{green:02x}{blue:02x}"
    index = numbers.pop(0)
    if index < 16:
        return BASIC[index]
    if index >= 232:
        return "#" + f"{8 + 10 * (index - 232):02x}" * 3
    levels = [0, 95, 135, 175, 215, 255]
    index -= 16
    return "#" + "".join(f"{levels[it]:02x}" for it in (index // 36, index // 6 % 6, index % 6))


FLAGS = {1: "bold", 3: "italic", 4: "underline", 7: "reverse"}


def apply(style, codes):
    """The style after an SGR sequence."""
    style = dict(style)
    numbers = [int(it or 0) for it in re.sub(r":[0-9:]*", "", codes).split(";")]
    while numbers:
        number = numbers.pop(0)
        if number == 0:
            style = {}
        elif number in FLAGS:
            style[FLAGS[number]] = True
        elif number in (22, 23, 24, 27):
            style.pop(FLAGS[{22: 1}.get(number, number - 20)], None)
        elif number in (38, 48):
            style["fg" if number == 38 else "bg"] = color(numbers)
        elif number in (39, 49):
            style.pop("fg" if number == 39 else "bg", None)
        elif 30 <= number % 60 <= 37 and number < 100:
            style["fg"] = BASIC[number - 30]
        elif 40 <= number <= 47:
            style["bg"] = BASIC[number - 40]
        elif 90 <= number <= 97:
            style["fg"] = BASIC[number - 82]
    return style


def columns(text):
    return sum(2 if unicodedata.east_asian_width(it) in "WF" else 1 for it in text if not unicodedata.combining(it))


def runs(line, style):
    """Pieces of one style: text, style; and the style at the end of the line."""
    pieces = []
    for part in re.split(r"(\x1b\[[0-9;:]*m)", line):
        if part.startswith("\x1b"):
            style = apply(style, part[2:-1])
        elif part:
            pieces.append((part, style))
    return pieces, style


def svg(screen):
    rows, style = [], {}
    for row, line in enumerate(screen.rstrip("\n").split("\n")):
        column = 0
        pieces, style = runs(line, style)
        for text, look in pieces:
            fg, bg = look.get("fg", FOREGROUND), look.get("bg", BACKGROUND)
            if look.get("reverse"):
                fg, bg = bg, fg
            left, width = column * WIDTH, columns(text) * WIDTH
            if bg != BACKGROUND:
                rows.append(f'<rect x="{left:.1f}" y="{row * HEIGHT}" width="{width:.1f}" height="{HEIGHT}" fill="{bg}"/>')
            shown = text.rstrip()
            if shown:
                extra = ' font-weight="bold"' if look.get("bold") else ""
                extra += ' font-style="italic"' if look.get("italic") else ""
                extra += ' text-decoration="underline"' if look.get("underline") else ""
                baseline = row * HEIGHT + HEIGHT - 5
                rows.append(
                    f'<text x="{left:.1f}" y="{baseline}" textLength="{columns(shown) * WIDTH:.1f}" '
                    f'fill="{fg}"{extra}>{html.escape(shown)}</text>'
                )
            column += columns(text)
    width, height = COLUMNS * WIDTH, ROWS * HEIGHT
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 {width + 16:.0f} {height + 16}" '
        f'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT}" xml:space="preserve">\n'
        f'<title>A chat in Neovim: a call that waits, with its preview and its keys</title>\n'
        f'<rect x="-8" y="-8" width="{width + 16:.0f}" height="{height + 16}" rx="8" fill="{BACKGROUND}"/>\n'
    )
    return head + "\n".join(rows) + "\n</svg>\n"


def main():
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(folder)
        try:
            terminal.wait_for("@You:")
            terminal.run("send-keys", "C-]")
            terminal.wait_for("Alt-Enter runs")
            screen = terminal.screen("-e")
        finally:
            terminal.close()
    if "--check" in sys.argv[1:]:
        print(re.sub(r"\x1b\[[0-9;:]*m", "", screen))
    else:
        (REPOSITORY / "doc" / "screenshot.svg").write_text(svg(screen), encoding="utf-8")


if __name__ == "__main__":
    main()
