--- The chat that was used last, which `:Flemma ask` continues.
---@class flemma.recent
local M = {}

---@type integer?
local last

---@param buffer integer? A chat.
function M.note(buffer)
  last = buffer
end

--- Returns the chat that was used last, if it is still open.
---@return integer? buffer
function M.get()
  return last and vim.api.nvim_buf_is_loaded(last) and vim.bo[last].filetype == "chat" and last or nil
end

return M
