--- What users call. Everything here forwards; nothing is loaded until a chat
--- is open.
---@class flemma
local M = {}

---@type table What the user gave to `setup()`, as it was given.
M.options = {}

--- Keeps the options. They are read when the first `.chat` is opened; a later
--- call replaces them in a running host too.
---@param options? table See |flemma-options|.
function M.setup(options)
  M.options = options or {}
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
