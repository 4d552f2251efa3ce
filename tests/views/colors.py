"""Whether the parts of a chat differ in Neovim's own color schemes."""

from terminal import Broken

SCHEMES = ["default", "habamax", "morning", "lunaperche", "desert", "peachpuff", "blue", "retrobox", "zaibatsu"]

#: Groups that a reader tells apart at a glance.
DIFFERENT = [
    ("FlemmaUser", "FlemmaAssistant"),
    ("FlemmaUser", "Normal"),
    ("FlemmaAssistant", "Normal"),
    ("FlemmaSystem", "FlemmaAssistant"),
    ("FlemmaThinking", "Normal"),
    ("FlemmaToolUse", "Normal"),
    ("FlemmaToolPending", "FlemmaToolError"),
    ("FlemmaToolSuccess", "FlemmaToolError"),
    ("FlemmaToolPending", "FlemmaToolSuccess"),
    ("FlemmaDiffAdd", "FlemmaDiffDelete"),
    ("FlemmaDiffAdd", "Normal"),
    ("FlemmaDiffDelete", "Normal"),
    ("FlemmaDiffText", "FlemmaDiffAdd"),
    ("FlemmaDiffDeleteText", "FlemmaDiffDelete"),
    ("FlemmaHint", "Normal"),
    ("FlemmaRemarkError", "FlemmaRemarkInfo"),
]

#: Groups of text that must be readable on the background. A ratio of 3 is what WCAG asks of large text.
READABLE = ["FlemmaUser", "FlemmaAssistant", "FlemmaSystem", "FlemmaToolUse", "FlemmaToolPending"]
READABLE += ["FlemmaToolSuccess", "FlemmaToolError", "FlemmaRemarkError", "FlemmaRemarkInfo", "FlemmaHint"]
LEAST_RATIO = 2.9

#: Backgrounds on which lines of code are drawn.
DIFF = ["FlemmaDiffAdd", "FlemmaDiffDelete", "FlemmaDiffText", "FlemmaDiffDeleteText"]
#: The ratio that WCAG asks of text.
DIFF_RATIO = 4.4

LOOK = """
  local looks = {}
  for _, name in ipairs({%s}) do
    local group = vim.api.nvim_get_hl(0, { name = name, link = false })
    group.default, group.link = nil, nil
    looks[name] = group
  end
  return looks
"""


def channel(value):
    value /= 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def luminance(color):
    red, green, blue = color >> 16, color >> 8 & 255, color & 255
    return 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue)


def ratio(one, other):
    """The contrast of two colors, from 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def check(editor, scheme):
    """Fails if parts of a chat have the same look, or are hard to read."""
    background = "light" if scheme == "morning" else editor.look.background
    editor.lua(f"vim.o.background = '{background}' vim.cmd.colorscheme('{scheme}') return true")
    names = sorted({name for pair in DIFFERENT for name in pair} | set(READABLE))
    looks = editor.lua(LOOK % ", ".join(f"'{it}'" for it in names))
    problems = [f"{one} and {other} look the same" for one, other in DIFFERENT if looks[one] == looks[other]]
    normal = looks["Normal"]
    for name in READABLE if "bg" in normal else []:
        look = looks[name]
        found = ratio(look.get("fg", normal["fg"]), look.get("bg", normal["bg"]))
        if found < LEAST_RATIO:
            problems.append(f"{name} is hard to read: its contrast is {found:.1f}")
    for name in DIFF if "bg" in normal else []:
        look = looks[name]
        if look.get("reverse"):
            problems.append(f"{name} is reversed")
            continue
        found = ratio(look.get("fg", normal["fg"]), look.get("bg", normal["bg"]))
        if found < min(DIFF_RATIO, ratio(normal["fg"], normal["bg"])):
            problems.append(f"{name} is hard to read: its contrast is {found:.1f}")
    if problems:
        raise Broken(f"{scheme}, {background}: " + "; ".join(problems))
