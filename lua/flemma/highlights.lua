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
--- How far the background of changed words is from that of their line to the text's color.
local WORDS = 0.3

--- Groups that were set here, and to what.
---@type table<string, table>
local derived = {}

--- Sets a group, unless the user or the color scheme did.
---@param name string
---@param definition fun(): table?
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
---@return table
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

--- Returns a group with this background, and without RGB colors as `DiffDelete` has it.
---@param background integer?
---@return table?
local function with_background(background)
  local delete = vim.api.nvim_get_hl(0, { name = "DiffDelete", link = false })
  return background and { bg = background, ctermfg = delete.ctermfg, ctermbg = delete.ctermbg, cterm = delete.cterm }
end

--- Returns the background of changed words in removed lines: nearer to the text's color.
---@return integer?
local function removed_words()
  local background, text = removed(), vim.api.nvim_get_hl(0, { name = "DiffDelete", link = false }).fg
  if not background or not text then
    return nil
  end
  return colors.mix(background, text, WORDS)
end

--- Returns a group in the color of its link, as near to that of the text as it must be to be
--- read: Neovim's diagnostics are light blue and light green also in light color schemes.
---@param link string
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
  derive("FlemmaCode", code)
  derive("FlemmaDiffDelete", function()
    return with_background(removed())
  end)
  derive("FlemmaDiffDeleteText", function()
    return with_background(removed_words())
  end)
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
