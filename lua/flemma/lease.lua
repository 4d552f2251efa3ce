--- Chats that another program works on, as the host says. What that program wrote
--- is read before a key is passed on, so that nobody goes on from an older text;
--- where there are unsaved changes, Neovim asks.
---@class flemma.lease
local M = {}

---@type table<integer, boolean> By buffer.
local elsewhere = {}

---@param message flemma.protocol.Taken
function M.taken(message)
  elsewhere[message.buffer] = message.elsewhere or nil
end

--- Reads the file again if another program may have written it.
---@param buffer integer
function M.refresh(buffer)
  if elsewhere[buffer] then
    vim.cmd.checktime(buffer)
  end
end

---@param buffer integer
function M.forget(buffer)
  elsewhere[buffer] = nil
end

return M
