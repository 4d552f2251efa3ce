--- Undo steps of the host's changes.
---
--- A change that is made in Insert mode would share the user's undo step, and undoing that
--- step often did not restore the text (18 of 60 random trials on Neovim 0.11.4). Closing
--- the step before and after, by setting 'undolevels' to its value, never failed in 400.
---@class flemma.undo
local M = {}

local mirror = require("flemma.mirror")

--- Closes the current buffer's undo step.
local function close_step()
  vim.bo.undolevels = vim.bo.undolevels
end

---@return boolean ok
---@return string? why
local function write(buffer, join, change)
  -- Fails after an undo (E790); the change is then a step of its own.
  local joined = join and mirror.ours(buffer) and pcall(vim.cmd.undojoin)
  if not joined then
    close_step()
  end
  local locked, readonly = not vim.bo.modifiable, vim.bo.readonly
  if locked then
    vim.bo.modifiable = true
  end
  -- The first change of a readonly buffer warns (W10) and waits a second.
  if readonly then
    vim.bo.readonly = false
  end
  local ok, why = mirror.muted(buffer, change)
  if readonly then
    vim.bo.readonly = true
  end
  if locked then
    vim.bo.modifiable = false
  end
  close_step()
  return ok, why
end

--- Runs `change` on a buffer, also on a locked one, without telling the host.
---@param buffer integer
---@param join boolean Whether it continues the step of our last change, if the user changed nothing since.
---@param change fun()
---@return boolean ok
---@return string? why The error of `change`, or of Neovim.
function M.write(buffer, join, change)
  if vim.api.nvim_get_current_buf() == buffer then
    return write(buffer, join, change)
  end
  local ok, why
  local called, refused = pcall(vim.api.nvim_buf_call, buffer, function()
    ok, why = write(buffer, join, change)
  end)
  -- A Ctrl-C just now fails the call after the change was made.
  if not called and ok == nil then
    return false, refused
  end
  return ok, why
end

return M
