--- The highlight groups, as links that a colour scheme or the user overrides.
---@class flemma.highlights
local M = {}

--- The group that each group links to.
local LINKS = {
  FlemmaSystem = "Special",
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
  FlemmaToolOutput = "Comment",
  FlemmaToolPending = "DiagnosticInfo",
  FlemmaToolSuccess = "DiagnosticOk",
  FlemmaDiffAdd = "DiffAdd",
  FlemmaDiffDelete = "DiffDelete",
  FlemmaDiffText = "DiffText",
  FlemmaDiffFile = "Directory",
  FlemmaDiffNumber = "LineNr",
  FlemmaSpinner = "DiagnosticInfo",
  FlemmaQueued = "DiagnosticHint",
  FlemmaTaskPending = "Comment",
  FlemmaTaskInProgress = "DiagnosticInfo",
  FlemmaTaskCompleted = "DiagnosticOk",
  FlemmaUsage = "Comment",
  FlemmaRemarkError = "DiagnosticError",
  FlemmaRemarkWarn = "DiagnosticWarn",
  FlemmaRemarkInfo = "DiagnosticInfo",
}

---@param name string As in `highlights.tool_preview`.
---@return string group As in `FlemmaToolPreview`.
local function group_of(name)
  return "Flemma" .. name:gsub("^%l", string.upper):gsub("_(%l)", string.upper)
end

--- Backgrounds that a color scheme has, one of which is that of code.
local BACKGROUNDS = { "NormalFloat", "CursorLine" }
--- Most difference of one color to that of the text's background, so that code is readable.
local MOST_CONTRAST = 40

--- What `FlemmaCode` was set to here.
---@type table?
local code

---@param one integer RGB.
---@param other integer
---@return integer difference Of the color that differs most.
local function contrast(one, other)
  local most = 0
  for _, unit in ipairs({ 1, 0x100, 0x10000 }) do
    local difference = math.floor(one / unit) % 0x100 - math.floor(other / unit) % 0x100
    most = math.max(most, math.abs(difference))
  end
  return most
end

--- Gives code the background of the color scheme that differs least from that of text. A link
--- would do in few schemes: floats have loud colors in some, and 'cursorline' is an underline.
local function define_code()
  local current = vim.api.nvim_get_hl(0, { name = "FlemmaCode" })
  if next(current) and not vim.deep_equal(current, code) then
    return
  end
  local normal = vim.api.nvim_get_hl(0, { name = "Normal", link = false }).bg
  local best, least = nil, MOST_CONTRAST + 1
  for _, name in ipairs(normal and BACKGROUNDS or {}) do
    local background = vim.api.nvim_get_hl(0, { name = name, link = false }).bg
    local difference = background and contrast(background, normal) or 0
    if difference > 0 and difference < least then
      best, least = background, difference
    end
  end
  vim.api.nvim_set_hl(0, "FlemmaCode", { bg = best })
  code = vim.api.nvim_get_hl(0, { name = "FlemmaCode" })
end

--- Defines all groups that do not exist yet, and those that the user set.
---@param overrides table<string, string|table> The option `highlights`.
function M.define(overrides)
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
  define_code()
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
