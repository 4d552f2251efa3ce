--- The public functions `setup()` and `statusline()`. Loads nothing else until a chat is
--- open.
---@class flemma
local M = {}

---@type flemma.Options The options, if `setup()` got a table.
M.options = {}
---@type any The argument of `setup()`, which the host validates.
M.given = {}
---@type string? The line that called `setup()`, as `file:line`.
M.caller = nil

--- Stores the options, which are validated when the first `.chat` is opened. A later call
--- replaces them, also in a running host.
---@param options? flemma.Options See |flemma-options|.
function M.setup(options)
  M.given = options == nil and {} or options
  M.options = type(options) == "table" and options or {}
  local caller = debug.getinfo(2, "Sl")
  M.caller = caller and caller.currentline > 0 and ("%s:%d"):format(caller.short_src, caller.currentline) or nil
  local buffer = package.loaded["flemma.buffer"]
  if buffer then
    buffer.configure()
  end
end

--- Returns the state of the current chat for a status line.
---@return string text May be empty.
function M.statusline()
  local status = package.loaded["flemma.status"]
  return status and status.text(vim.api.nvim_get_current_buf()) or ""
end

return M
