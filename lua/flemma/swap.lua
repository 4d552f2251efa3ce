--- Writes the swap files of chats. Neovim writes one only after a pause without keys, 'updatetime',
--- so a killed Neovim would lose seconds of typing, and an answer during which keys were pressed.
---@class flemma.swap
local M = {}

--- Longest time that a change is missing from the swap file.
local LATEST_MS = 500
--- The same for a decision or a tool's result, which cannot be requested again.
local SOON_MS = 20
--- Largest share of the time that is spent on writing, and the longest pause for that.
local SHARE = 0.02
local LONGEST_MS = 15000
--- Longest time that typed text is missing, however long a write takes.
local TYPED_MS = 900

---@class flemma.swap.State
---@field due number? When the swap file will be written, in `vim.uv.now()`.
---@field not_before number

---@type table<integer, flemma.swap.State>
local states = require("flemma.state").by_buffer()

--- Writes the swap file now.
---@param buffer integer
function M.write(buffer)
  local state = states[buffer] or { not_before = 0 }
  states[buffer], state.due = state, nil
  if not vim.api.nvim_buf_is_loaded(buffer) or not vim.bo[buffer].swapfile then
    return
  end
  local before = vim.uv.hrtime()
  -- `:preserve` fails for a buffer that has no swap file.
  pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd("silent! preserve")
  end)
  local took = (vim.uv.hrtime() - before) / 1e6
  state.not_before = vim.uv.now() + math.min(took / SHARE, LONGEST_MS)
end

---@param delay integer Milliseconds until the write.
---@param longest integer The same if writing takes long.
local function schedule(buffer, delay, longest)
  local state = states[buffer] or { not_before = 0 }
  states[buffer] = state
  local now = vim.uv.now()
  local due = math.max(now + delay, math.min(state.not_before, now + longest))
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

--- Schedules a write after a change of the host's.
---@param buffer integer
---@param soon boolean? Whether the change is a tool's result or a decision.
function M.changed(buffer, soon)
  schedule(buffer, soon and SOON_MS or LATEST_MS, LONGEST_MS)
end

--- Schedules a write after a change of the user's.
---@param buffer integer
function M.typed(buffer)
  schedule(buffer, LATEST_MS, TYPED_MS)
end

return M
