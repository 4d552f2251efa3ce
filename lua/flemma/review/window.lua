--- The window of a review: its height, and where its cursor begins.
---@class flemma.review.window
local M = {}

local api = vim.api

--- Part of the screen that its window takes at most.
local MOST_OF_SCREEN = 0.65

--- Makes room for the diff, as long as enough of the chat stays in sight, and moves the cursor to
--- the first hunk.
---@param window integer
function M.arrange(window)
  local lines = api.nvim_buf_get_lines(api.nvim_win_get_buf(window), 0, -1, false)
  local height = math.min(#lines + 1, math.floor(vim.o.lines * MOST_OF_SCREEN))
  if height > api.nvim_win_get_height(window) then
    api.nvim_win_set_height(window, height)
  end
  for at, line in ipairs(lines) do
    if vim.startswith(line, "@@") then
      return api.nvim_win_set_cursor(window, { at, 0 })
    end
  end
end

return M
