--- The lock of `tools.lock_buffer`: a chat is not 'modifiable' while its tools run, and
--- a change that Neovim refuses for that is explained in one message.
---@class flemma.lock
local M = {}

local api = vim.api
local notices = require("flemma.notices")

local KEYS = api.nvim_create_namespace("flemma.lock")
local WHY = "Nothing was changed: a tool is running, and tools.lock_buffer locks the chat until it ends."

---@type table<integer, boolean> Locked buffers: whether each could be changed before.
local locked = {}
---@type (fun(lines: string[], phase: integer): boolean?)? `vim.paste` as it was before the first lock.
local paste

--- Explains the refusal that Neovim has just reported, if there is one.
local function explain()
  if vim.v.errmsg:find("E21:", 1, true) then
    vim.v.errmsg = ""
    notices.notify({ level = "warn", message = WHY })
  end
end

--- Refuses a paste into a locked chat as a whole: Neovim would report each line of it,
--- and wait for Enter after that.
---@param lines string[]
---@param phase integer
---@return boolean?
local function refuse_paste(lines, phase)
  if locked[api.nvim_get_current_buf()] == nil or vim.bo.modifiable or not paste then
    return paste and paste(lines, phase)
  end
  notices.notify({ level = "warn", message = WHY })
  return false
end

local function watch()
  if paste then
    return
  end
  paste = vim.paste
  vim.paste = refuse_paste
  vim.on_key(function()
    if locked[api.nvim_get_current_buf()] ~= nil then
      vim.schedule(explain)
    end
  end, KEYS)
end

local function unwatch()
  if paste and next(locked) == nil then
    vim.on_key(nil, KEYS)
    if vim.paste == refuse_paste then
      vim.paste, paste = paste, nil
    end
  end
end

--- Locks the text against the user, or gives it back.
---@param lock flemma.protocol.Lock
function M.lock(lock)
  local buffer = lock.buffer
  local before = locked[buffer]
  if not api.nvim_buf_is_valid(buffer) then
    locked[buffer] = nil
  elseif lock.locked and before == nil then
    locked[buffer] = vim.bo[buffer].modifiable
    vim.bo[buffer].modifiable = false
    watch()
  elseif not lock.locked and before ~= nil then
    locked[buffer] = nil
    vim.bo[buffer].modifiable = before
  end
  unwatch()
end

--- Gives a buffer back: the host that locked it is gone.
---@param buffer integer
function M.release(buffer)
  M.lock({ buffer = buffer, locked = false })
end

return M
