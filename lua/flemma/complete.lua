--- Insert-mode completion by CTRL-X CTRL-O, with the words of |flemma.lsp|.
---@class flemma.complete
local M = {}

--- For 'omnifunc', see |complete-functions|. The menu opens when the host has answered.
---@param findstart integer
---@param base string
---@return integer|table[]
function M.omni(findstart, base)
  if findstart == 1 then
    require("flemma.lsp").start(vim.api.nvim_get_current_buf())
  end
  return vim.lsp.omnifunc(findstart, base)
end

return M
