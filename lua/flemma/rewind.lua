--- Undo while an answer arrives. An undo or redo that takes text of the answer away
--- would leave a hole, because the rest goes on below: it is taken back at once, and a
--- message says why. The user's own changes can be undone as ever.
---
--- Neovim tells of an undo only afterwards, by |changenr()|.
---@class flemma.rewind
local M = {}

local api = vim.api
local follow = require("flemma.follow")
local notices = require("flemma.notices")

local WHY = "The answer is still arriving, so nothing was undone. Press u again when it is complete."

---@class flemma.rewind.State
---@field steps table<integer, boolean> Undo steps that hold text of the answer.
---@field last integer The newest step of the text, as last seen.
---@field place integer[] Where the anchor was last seen: row and column.
---@field windows integer[] Those at the end, as last seen.
---@field torn boolean? Whether text of the answer was undone and it is not known to be back.

---@type table<integer, flemma.rewind.State> Buffers into which an answer is written.
local states = {}

---@param buffer integer
---@return integer
local function step(buffer)
  return api.nvim_buf_call(buffer, vim.fn.changenr)
end

--- The host wrote a piece of an answer, or the place for it.
---@param buffer integer
---@param row integer Of the anchor, behind the piece.
---@param column integer
function M.wrote(buffer, row, column)
  local state = states[buffer] or { steps = {} }
  states[buffer] = state
  state.last, state.place, state.windows = step(buffer), { row, column }, follow.windows(buffer)
  state.steps[state.last] = true
  state.torn = nil
end

--- Whether one of the steps that were undone holds text of the answer.
---@param state flemma.rewind.State
---@param now integer The step of the text as it is.
---@return boolean
local function took_answer(state, now)
  for number = now + 1, state.last do
    if state.steps[number] then
      return true
    end
  end
  return false
end

--- Looks whether text of the answer was undone, and brings it back.
---@param buffer integer
---@param row integer? Where the anchor is now.
---@param column integer?
---@return integer[]? place Where the anchor must be set again.
function M.check(buffer, row, column)
  local state = states[buffer]
  if not state then
    return
  end
  local now = step(buffer)
  if now < state.last and took_answer(state, now) then
    api.nvim_buf_call(buffer, function()
      vim.cmd(("silent! undo %d"):format(state.last))
    end)
    state.torn = nil
    follow.to_end(state.windows, buffer)
    notices.notify({ level = "warn", message = WHY })
    return state.place
  end
  -- After an undo and a redo the anchor is in front of its text, and after an undo and
  -- another change the text cannot be brought back.
  if not state.torn then
    state.last = now
    state.place = row and column and { row, column } or state.place
  end
end

--- Where the anchor was before the text of the answer was touched.
---@param buffer integer
---@return integer? row
---@return integer? column
function M.place(buffer)
  local state = states[buffer]
  if state and state.torn then
    return state.place[1], state.place[2]
  end
end

--- Whether text of the answer was undone and cannot be brought back.
---@param buffer integer
---@return boolean
function M.is_torn(buffer)
  local state = states[buffer]
  return state ~= nil and state.torn == true
end

--- Looks at a change of the user's while it is made. A later one may hide the undo.
---@param buffer integer
---@return boolean watched Whether |flemma.rewind.check()| is to be called when it is made.
function M.changed(buffer)
  local state = states[buffer]
  if not state then
    return false
  end
  if api.nvim_get_current_buf() == buffer then
    -- Whether the number is down already while an undo is made depends on the change;
    -- any other change has a number of its own.
    local now = vim.fn.changenr()
    state.torn = state.torn or now == state.last and state.steps[now] or took_answer(state, now)
  end
  return true
end

--- The answer is complete, or lost.
---@param buffer integer
function M.forget(buffer)
  states[buffer] = nil
end

return M
