--- Places of extmarks.
---@class flemma.marks
local M = {}

local api = vim.api

--- Returns the place of an extmark, in the text. The mark of a last line that is deleted, or of
--- a text that `:edit!` replaces, is below the last line.
---@param buffer integer
---@param namespace integer
---@param mark integer
---@return integer? line Nil if there is no such mark.
---@return integer? column In bytes.
function M.place(buffer, namespace, mark)
  local line, column = unpack(api.nvim_buf_get_extmark_by_id(buffer, namespace, mark, {}))
  if not line then
    return
  end
  local last = api.nvim_buf_line_count(buffer) - 1
  if line > last then
    return last, #api.nvim_buf_get_lines(buffer, last, last + 1, false)[1]
  end
  return line, column
end

return M
