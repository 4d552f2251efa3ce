--- Carries out the host's edits: at the text they were computed for, all or
--- nothing, wherever the user is. What to write is the host's business; this
--- module refuses what no longer fits and says so.
---@class flemma.apply
local M = {}

local api = vim.api
local host = require("flemma.host")
local mirror = require("flemma.mirror")
local queue = require("flemma.queue")
local swap = require("flemma.swap")
local undo = require("flemma.undo")

local ANCHORS = api.nvim_create_namespace("flemma.anchors")

--- What Neovim's API says of a Ctrl-C.
local INTERRUPTED = "Keyboard interrupt"

---@type table<integer, boolean> Buffers that the host keeps locked: whether each could be changed before.
local locked = {}

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
    swap.changed(edit.buffer)
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

---@param buffer integer
---@param window integer?
---@return boolean
local function shows(window, buffer)
  return window ~= nil and api.nvim_win_is_valid(window) and api.nvim_win_get_buf(window) == buffer
end

--- Puts the cursor of a window somewhere, as near as the text allows.
---@param window integer
---@param buffer integer
---@param line integer
---@param column integer
local function set_cursor(window, buffer, line, column)
  line = math.max(0, math.min(line, api.nvim_buf_line_count(buffer) - 1))
  api.nvim_win_set_cursor(window, { line + 1, math.max(0, column) })
end

--- The windows whose cursor rests on the last line, and so follow the text.
--- Not the one the user is typing or selecting in.
---@param buffer integer
---@return integer[]
local function followers(buffer)
  local count, found = api.nvim_buf_line_count(buffer), {}
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local idle = window ~= api.nvim_get_current_win() or api.nvim_get_mode().mode == "n"
    if idle and api.nvim_win_get_cursor(window)[1] == count then
      found[#found + 1] = window
    end
  end
  return found
end

--- Keeps windows on the last line.
---@param windows integer[]
---@param buffer integer
local function follow(windows, buffer)
  for _, window in ipairs(windows) do
    set_cursor(window, buffer, math.huge, 0)
  end
end

--- Sets an anchor.
---@param buffer integer
---@param anchor integer
---@param row integer
---@param column integer
local function place(buffer, anchor, row, column)
  api.nvim_buf_set_extmark(buffer, ANCHORS, row, column, { id = anchor, right_gravity = false, invalidate = true })
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
  local following = edit.follow == true and followers(buffer) or {}
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
  follow(following, buffer)
  if edit.unlock then
    M.lock({ buffer = buffer, locked = false })
  end
  answer(edit, "applied")
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

--- Whether the text before the anchor is what the host thinks it is.
---@param append flemma.protocol.Append
---@param row integer
---@param column integer
---@return boolean
local function as_expected(append, row, column)
  local expect = append.expect
  if not expect then
    return true
  end
  local tail = expect.tail or ""
  if column ~= expect.column or #tail > column then
    return false
  end
  return tail == "" or api.nvim_buf_get_text(append.buffer, row, column - #tail, row, column, {})[1] == tail
end

--- Inserts text at an anchor and moves the anchor behind it. The user may type
--- anywhere meanwhile.
---@type fun(append: flemma.protocol.Append): "hold"|nil
M.append = answered(function(append)
  local buffer, lines = append.buffer, append.lines
  if not usable(buffer) then
    return answer(append, "lost", { message = "The buffer is gone." })
  end
  local row, column = position(buffer, append.anchor)
  if not row or not column then
    return answer(append, "lost")
  end
  if not as_expected(append, row, column) then
    return answer(append, "moved", { at_row = row, at_column = column })
  end
  local following = #lines > 1 and followers(buffer) or {}
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
  place(buffer, append.anchor, last_row, last_column)
  if last_row == api.nvim_buf_line_count(buffer) - 1 then
    follow(following, buffer)
  end
  answer(append, "applied", { at_row = row, at_column = column, row = last_row, column = last_column })
end)

---@param anchor flemma.protocol.ReleaseAnchor
function M.release_anchor(anchor)
  if api.nvim_buf_is_valid(anchor.buffer) then
    api.nvim_buf_del_extmark(anchor.buffer, ANCHORS, anchor.anchor)
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
  elseif not lock.locked and before ~= nil then
    locked[buffer] = nil
    vim.bo[buffer].modifiable = before
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
  if locked[buffer] ~= nil then
    M.lock({ buffer = buffer, locked = false })
  end
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, ANCHORS, 0, -1)
  end
end

--- Scrolls a window so that a line below its cursor, and a virtual line under
--- that, can be seen.
---@param window integer
---@param line integer
local function reveal(window, line)
  if vim.fn.line("w$", window) <= line + 1 then
    api.nvim_win_call(window, function()
      vim.cmd.normal({ "zz", bang = true })
    end)
  end
end

--- Opens every fold that the cursor of a window is in.
---@param window integer
local function unfold(window)
  api.nvim_win_call(window, function()
    local depth = vim.fn.foldlevel(".")
    while depth > 0 and vim.fn.foldclosed(".") ~= -1 do
      vim.cmd.foldopen()
      depth = depth - 1
    end
  end)
end

--- Moves the cursor of one window, if it still shows the buffer. The focus stays
--- where it is.
---@param cursor flemma.protocol.Cursor
function M.cursor(cursor)
  local window = cursor.window or api.nvim_get_current_win()
  if not shows(window, cursor.buffer) then
    return
  end
  -- Who has gone up to read is left there, and so is who types or selects.
  if cursor.from and cursor.from ~= vim.NIL then
    local elsewhere = api.nvim_win_get_cursor(window)[1] - 1 < cursor.from
    if elsewhere or (window == api.nvim_get_current_win() and api.nvim_get_mode().mode ~= "n") then
      return
    end
  end
  set_cursor(window, cursor.buffer, cursor.line, cursor.column)
  -- What the cursor is moved to is to be seen.
  unfold(window)
  if cursor.to and cursor.to ~= vim.NIL then
    reveal(window, cursor.to)
  end
  if cursor.insert == true and window == api.nvim_get_current_win() and api.nvim_get_mode().mode == "n" then
    vim.cmd.startinsert({ bang = true })
  end
end

return M
