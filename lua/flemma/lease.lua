--- Chats that other programs may work on: while there is nothing unsaved here, or
--- when the host says that one does. What it wrote is read before a key is passed on,
--- so that nobody goes on from an older text; where there are unsaved changes, Neovim
--- asks.
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
  if elsewhere[buffer] or not vim.bo[buffer].modified then
    vim.cmd.checktime(buffer)
  end
end

--- Likewise before something is typed; what was typed before is left as it is.
---@param buffer integer
function M.before_typing(buffer)
  if not vim.bo[buffer].modified then
    vim.cmd.checktime(buffer)
  end
end

---@param buffer integer
function M.forget(buffer)
  elsewhere[buffer] = nil
end

return M
