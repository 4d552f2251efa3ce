--- The text of a new chat.
---@class flemma.template
local M = {}

local api = vim.api

--- Puts `@You:` into a buffer whose file does not exist yet, and the cursor below it, unless
--- the user's own template has filled it.
---@param buffer integer
function M.fill(buffer)
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  if #lines > 1 or lines[1] ~= "" or not vim.bo[buffer].modifiable then
    return
  end
  -- Without an undo step, so that `u` in a new chat undoes only what the user typed.
  local levels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1
  api.nvim_buf_set_lines(buffer, 0, -1, false, { "@You:", "" })
  vim.bo[buffer].undolevels = levels
  vim.bo[buffer].modified = false
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    api.nvim_win_set_cursor(window, { 2, 0 })
  end
end

return M
