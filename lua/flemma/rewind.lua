--- Reverts an undo that removes text of an answer while the answer arrives, because the
--- rest would be appended behind a hole. The user's own changes can be undone.
---
--- Neovim reports an undo only afterwards, by |changenr()|.
---@class flemma.rewind
local M = {}

local api = vim.api
local follow = require("flemma.follow")
local notices = require("flemma.notices")

local WHY = "The answer is still arriving, so nothing was undone. Press u again when it is complete."

---@class flemma.rewind.State
---@field steps table<integer, boolean> Undo steps that contain text of the answer.
---@field last integer The step of the text, as last seen.
---@field newest integer The highest number of a step, as last seen.
---@field above string The line above the anchor when the answer was last written.
---@field windows integer[] Windows at the end, as last seen.
---@field torn boolean? Whether text of the answer may have been undone or redone since then.

---@type table<integer, flemma.rewind.State> Buffers into which an answer is written.
local states = {}

local function step(buffer)
  return api.nvim_buf_call(buffer, vim.fn.changenr)
end

--- Returns the line above, without trailing blanks, which may be trimmed at any time.
local function line_above(buffer, row)
  local line = row > 0 and api.nvim_buf_get_lines(buffer, row - 1, row, false)[1] or ""
  return (line:gsub("%s+$", ""))
end

--- Notes a piece of an answer, or the place for it.
---@param buffer integer
---@param row integer Of the anchor, after the piece.
function M.wrote(buffer, row)
  local state = states[buffer] or { steps = {}, newest = 0 }
  states[buffer] = state
  state.last, state.windows = step(buffer), follow.windows(buffer)
  state.above = line_above(buffer, row)
  state.steps[state.last] = true
  state.newest = math.max(state.newest, state.last)
  state.torn = nil
end

--- Returns true if one of the steps that were undone contains text of the answer.
---@param now integer The step of the text as it is.
local function took_answer(state, now)
  for number = now + 1, state.last do
    if state.steps[number] then
      return true
    end
  end
  return false
end

--- Restores text of the answer that was undone.
---@param buffer integer
function M.check(buffer)
  local state = states[buffer]
  if not state then
    return
  end
  local now = step(buffer)
  if now < state.last and took_answer(state, now) then
    api.nvim_buf_call(buffer, function()
      vim.cmd(("silent! undo %d"):format(state.last))
    end)
    state.torn = true
    follow.to_end(state.windows, buffer)
    notices.notify({ level = "warn", message = WHY })
  else
    state.last = now
  end
end

--- Returns true if the line above a row is the one that was above the anchor: after an undo
--- and a redo the anchor may be before its text.
---@param buffer integer
---@param row integer
---@return boolean
function M.is_row(buffer, row)
  local state = states[buffer]
  return state ~= nil and line_above(buffer, row) == state.above
end

--- Returns true if the anchor may be elsewhere, because text of the answer may have been
--- undone.
---@param buffer integer
---@return boolean
function M.is_torn(buffer)
  local state = states[buffer]
  return state ~= nil and state.torn == true
end

--- Looks at a change of the user's while it is made, because a later one may hide an undo.
---@param buffer integer
---@return boolean watched Whether the caller has to call |flemma.rewind.check()| afterwards.
function M.changed(buffer)
  local state = states[buffer]
  if not state then
    return false
  end
  if api.nvim_get_current_buf() == buffer then
    -- A change that is neither undo nor redo has the highest number so far. During an undo the
    -- number may be that of the step or one less.
    local now = vim.fn.changenr()
    state.torn = state.torn or now < state.newest or now == state.newest and state.steps[now]
    state.newest = math.max(state.newest, now)
  end
  return true
end

--- Ends the watch after the answer is complete or lost.
---@param buffer integer
function M.forget(buffer)
  states[buffer] = nil
end

return M
