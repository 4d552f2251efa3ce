"""Draws the screen of a terminal as SVG."""

import html
import re
import unicodedata

# The cell of a monospace font, in pixels.
WIDTH, HEIGHT, FONT = 8.4, 18, 14
#: Foreground, background, and the 16 colors of the terminal: those of Neovim's own color scheme.
PALETTES = {
    "dark": (
        "#e0e2ea",
        "#14161b",
        ["#07080d", "#ffc0b9", "#b3f6c0", "#fce094", "#a6dbff", "#ffcaff", "#8cf8f7", "#eef1f8"]
        + ["#4f5258", "#ffc0b9", "#b3f6c0", "#fce094", "#a6dbff", "#ffcaff", "#8cf8f7", "#eef1f8"],
    ),
    "light": (
        "#14161b",
        "#e0e2ea",
        ["#07080d", "#590008", "#005523", "#6b5300", "#004c73", "#470045", "#007373", "#c4c6cd"]
        + ["#4f5258", "#590008", "#005523", "#6b5300", "#004c73", "#470045", "#007373", "#eef1f8"],
    ),
}
FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
CLEARED = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


def indexed(basic, index):
    """A color of the 256."""
    if index < 16:
        return basic[index]
    if index >= 232:
        return "#" + f"{8 + 10 * (index - 232):02x}" * 3
    levels = [0, 95, 135, 175, 215, 255]
    index -= 16
    return "#" + "".join(f"{levels[it]:02x}" for it in (index // 36, index // 6 % 6, index % 6))


def color(basic, numbers):
    """The color behind 38 or 48 in an SGR sequence; takes its numbers off the list."""
    if numbers.pop(0) == 2:
        red, green, blue = numbers[:3]
        del numbers[:3]
        return f"#{red:02x}{green:02x}{blue:02x}"
    return indexed(basic, numbers.pop(0))


def apply(basic, style, codes):
    """The style after an SGR sequence."""
    style = dict(style)
    numbers = [int(it or 0) for it in re.sub(r":[0-9:]*", "", codes).split(";")]
    while numbers:
        number = numbers.pop(0)
        if number == 0:
            style = {}
        elif number in FLAGS:
            style[FLAGS[number]] = True
        elif number in CLEARED:
            for flag in CLEARED[number]:
                style.pop(flag, None)
        elif number in (38, 48):
            style["fg" if number == 38 else "bg"] = color(basic, numbers)
        elif number == 58:
            color(basic, numbers)
        elif number in (39, 49):
            style.pop("fg" if number == 39 else "bg", None)
        elif 30 <= number <= 37:
            style["fg"] = basic[number - 30]
        elif 40 <= number <= 47:
            style["bg"] = basic[number - 40]
        elif 90 <= number <= 97:
            style["fg"] = basic[number - 82]
        elif 100 <= number <= 107:
            style["bg"] = basic[number - 92]
    return style


def width_of(text):
    """The number of cells of a text."""
    return sum(2 if unicodedata.east_asian_width(it) in "WF" else 1 for it in text if not unicodedata.combining(it))


def runs(basic, line, style):
    """Pieces of one style: text, style; and the style at the end of the line."""
    pieces = []
    for part in re.split(r"(\x1b\[[0-9;:]*m)", line):
        if part.startswith("\x1b"):
            style = apply(basic, style, part[2:-1])
        elif part:
            pieces.append((part, style))
    return pieces, style


def plain(rows):
    """Rows without their colors."""
    return [re.sub(r"\x1b\[[0-9;:]*m", "", row).rstrip() for row in rows]


def draw(text, look, row, column, palette):
    """The elements of one piece."""
    fg, bg = look.get("fg", palette[0]), look.get("bg", palette[1])
    if look.get("reverse"):
        fg, bg = bg, fg
    left, width, elements = column * WIDTH, width_of(text) * WIDTH, []
    if bg != palette[1]:
        elements.append(f'<rect x="{left:.1f}" y="{row * HEIGHT}" width="{width:.1f}" height="{HEIGHT}" fill="{bg}"/>')
    shown = text.rstrip()
    if shown:
        extra = ' font-weight="bold"' if look.get("bold") else ""
        extra += ' font-style="italic"' if look.get("italic") else ""
        extra += ' opacity="0.6"' if look.get("dim") else ""
        decoration = [it for it in ("underline", "strike") if look.get(it)]
        if decoration:
            extra += f' text-decoration="{" ".join(decoration).replace("strike", "line-through")}"'
        elements.append(
            f'<text x="{left:.1f}" y="{row * HEIGHT + HEIGHT - 5}" textLength="{width_of(shown) * WIDTH:.1f}" '
            f'fill="{fg}"{extra}>{html.escape(shown)}</text>'
        )
    return elements


def svg(rows, title, columns, background="dark"):
    """An SVG file of these rows of a terminal."""
    palette = PALETTES[background]
    elements, style = [], {}
    for row, line in enumerate(rows):
        column = 0
        pieces, style = runs(palette[2], line, style)
        for text, look in pieces:
            elements += draw(text, look, row, column, palette)
            column += width_of(text)
    width, height = columns * WIDTH, len(rows) * HEIGHT
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 {width + 16:.0f} {height + 16}" '
        f'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT}" xml:space="preserve">\n'
        f"<title>{html.escape(title)}</title>\n"
        f'<rect x="-8" y="-8" width="{width + 16:.0f}" height="{height + 16}" rx="8" fill="{palette[1]}"/>\n'
    )
    return head + "\n".join(elements) + "\n</svg>\n"
