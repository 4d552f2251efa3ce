--- The highlight groups, as links that a colour scheme or the user overrides.
---@class flemma.highlights
local M = {}

local colors = require("flemma.colors")

--- The group that each group links to.
local LINKS = {
  FlemmaSystem = "String",
  FlemmaUser = "Title",
  FlemmaAssistant = "Function",
  FlemmaToolUse = "Identifier",
  FlemmaToolResult = "Identifier",
  FlemmaToolId = "Comment",
  FlemmaToolError = "DiagnosticError",
  FlemmaStatusPending = "DiagnosticWarn",
  FlemmaStatusApproved = "DiagnosticOk",
  FlemmaStatusDenied = "DiagnosticError",
  FlemmaStatusRejected = "DiagnosticError",
  FlemmaThinking = "Comment",
  FlemmaThinkingText = "@markup.italic",
  FlemmaAborted = "DiagnosticWarn",
  FlemmaFence = "NonText",
  FlemmaLanguage = "Comment",
  FlemmaRole = "CursorLine",
  FlemmaFrontmatter = "PreProc",
  FlemmaToolName = "Identifier",
  FlemmaToolPreview = "Comment",
  FlemmaHint = "Comment",
  FlemmaField = "Comment",
  FlemmaFieldValue = "Normal",
  FlemmaToolOutput = "Comment",
  FlemmaToolPending = "DiagnosticInfo",
  FlemmaToolSuccess = "DiagnosticOk",
  FlemmaDiffAdd = "DiffAdd",
  FlemmaDiffDelete = "DiffDelete",
  FlemmaDiffText = "DiffText",
  FlemmaDiffDeleteText = "DiffText",
  FlemmaDiffFile = "Directory",
  FlemmaDiffNumber = "LineNr",
  FlemmaSpinner = "DiagnosticInfo",
  FlemmaQueued = "DiagnosticHint",
  FlemmaSent = "Comment",
  FlemmaTaskPending = "Comment",
  FlemmaTaskInProgress = "DiagnosticInfo",
  FlemmaTaskCompleted = "DiagnosticOk",
  FlemmaUsage = "Comment",
  FlemmaWinbar = "WinBar",
  FlemmaWinbarModel = "WinBar",
  FlemmaWinbarWarning = "WarningMsg",
  FlemmaRemarkError = "DiagnosticError",
  FlemmaRemarkWarn = "DiagnosticWarn",
  FlemmaRemarkInfo = "DiagnosticInfo",
}

--- Links whose text may be hard to read.
local DIM = { Comment = true, LineNr = true, NonText = true }

---@param name string As in `highlights.tool_preview`.
---@return string group As in `FlemmaToolPreview`.
local function group_of(name)
  return "Flemma" .. name:gsub("^%l", string.upper):gsub("_(%l)", string.upper)
end

--- Backgrounds that a color scheme has, one of which is that of code.
local BACKGROUNDS = { "NormalFloat", "CursorLine" }
--- Most difference of one channel to the text's background, so that code is readable.
local MOST_CONTRAST = 40
--- Least contrast of text to its background.
local LEAST_CONTRAST = 3
--- How far the background of changed words is from that of their line to the text's color, in tenths.
local WORDS = 3

--- Groups that were set here, and to what.
---@type table<string, table>
local derived = {}

--- Sets a group, unless the user or the color scheme did.
local function derive(name, definition)
  local current = vim.api.nvim_get_hl(0, { name = name })
  local is_link = current.link ~= nil and current.link == LINKS[name]
  local is_ours = not next(current) or is_link or vim.deep_equal(current, derived[name])
  local value = is_ours and definition()
  if value then
    vim.api.nvim_set_hl(0, name, value)
    derived[name] = vim.api.nvim_get_hl(0, { name = name })
  end
end

--- Gives code the background of the color scheme that differs least from that of text. A link
--- would do in few schemes: floats have loud colors in some, and 'cursorline' is an underline.
local function code()
  local normal = vim.api.nvim_get_hl(0, { name = "Normal", link = false }).bg
  local best, least = nil, MOST_CONTRAST + 1
  for _, name in ipairs(normal and BACKGROUNDS or {}) do
    local background = vim.api.nvim_get_hl(0, { name = name, link = false }).bg
    local difference = background and colors.difference(background, normal) or 0
    if difference > 0 and difference < least then
      best, least = background, difference
    end
  end
  return { bg = best }
end

--- Returns the background of removed lines: that of added ones with red for green. Neovim's own
--- scheme has none, because it shows removed lines without their text.
---@return integer? rgb nil if the scheme has a background, or if added lines are not green.
local function removed()
  local delete = vim.api.nvim_get_hl(0, { name = "DiffDelete", link = false })
  local add = vim.api.nvim_get_hl(0, { name = "DiffAdd", link = false }).bg
  if not add or delete.bg or delete.reverse then
    return nil
  end
  local red, green, blue = colors.split(add)
  return green > red and green * 0x10000 + red * 0x100 + blue or nil
end

--- Groups whose text is drawn on the backgrounds of a diff.
local ON_DIFF = { "Comment", "Constant", "String", "Statement", "Type", "Identifier", "Function", "PreProc" }

--- Returns true if code can be read on a background, at least nearly as well as elsewhere.
---@param normal vim.api.keyset.get_hl_info With both colors.
local function carries_code(background, normal)
  if colors.contrast(normal.fg, background) < math.min(4.5, colors.contrast(normal.fg, normal.bg)) then
    return false
  end
  return vim.iter(ON_DIFF):all(function(name)
    local color = vim.api.nvim_get_hl(0, { name = name, link = false }).fg
    local usual = color and colors.contrast(color, normal.bg)
    return not usual or colors.contrast(color, background) >= math.min(LEAST_CONTRAST, usual * 0.8)
  end)
end

--- Returns a background on which code can be read: a mix with as much of a color as possible.
---@param most integer Tenths of the color.
---@param normal vim.api.keyset.get_hl_info With both colors.
local function softened(from, color, most, normal)
  for share = most, 2, -1 do
    local mixed = colors.mix(from, color, share / 10)
    if carries_code(mixed, normal) then
      return mixed
    end
  end
  return colors.mix(from, color, 0.15)
end

--- Returns a group of a diff as a background on which code can be read: color schemes color whole lines
--- of a diff, and their loud backgrounds are made for one color of text.
---@return table? definition nil if the link itself can be read.
local function diff_background(link)
  local normal = vim.api.nvim_get_hl(0, { name = "Normal", link = false })
  local group = vim.api.nvim_get_hl(0, { name = link, link = false })
  local own = link == "DiffDelete" and removed() or nil
  local color = own or group.bg
  if group.reverse then
    color = group.fg
  end
  if not color then
    return nil
  end
  local soft = normal.fg and normal.bg and softened(normal.bg, color, 10, normal) or color
  local is_dim = group.fg and colors.contrast(group.fg, soft) < 4.5
  if soft == group.bg and not is_dim and not group.reverse then
    return nil
  end
  return { bg = soft, ctermfg = group.ctermfg, ctermbg = group.ctermbg, cterm = group.cterm }
end

--- Returns the group of changed words in removed lines: their background is nearer to the color of
--- the text.
local function removed_words()
  local normal = vim.api.nvim_get_hl(0, { name = "Normal", link = false })
  local delete = vim.api.nvim_get_hl(0, { name = "DiffDelete", link = false })
  local line = vim.api.nvim_get_hl(0, { name = "FlemmaDiffDelete", link = false }).bg
  local text = delete.fg or normal.fg
  if not line or not text then
    return diff_background("DiffText")
  end
  local mixed = colors.mix(line, text, WORDS / 10)
  if normal.fg and normal.bg then
    mixed = softened(line, text, WORDS, normal)
    -- A line that is hardly readable itself has its words on the other side.
    mixed = carries_code(mixed, normal) and mixed or colors.mix(line, normal.bg, WORDS / 10)
  end
  return { bg = mixed, ctermfg = delete.ctermfg, ctermbg = delete.ctermbg, cterm = delete.cterm }
end

--- Returns a group in the color of its link, as near to that of the text as it must be to be
--- read: Neovim's diagnostics are light blue and light green also in light color schemes.
---@return table? definition nil if the link itself can be read.
local function readable(link)
  local normal = vim.api.nvim_get_hl(0, { name = "Normal", link = false })
  local group = vim.api.nvim_get_hl(0, { name = link, link = false })
  local background = group.bg or normal.bg
  if not background or not normal.fg or not group.fg or colors.contrast(group.fg, background) >= LEAST_CONTRAST then
    return nil
  end
  for share = 1, 9 do
    local color = colors.mix(group.fg, normal.fg, share / 10)
    if colors.contrast(color, background) >= LEAST_CONTRAST then
      group.fg = color
      break
    end
  end
  return group
end

--- The roles, which must differ from each other and from text: the first keep the groups that they
--- link to.
local ROLES = { "FlemmaUser", "FlemmaAssistant", "FlemmaSystem" }
--- Groups for roles that would look alike.
local OTHERS = { "Statement", "Type", "Identifier", "Constant", "PreProc", "Special", "Directory" }
--- Styles for roles where no group has a look of its own, as in a color scheme without colors.
local STYLES = { "bold", "italic", "underline", "undercurl" }

--- Returns how a definition looks: with GUI colors, and in a terminal with few colors.
---@return string gui
---@return string terminal
local function looks(group)
  local normal = vim.api.nvim_get_hl(0, { name = "Normal", link = false })
  local gui = { group.fg or normal.fg or "", group.bg or normal.bg or "" }
  local terminal = { group.ctermfg or normal.ctermfg or "", group.ctermbg or normal.ctermbg or "" }
  for _, style in ipairs({ "bold", "italic", "underline", "undercurl", "reverse" }) do
    table.insert(gui, tostring(group[style] or false))
    table.insert(terminal, tostring((group.cterm or {})[style] or false))
  end
  return table.concat(gui, " "), table.concat(terminal, " ")
end

local function is_unlike(group, others)
  local gui, terminal = looks(group)
  return not vim.iter(others):any(function(other)
    local other_gui, other_terminal = looks(other)
    -- Many color schemes have no colors for such a terminal.
    local is_plain = not (group.ctermfg or group.cterm or other.ctermfg or other.cterm)
    return gui == other_gui or terminal == other_terminal and not is_plain
  end)
end

--- Returns a definition that looks like none of the others.
---@param link string The group that is taken if possible.
---@return table? definition
local function unlike(link, others)
  for _, name in ipairs({ link, unpack(OTHERS) }) do
    local group = readable(name) or vim.api.nvim_get_hl(0, { name = name, link = false })
    if is_unlike(group, others) then
      return group
    end
  end
  local group = readable(link) or vim.api.nvim_get_hl(0, { name = link, link = false })
  for _, style in ipairs(STYLES) do
    local cterm = vim.tbl_extend("force", group.cterm or {}, { [style] = true })
    local styled = vim.tbl_extend("force", group, { [style] = true, cterm = cterm })
    if is_unlike(styled, others) then
      return styled
    end
  end
end

--- Gives roles that look alike other colors.
local function tell_roles_apart()
  local known = { vim.api.nvim_get_hl(0, { name = "Normal", link = false }) }
  for _, name in ipairs(ROLES) do
    local group = vim.api.nvim_get_hl(0, { name = name, link = false })
    if not is_unlike(group, known) then
      derive(name, function()
        return unlike(LINKS[name], known)
      end)
    end
    table.insert(known, vim.api.nvim_get_hl(0, { name = name, link = false }))
  end
end

--- Defines all groups that do not exist yet, and those that the user set.
---@param overrides table<string, string|table> The option `highlights`.
function M.define(overrides)
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
  for group, link in pairs(LINKS) do
    if not DIM[link] then
      derive(group, function()
        return readable(link)
      end)
    end
  end
  tell_roles_apart()
  derive("FlemmaCode", code)
  for _, name in ipairs({ "DiffAdd", "DiffText", "DiffDelete" }) do
    derive("Flemma" .. name, function()
      return diff_background(name)
    end)
  end
  derive("FlemmaDiffDeleteText", removed_words)
  for name, value in pairs(overrides) do
    local definition = type(value) == "string" and { link = value } or value
    local fits = type(name) == "string" and type(definition) == "table"
    -- An invalid definition must not keep the chat from opening.
    local ok, why = pcall(vim.api.nvim_set_hl, 0, group_of(tostring(name)), definition)
    if not ok and fits then
      local message = ("setup(): highlights.%s does not define a highlight group: %s"):format(name, why)
      require("flemma.notices").notify({ level = "error", message = message })
    end
  end
end

return M
