--- The lock of `tools.lock_buffer`: a chat is not 'modifiable' while its tools run. One
--- message explains a change that Neovim refuses.
---@class flemma.lock
local M = {}

local api = vim.api
local notices = require("flemma.notices")

local KEYS = api.nvim_create_namespace("flemma.lock")
local WHY = "Nothing was changed: a tool is running, and tools.lock_buffer locks the chat until it ends."

---@type table<integer, boolean> The former 'modifiable' of locked buffers.
local locked = {}
---@type (fun(lines: string[], phase: integer): boolean?)? `vim.paste` as it was before the first lock.
local paste

--- Explains the error that Neovim has just reported, if it is about 'modifiable'.
local function explain()
  if vim.v.errmsg:find("E21:", 1, true) then
    vim.v.errmsg = ""
    notices.notify({ level = "warn", message = WHY })
  end
end

--- Refuses a whole paste into a locked chat. Neovim would report each line and wait for
--- Enter.
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

--- Locks or unlocks the text.
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

--- Unlocks a buffer.
---@param buffer integer
function M.release(buffer)
  M.lock({ buffer = buffer, locked = false })
end

return M
