--- Keeps the swap file up to date while the host writes: Neovim writes it only after a
--- pause without keys, and during an answer keys are pressed, so a killed Neovim would
--- lose all of it.
---@class flemma.swap
local M = {}

--- How long a change may be missing from the swap file.
local LATEST_MS = 500
--- The same for a change that is not repeated by asking the model again: a tool's result.
local SOON_MS = 20
--- At most this share of the time is spent on writing, also on a slow disk.
local SHARE = 0.02
local LONGEST_MS = 15000

---@class flemma.swap.State
---@field due number? When the swap file is to be written, in `vim.uv.now()`.
---@field not_before number

---@type table<integer, flemma.swap.State>
local states = {}

--- Writes the swap file now.
---@param buffer integer
function M.write(buffer)
  local state = states[buffer] or { not_before = 0 }
  states[buffer], state.due = state, nil
  if not vim.api.nvim_buf_is_loaded(buffer) or not vim.bo[buffer].swapfile then
    return
  end
  local before = vim.uv.hrtime()
  -- Without a swap file there is nothing to keep, and that is no error.
  pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd("silent! preserve")
  end)
  local took = (vim.uv.hrtime() - before) / 1e6
  state.not_before = vim.uv.now() + math.min(took / SHARE, LONGEST_MS)
end

--- The host changed a buffer: its swap file follows.
---@param buffer integer
---@param soon boolean? Whether the change is a tool's result or a decision.
function M.changed(buffer, soon)
  local state = states[buffer] or { not_before = 0 }
  states[buffer] = state
  local now = vim.uv.now()
  local due = math.max(now + (soon and SOON_MS or LATEST_MS), state.not_before)
  if state.due and state.due <= due then
    return
  end
  state.due = due
  vim.defer_fn(function()
    if states[buffer] == state and state.due == due then
      M.write(buffer)
    end
  end, due - now)
end

---@param buffer integer
function M.forget(buffer)
  states[buffer] = nil
end

return M
