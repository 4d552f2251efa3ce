--- Chats that another program may write. Their files are read again before a key is passed
--- on and before Insert mode. If there are unsaved changes, Neovim asks.
---@class flemma.lease
local M = {}

---@type table<integer, boolean> Chats that the host knows to be open in another program.
local elsewhere = require("flemma.state").by_buffer()

---@param message flemma.protocol.Taken
function M.taken(message)
  elsewhere[message.buffer] = message.elsewhere or nil
end

--- Reads the file again before a key is passed on.
---@param buffer integer
function M.refresh(buffer)
  if elsewhere[buffer] then
    vim.cmd.checktime(buffer)
  else
    M.before_typing(buffer)
  end
end

--- Reads the file again unless there are unsaved changes.
---@param buffer integer
function M.before_typing(buffer)
  if not vim.bo[buffer].modified then
    vim.cmd.checktime(buffer)
  end
end

--- Forgets what an earlier host said.
---@param buffer integer
function M.forget(buffer)
  elsewhere[buffer] = nil
end

return M
