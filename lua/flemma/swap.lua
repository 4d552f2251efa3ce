--- Keeps the swap file up to date while the host writes: Neovim alone writes it
--- when no key was pressed for a while, and during an answer keys are pressed, so a
--- killed Neovim would lose all of it.
---@class flemma.swap
local M = {}

--- What may be lost, at most.
local EVERY_MS = 1000
--- On a disk this slow, the text is kept less often than the editor is to be quick.
local SLOW_MS = 20
local SLOW_EVERY_MS = 15000

---@type table<integer, number> When each buffer may be written next, in `vim.uv.now()`.
local due = {}

---@param buffer integer
local function preserve(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) or not vim.bo[buffer].swapfile then
    return
  end
  local before = vim.uv.hrtime()
  -- Without a swap file there is nothing to keep, and that is no error.
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("silent! preserve")
  end)
  if (vim.uv.hrtime() - before) / 1e6 > SLOW_MS then
    due[buffer] = vim.uv.now() + SLOW_EVERY_MS
  end
end

--- The host changed a buffer: its swap file follows within a second.
---@param buffer integer
function M.changed(buffer)
  local now = vim.uv.now()
  if now < (due[buffer] or 0) then
    return
  end
  due[buffer] = now + EVERY_MS
  vim.defer_fn(function()
    preserve(buffer)
  end, EVERY_MS / 2)
end

---@param buffer integer
function M.forget(buffer)
  due[buffer] = nil
end

return M
