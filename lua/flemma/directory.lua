--- The working directory of a chat's calls: that of the window that shows the chat, which
--- `:cd`, `:tcd`, and `:lcd` change.
---@class flemma.directory
local M = {}

local host = require("flemma.host")

---@type table<integer, string> The directory that the host knows, by buffer.
local sent = require("flemma.state").by_buffer()

--- Returns the directory of a chat, which the caller sends to the host.
---@param buffer integer
---@return string
function M.of(buffer)
  local window = vim.fn.bufwinid(buffer)
  sent[buffer] = window > 0 and vim.fn.getcwd(window) or vim.fn.getcwd(-1, -1)
  return sent[buffer]
end

--- Sends the directory if it changed.
---@param buffer integer
function M.send(buffer)
  local before = sent[buffer]
  local now = M.of(buffer)
  if now ~= before then
    host.send("directory", { buffer = buffer, cwd = now })
  end
end

return M
