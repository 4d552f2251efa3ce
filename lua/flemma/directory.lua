--- The working directory that a chat's calls start from: that of the window that shows
--- it, which `:cd`, `:tcd` and `:lcd` change.
---@class flemma.directory
local M = {}

local host = require("flemma.host")

---@type table<integer, string> What was sent to the host last, by buffer.
local told = {}

--- The directory of a chat, remembered as the one that the host knows.
---@param buffer integer
---@return string
function M.of(buffer)
  local window = vim.fn.bufwinid(buffer)
  told[buffer] = window > 0 and vim.fn.getcwd(window) or vim.fn.getcwd(-1, -1)
  return told[buffer]
end

--- Tells the host if the directory is another one than it knows.
---@param buffer integer
function M.tell(buffer)
  local before = told[buffer]
  local now = M.of(buffer)
  if now ~= before then
    host.send("directory", { buffer = buffer, cwd = now })
  end
end

--- Forgets a chat.
---@param buffer integer
function M.forget(buffer)
  told[buffer] = nil
end

return M
