--- The functions that users call. Loads nothing else until a chat is open.
---@class flemma
local M = {}

---@type flemma.Options The table given to `setup()`.
M.options = {}
---@type any What `setup()` was given, which the host validates.
M.given = {}
---@type string? The line that called `setup()`, as `file:line`.
M.caller = nil

--- Stores the options. They are read and validated when the first `.chat` is opened;
--- a later call replaces them in a running host too.
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

--- What the host has to say about the current buffer, for a status line.
---@return string text Empty when there is nothing to say.
function M.statusline()
  local notices = package.loaded["flemma.notices"]
  return notices and notices.text(vim.api.nvim_get_current_buf()) or ""
end

return M
