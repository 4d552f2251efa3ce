#!/usr/bin/env python3
"""Draws the pictures of the README and the help in doc/: views of the plugin in a real terminal.

    scripts/screenshot.py [--check]

Needs tmux and a built host (`make demo` builds it). The first picture is the session of `make
demo` after Ctrl-]; the others are scenes of tests/views. With --check, it prints the screens and
writes no file.
"""

import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests" / "views"))

import scenes
from picture import plain, svg
from provider import Provider
from scenes import Look, Stage
from terminal import Terminal, remove

COLUMNS = 96


def demo():
    """A chat in Neovim: a call that waits, with its preview and its keys"""
    folder = tempfile.TemporaryDirectory()
    command = [str(REPOSITORY / "scripts" / "demo.sh")]
    terminal = Terminal(folder.name, command, COLUMNS, 24, {"COLORTERM": "truecolor"}, REPOSITORY)
    try:
        terminal.wait_for("@You:")
        terminal.keys("C-]")
        terminal.wait_for("Alt-Enter runs")
        terminal.wait_still()
        return terminal.screen("-e")
    finally:
        terminal.close()
        remove(folder)


def view(scene, rows):
    """The screen of a scene."""
    provider = Provider()
    stage = Stage(Look(COLUMNS, rows), provider)
    try:
        scenes.check(stage, scene(stage), False)
        return stage.editor.screen("-e")
    finally:
        stage.editor.close()
        provider.close()


def diff():
    """A pending edit in Neovim, with its diff and its keys"""
    return view(scenes.pending, 25)


def review():
    """The review of an edit in Neovim: its diff as a buffer"""
    return view(scenes.review, 31)


def run():
    """A finished agent run in Neovim: each call is one line"""
    return view(scenes.run, 46)


def changes():
    """The end of a run in Neovim: what it changed without asking, with the diff"""
    return view(scenes.changes, 36)


def answer():
    """An answer in Neovim, with Markdown and code in their colors"""
    return view(scenes.answer, 40)


PICTURES = {"screenshot": demo, "diff": diff, "review": review, "changes": changes, "run": run, "answer": answer}


def main():
    for name, picture in PICTURES.items():
        rows = picture()
        if "--check" in sys.argv[1:]:
            print("\n".join(plain(rows)), end="\n\n")
        else:
            path = REPOSITORY / "doc" / f"{name}.svg"
            path.write_text(svg(rows, picture.__doc__, COLUMNS), encoding="utf-8")


if __name__ == "__main__":
    main()
