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
  FlemmaCode = "NormalFloat",
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

--- Defines all groups that do not exist yet, and those that the user set.
---@param overrides table<string, string|table> The option `highlights`.
function M.define(overrides)
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
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
