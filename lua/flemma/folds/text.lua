--- Makes room for what stands in the place of a closed fold.
---@class flemma.folds.text
local M = {}

local api = vim.api

---@param id integer
---@return integer columns Of text.
function M.width(id)
  local info = vim.fn.getwininfo(id == 0 and api.nvim_get_current_win() or id)[1]
  return info.width - info.textoff
end

--- Cuts a text visibly.
---@param text string
---@param room integer In columns.
---@return string
function M.cut(text, room)
  if api.nvim_strwidth(text) <= room then
    return text
  end
  local count = math.max(room - 1, 0)
  local cut = vim.fn.strcharpart(text, 0, count)
  while count > 0 and api.nvim_strwidth(cut) >= room do
    count = count - 1
    cut = vim.fn.strcharpart(text, 0, count)
  end
  return cut .. "…"
end

return M
