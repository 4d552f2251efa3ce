#!/usr/bin/env python3
"""Opens every view of the plugin in a real terminal, checks what is on the screen, and draws it.

    tests/views/run.py [SCENE | LOOK]...
    tests/views/run.py colors

Needs tmux and a built host. The pictures are in target/views. Names of scenes (`pending`) and
parts of looks (`80x24`, `dark-80`) restrict what is run.
"""

import os
import sys

sys.dont_write_bytecode = True

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import colors
from picture import svg
from provider import Provider
from scenes import LONG, NARROW_SCENES, SCENES, Look, Stage, check
from terminal import REPOSITORY, Broken

SIZES = [(80, 24), (120, 40), (160, 50)]
NARROW = [Look(42, 24), Look(60, 24)]
COLORS = [("dark", True), ("light", True), ("dark", False), ("light", False)]
#: Views in which Neovim waits for a key, so that it runs no Lua.
PROMPTS = {"rewind", "chats", "inbox"}
PICTURES = Path(os.environ.get("FLEMMA_PICTURES") or REPOSITORY / "target" / "views")


def draw(editor, scene, name):
    """Writes the picture of a view, also of one that is broken."""
    rows, look = editor.screen("-e"), editor.look
    (PICTURES / f"{name}.svg").write_text(svg(rows, scene.__doc__, look.columns, look.background), encoding="utf-8")
    (PICTURES / f"{name}.ansi").write_text("\n".join(rows), encoding="utf-8")


def play(scene, look):
    """Opens one view. Returns what is wrong with it, or None."""
    provider, name = Provider(), f"{scene.__name__}-{look.name}"
    stage = Stage(look, provider)
    stage.draw = lambda step: draw(stage.editor, scene, f"{scene.__name__}-{step}-{look.name}")
    try:
        check(stage, scene(stage), scene.__name__ in PROMPTS)
    except Broken as why:
        return f"== {name}: {why}"
    finally:
        if stage.editor:
            draw(stage.editor, scene, name)
            stage.editor.close()
        provider.close()


def compare(background):
    """Looks at the colors of a chat in several color schemes. Returns what is wrong, or None."""
    provider, problems = Provider(), []
    stage = Stage(Look(80, 24, background), provider)
    try:
        stage.edit({}, []).wait_for("@You:")
        for scheme in colors.SCHEMES:
            try:
                colors.check(stage.editor, scheme)
            except Broken as why:
                problems.append(str(why))
    finally:
        stage.editor.close()
        provider.close()
    return "\n".join(problems) or None


def main():
    PICTURES.mkdir(parents=True, exist_ok=True)
    looks = [Look(*size, *colors) for size in SIZES for colors in COLORS]
    # Long scenes need no other size.
    jobs = [(scene, look) for look in looks for scene in SCENES if scene not in LONG or look == looks[0]]
    jobs += [(scene, look) for look in NARROW for scene in NARROW_SCENES]
    names, wanted = {scene.__name__ for scene, _ in jobs}, sys.argv[1:]
    scenes, parts = names & set(wanted) or names, [it for it in wanted if it not in names]
    # A part of the names of looks, too.
    jobs = [] if wanted == ["colors"] else jobs
    jobs = [(scene, look) for scene, look in jobs if scene.__name__ in scenes and all(it in look.name for it in parts)]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: play(*job), jobs))
    if not wanted or wanted == ["colors"]:
        results += map(compare, ["dark", "light"])
    problems = [it for it in results if it]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"views: {len(results) - len(problems)} of {len(results)} are as they should be")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
