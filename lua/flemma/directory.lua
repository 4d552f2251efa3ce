--- The working directory of a chat's calls: that of the window that shows the chat, which
--- `:cd`, `:tcd`, and `:lcd` change, but not 'autochdir'.
---@class flemma.directory
local M = {}

local host = require("flemma.host")

---@type table<integer, string> The directory that the host knows, by buffer.
local sent = require("flemma.state").by_buffer()

---@type string? The directory that the user chose while 'autochdir' was set.
local chosen

--- Notes that the user changed the directory, and not 'autochdir'.
function M.changed()
  chosen = vim.fn.getcwd()
end

--- Returns the working directory of a window. With 'autochdir', which follows the last file, it is
--- that in which Neovim started, or that the user chose.
---@param window? integer By default the current one; -1 for none.
---@return string
function M.here(window)
  if vim.o.autochdir then
    return chosen or vim.g.flemma_directory
  end
  return window == -1 and vim.fn.getcwd(-1, -1) or vim.fn.getcwd(window or 0)
end

--- Returns the directory of a chat, which the caller sends to the host.
---@param buffer integer
---@return string
function M.of(buffer)
  sent[buffer] = M.here(vim.fn.bufwinid(buffer))
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
