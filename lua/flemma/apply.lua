--- Carries out the host's edits: at the text they were computed for, all or
--- nothing, wherever the user is. What to write is the host's business; this
--- module refuses what no longer fits and says so.
---@class flemma.apply
local M = {}

local api = vim.api
local follow = require("flemma.follow")
local host = require("flemma.host")
local lock = require("flemma.lock")
local mirror = require("flemma.mirror")
local queue = require("flemma.queue")
local rewind = require("flemma.rewind")
local swap = require("flemma.swap")
local undo = require("flemma.undo")

local ANCHORS = api.nvim_create_namespace("flemma.anchors")
---@type table<integer, integer> The anchor of the answer that is written into each buffer.
local writing = {}

--- What Neovim's API says of a Ctrl-C.
local INTERRUPTED = "Keyboard interrupt"

--- Whether an error says "not now": textlock (E565), a command-line window (E11).
---@param why string?
---@return boolean
local function refused(why)
  return why ~= nil and (why:find("E565", 1, true) ~= nil or why:find("E11:", 1, true) ~= nil)
end

--- Changes the text once. An interrupt, a Ctrl-C that comes just now, is reported by
--- Neovim after the change was made, and that is no failure.
---@param buffer integer
---@param change fun()
local function once(buffer, change)
  local seq = mirror.seq(buffer)
  local ok, why = pcall(change)
  if not ok and not (why == INTERRUPTED and mirror.seq(buffer) ~= seq) then
    error(why, 0)
  end
end

---@param edit flemma.protocol.Apply|flemma.protocol.Append
---@param outcome string
---@param more? table Other fields of |flemma.protocol.Applied|.
local function answer(edit, outcome, more)
  if outcome == "applied" then
    -- Changes beside an answer are decisions and results.
    swap.changed(edit.buffer, edit.changes ~= nil)
  end
  local applied = { buffer = edit.buffer, edit = edit.edit, outcome = outcome, seq = mirror.seq(edit.buffer) }
  host.send("applied", vim.tbl_extend("error", applied, more or {}))
end

---@param buffer integer
---@return boolean
local function usable(buffer)
  return api.nvim_buf_is_valid(buffer) and api.nvim_buf_is_loaded(buffer)
end

--- What is wrong with the changes of an edit, if anything.
---@param edit flemma.protocol.Apply
---@return string?
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
---@param buffer integer
---@param anchor integer
---@param row integer
---@param column integer
local function place(buffer, anchor, row, column)
  api.nvim_buf_set_extmark(buffer, ANCHORS, row, column, { id = anchor, right_gravity = false, invalidate = true })
  writing[buffer] = anchor
  rewind.wrote(buffer, row)
end

--- Carries an edit out. Whatever goes wrong the host hears of it: until it has the answer
--- it writes nothing else.
---@generic T: flemma.protocol.Apply|flemma.protocol.Append
---@param carry_out fun(edit: T): "hold"|nil
---@return fun(edit: T): "hold"|nil
local function answered(carry_out)
  return function(edit)
    local ok, result = xpcall(carry_out, debug.traceback, edit)
    if ok then
      return result
    end
    host.log(("edit %d: %s"):format(edit.edit, result))
    if usable(edit.buffer) then
      mirror.snapshot(edit.buffer)
    end
    answer(edit, "failed", { message = vim.split(result, "\n")[1] })
  end
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
  local following = follow.windows(buffer)
  local ok, why = undo.write(buffer, edit.join, function()
    for index = #edit.changes, 1, -1 do
      local change = edit.changes[index]
      once(buffer, function()
        api.nvim_buf_set_lines(buffer, change.first, change.last, true, change.lines)
      end)
    end
  end)
  if not ok and mirror.seq(buffer) == edit.seq then
    if refused(why) then
      return queue.HOLD
    end
    return answer(edit, "failed", { message = why })
  end
  if not ok then
    -- Half of it stands, and the host was not told: it gets the whole text.
    mirror.snapshot(buffer)
    return answer(edit, "failed", { message = why })
  end
  if edit.anchor then
    place(buffer, edit.anchor.anchor, edit.anchor.line, edit.anchor.column)
  end
  follow.to_end(following, buffer)
  if edit.unlock then
    lock.release(buffer)
  end
  answer(edit, "applied")
  -- Behind the answer: the call need not wait for the disk.
  if edit.keep then
    swap.write(buffer)
  end
end)

--- Where an anchor stands, if the text it stood in is still there.
---@param buffer integer
---@param anchor integer
---@return integer? row
---@return integer? column
local function position(buffer, anchor)
  local mark = api.nvim_buf_get_extmark_by_id(buffer, ANCHORS, anchor, { details = true })
  local row, column = mark[1], mark[2]
  if not row or not column or mark[3].invalid then
    return
  end
  -- A mark of a text that was read anew may stand where there is nothing.
  local line = api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
  if line and column <= #line then
    return row, column
  end
end

--- Brings back what an undo took from an answer that is still arriving.
---@param buffer integer
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

--- Whether the text before the anchor is what the host thinks it is.
---@param append flemma.protocol.Append
---@param row integer?
---@param column integer?
---@return boolean
local function as_expected(append, row, column)
  local expect = append.expect
  local line = row and api.nvim_buf_get_lines(append.buffer, row, row + 1, false)[1]
  if not row or not column or not line or column > #line then
    return false
  end
  if not expect then
    return true
  end
  local tail = expect.tail or ""
  -- Blanks before the anchor may have been trimmed, as by an autocommand on saving.
  local trimmed = #tail - #tail:gsub("[ \t]+$", "")
  if expect.column - column == trimmed then
    tail = tail:sub(1, #tail - trimmed)
  elseif column ~= expect.column then
    return false
  end
  if #tail > column then
    return false
  end
  return tail == "" or api.nvim_buf_get_text(append.buffer, row, column - #tail, row, column, {})[1] == tail
end

--- Finds the end of an answer whose text was undone and redone: the anchor is in front of
--- such text.
---@param append flemma.protocol.Append
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

--- Inserts text at an anchor and moves the anchor behind it. The user may type
--- anywhere meanwhile.
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
  local following = follow.windows(buffer)
  local seq = mirror.seq(buffer)
  local ok, why = undo.write(buffer, append.join, function()
    once(buffer, function()
      api.nvim_buf_set_text(buffer, row, column, row, column, lines)
    end)
  end)
  if not ok and mirror.seq(buffer) == seq then
    if refused(why) then
      return queue.HOLD
    end
    return answer(append, "failed", { message = why })
  end
  local last_row = row + #lines - 1
  local last_column = (#lines == 1 and column or 0) + #lines[#lines]
  follow.to_end(following, buffer)
  place(buffer, append.anchor, last_row, last_column)
  answer(append, "applied", { at_row = row, at_column = column, row = last_row, column = last_column })
end)

---@param anchor flemma.protocol.ReleaseAnchor
function M.release_anchor(anchor)
  if api.nvim_buf_is_valid(anchor.buffer) then
    api.nvim_buf_del_extmark(anchor.buffer, ANCHORS, anchor.anchor)
  end
  if writing[anchor.buffer] == anchor.anchor then
    writing[anchor.buffer] = nil
    rewind.forget(anchor.buffer)
  end
end

--- Whether an answer is being written into a buffer: it has an anchor there from
--- its first line to its last.
---@param buffer integer
---@return boolean
function M.is_writing(buffer)
  return #api.nvim_buf_get_extmarks(buffer, ANCHORS, 0, -1, { limit = 1 }) > 0
end

--- Gives a buffer back: the host that locked it and knew its anchors is gone.
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
