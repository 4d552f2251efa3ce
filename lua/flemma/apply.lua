--- Applies the host's edits: all of an edit or nothing, at the text that it was computed
--- for, wherever the cursor is. The host gets an answer to each.
---@class flemma.apply
local M = {}

local api = vim.api
local follow = require("flemma.follow")
local host = require("flemma.host")
local lock = require("flemma.lock")
local mirror = require("flemma.mirror")
local neovim = require("flemma.neovim")
local queue = require("flemma.queue")
local rewind = require("flemma.rewind")
local swap = require("flemma.swap")
local undo = require("flemma.undo")

local ANCHORS = api.nvim_create_namespace("flemma.anchors")
---@type table<integer, integer> The anchor of the answer that is written into each buffer.
local writing = {}

--- Returns true if an error is temporary: a textlock (E565), a command-line window (E11).
local function refused(why)
  return why:find("E565", 1, true) ~= nil or why:find("E11:", 1, true) ~= nil
end

--- Changes the text once. A Ctrl-C that Neovim reports after the change does not count as a failure.
local function once(buffer, change)
  local seq = mirror.seq(buffer)
  local ok, why = pcall(change)
  if not ok and not (why == neovim.INTERRUPTED and mirror.seq(buffer) ~= seq) then
    error(why, 0)
  end
end

---@param more? table Other fields of |flemma.protocol.Applied|.
local function answer(edit, outcome, more)
  if outcome == "applied" then
    -- Decisions and results, unlike an answer's text, cannot be requested again.
    swap.changed(edit.buffer, edit.changes ~= nil)
  end
  local applied = { buffer = edit.buffer, edit = edit.edit, outcome = outcome, seq = mirror.seq(edit.buffer) }
  host.send("applied", vim.tbl_extend("error", applied, more or {}))
end

local function usable(buffer)
  return api.nvim_buf_is_valid(buffer) and api.nvim_buf_is_loaded(buffer)
end

--- Validates the changes of an edit.
---@return string? problem
local function misfit(edit)
  local from = 0
  for _, change in ipairs(edit.changes) do
    if change.first < from or change.last < change.first then
      return ("change at line %d is out of order"):format(change.first)
    end
    from = change.last
  end
  local count = api.nvim_buf_line_count(edit.buffer)
  return from > count and ("line %d is past the end, %d"):format(from, count) or nil
end

--- Sets an anchor.
local function place(buffer, anchor, row, column)
  api.nvim_buf_set_extmark(buffer, ANCHORS, row, column, { id = anchor, right_gravity = false, invalidate = true })
  writing[buffer] = anchor
  rewind.wrote(buffer, row)
end

--- Wraps a handler of edits so that an error is answered, too: the host sends nothing else
--- until it has the answer.
---@generic T: flemma.protocol.Apply|flemma.protocol.Append
local function answered(carry_out)
  return function(edit)
    local ok, result = xpcall(carry_out, debug.traceback, edit)
    if ok then
      return result
    end
    host.log(("edit %d: %s"):format(edit.edit, result))
    -- The edit may have changed a part of the text, which the host does not know.
    if usable(edit.buffer) then
      mirror.snapshot(edit.buffer)
    end
    answer(edit, "failed", { message = vim.split(result, "\n")[1] })
  end
end

--- Makes changes in one undo step, from the last to the first, and keeps windows at the
--- end that were there.
---@return "done"|"hold"|nil outcome Nil: it failed, and the host has the answer.
local function write(edit, count, change)
  local buffer, seq = edit.buffer, mirror.seq(edit.buffer)
  local following = follow.windows(buffer)
  local ok, why = undo.write(buffer, edit.join, function()
    for index = count, 1, -1 do
      once(buffer, function()
        change(index)
      end)
    end
  end)
  local made = mirror.seq(buffer) - seq
  if not ok and made == 0 and refused(why or "") then
    return queue.HOLD
  elseif not ok and made < count then
    if made > 0 then
      -- The host does not know the changes that were made, so it gets the whole text.
      mirror.snapshot(buffer)
    end
    return answer(edit, "failed", { message = why })
  end
  follow.to_end(following, buffer)
  return "done"
end

--- Applies the changes of one step, or none of them.
---@type fun(edit: flemma.protocol.Apply): "hold"|nil
M.apply = answered(function(edit)
  local buffer = edit.buffer
  if not usable(buffer) then
    return answer(edit, "failed", { message = "The buffer is gone." })
  end
  if mirror.seq(buffer) ~= edit.seq then
    return answer(edit, "stale")
  end
  local wrong = misfit(edit)
  if wrong then
    return answer(edit, "failed", { message = wrong })
  end
  local outcome = write(edit, #edit.changes, function(index)
    local change = edit.changes[index]
    api.nvim_buf_set_lines(buffer, change.first, change.last, true, change.lines)
  end)
  if outcome ~= "done" then
    return outcome
  end
  follow.fill(buffer)
  if edit.anchor then
    place(buffer, edit.anchor.anchor, edit.anchor.line, edit.anchor.column)
  end
  if edit.unlock then
    lock.release(buffer)
  end
  answer(edit, "applied")
  -- After the answer, so that the call does not wait for the disk.
  if edit.keep then
    swap.write(buffer)
  end
end)

--- Returns the place of an anchor, if the text around it still exists.
---@return integer? row
---@return integer? column
local function position(buffer, anchor)
  local mark = api.nvim_buf_get_extmark_by_id(buffer, ANCHORS, anchor, { details = true })
  local row, column = mark[1], mark[2]
  if not row or not column or mark[3].invalid then
    return
  end
  -- After `:edit!` a mark may be outside the text.
  local line = api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
  if line and column <= #line then
    return row, column
  end
end

--- Restores what an undo took from an answer that is still arriving.
local function check_undo(buffer)
  if writing[buffer] and usable(buffer) then
    rewind.check(buffer)
  end
end

mirror.on_change(function(buffer)
  if writing[buffer] and not mirror.is_muted(buffer) and rewind.changed(buffer) then
    vim.schedule(function()
      check_undo(buffer)
    end)
  end
end)

--- Returns true if the text before an anchor is what the host expects.
local function as_expected(append, row, column)
  local expect = append.expect
  local line = row and api.nvim_buf_get_lines(append.buffer, row, row + 1, false)[1]
  if not line or not column or column > #line then
    return false
  elseif not expect then
    return true
  end
  local tail = expect.tail
  -- Blanks before the anchor may have been trimmed, as by an autocommand on saving.
  local trimmed = #tail - #tail:gsub("[ \t]+$", "")
  if expect.column - column == trimmed then
    tail = tail:sub(1, #tail - trimmed)
  elseif column ~= expect.column then
    return false
  end
  return vim.endswith(line:sub(1, column), tail)
end

--- Finds the end of an answer whose text was undone and redone, which leaves the anchor
--- before it.
---@return integer? row
---@return integer? column
local function find(append)
  local buffer, column = append.buffer, append.expect and append.expect.column
  if not column then
    return position(buffer, append.anchor)
  end
  for row = api.nvim_buf_line_count(buffer) - 1, 0, -1 do
    if rewind.is_row(buffer, row) and as_expected(append, row, column) then
      return row, column
    end
  end
end

--- Inserts text at an anchor and moves the anchor behind it.
---@type fun(append: flemma.protocol.Append): "hold"|nil
M.append = answered(function(append)
  local buffer, lines = append.buffer, append.lines
  if not usable(buffer) then
    return answer(append, "lost", { message = "The buffer is gone." })
  end
  check_undo(buffer)
  local row, column = position(buffer, append.anchor)
  if rewind.is_torn(buffer) then
    row, column = find(append)
  end
  if not row or not column then
    return answer(append, "lost")
  end
  if not as_expected(append, row, column) then
    return answer(append, "moved", { at_row = row, at_column = column })
  end
  local outcome = write(append, 1, function()
    api.nvim_buf_set_text(buffer, row, column, row, column, lines)
  end)
  if outcome ~= "done" then
    return outcome
  end
  local last_row = row + #lines - 1
  local last_column = (#lines == 1 and column or 0) + #lines[#lines]
  place(buffer, append.anchor, last_row, last_column)
  answer(append, "applied", { at_row = row, at_column = column })
end)

---@param anchor flemma.protocol.ReleaseAnchor
function M.release_anchor(anchor)
  if api.nvim_buf_is_valid(anchor.buffer) then
    api.nvim_buf_del_extmark(anchor.buffer, ANCHORS, anchor.anchor)
  end
  -- A later answer has an anchor of its own.
  if writing[anchor.buffer] == anchor.anchor then
    writing[anchor.buffer] = nil
    rewind.forget(anchor.buffer)
  end
end

--- Returns true while an answer is being written into a buffer.
---@param buffer integer
---@return boolean
function M.is_writing(buffer)
  return #api.nvim_buf_get_extmarks(buffer, ANCHORS, 0, -1, { limit = 1 }) > 0
end

--- Unlocks a buffer and removes its anchors after the host has exited.
---@param buffer integer
function M.release(buffer)
  lock.release(buffer)
  writing[buffer] = nil
  rewind.forget(buffer)
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, ANCHORS, 0, -1)
  end
end

return M
