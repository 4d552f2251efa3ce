--- The window of a review: its height, and where its cursor begins.
---@class flemma.review.window
local M = {}

local api = vim.api

--- Makes room for the diff, as long as enough of the chat stays in sight, and moves the cursor to
--- the first hunk.
---@param window integer
function M.arrange(window)
  local lines = api.nvim_buf_get_lines(api.nvim_win_get_buf(window), 0, -1, false)
  require("flemma.window").fit(window)
  for at, line in ipairs(lines) do
    if vim.startswith(line, "@@") then
      return api.nvim_win_set_cursor(window, { at, 0 })
    end
  end
end

return M
