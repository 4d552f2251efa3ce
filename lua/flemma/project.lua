--- What a project brings along in `.flemma`, and the user's skills. The host program finds
--- them, and decides what is trusted.
---@class flemma.project
local M = {}

---@class flemma.project.Skill
---@field name string
---@field description string One line.
---@field path string

---@class flemma.project.Report
---@field skills flemma.project.Skill[] The skills that new chats list.
---@field templates? string The project's folder of templates, if it is trusted.
---@field messages string[] For the user.

--- Most milliseconds to wait for the report.
local TIMEOUT = 2000

--- Returns the report about the project that contains a folder; an empty one without a host
--- program.
---@param folder string Absolute.
---@return flemma.project.Report
function M.report(folder)
  local nothing = { skills = {}, messages = {} }
  local binary = require("flemma.host").binary()
  if vim.fn.executable(binary) == 0 or vim.fn.isdirectory(folder) == 0 then
    return nothing
  end
  local ok, result = pcall(function()
    local options = { text = true, cwd = folder, timeout = TIMEOUT }
    return vim.system({ binary, "project", "--json" }, options):wait()
  end)
  if not ok or result.code ~= 0 then
    return nothing
  end
  local decoded, report = pcall(vim.json.decode, result.stdout, { luanil = { object = true } })
  return decoded and type(report) == "table" and vim.tbl_extend("keep", report, nothing) or nothing
end

return M
