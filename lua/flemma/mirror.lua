--- Sends every change of a chat's text to the host, and counts them. The count, `seq`,
--- identifies the text that an edit of the host was computed for; `b:changedtick` would not,
--- because `:write` changes it as well.
---@class flemma.mirror
local M = {}

local host = require("flemma.host")
local neovim = require("flemma.neovim")

--- Limits of one message. The host's decoder is super-linear in the size of a message
--- (4 MB take 0.2 s), and reads one long string much faster than many short ones.
M.MAX_LINES = 500
M.MAX_BYTES = 48 * 1024

---@class flemma.mirror.State
---@field seq integer Text changes so far, however they were made.
---@field muted boolean Whether the changes are the host's own, which are not sent.
---@field ours boolean Whether the last change was the host's.
---@field attached boolean Whether Neovim reports changes.
---@field unsent_bulk boolean Whether text arrived in bulk and was not sent to any host.

---@type table<integer, flemma.mirror.State>
local states = require("flemma.state").by_buffer()
---@type fun(buffer: integer, first: integer, last: integer, new_last: integer)[]
local listeners = {}

---@return flemma.mirror.State state A new one for a buffer that was never watched.
local function state_of(buffer)
  return states[buffer] or { seq = 0, muted = false, ours = false, attached = false, unsent_bulk = false }
end

--- Finds the end of the piece of a text that fits into one message, and whether its lines
--- can be joined: a NUL in Neovim is an LF inside a line.
---@param lines string[]
---@param first integer The first line of the piece.
---@param joined boolean Whether joining is wanted.
---@return integer last
---@return boolean joined
function M.piece(lines, first, joined)
  local bytes = 0
  for index = first, #lines do
    local line = lines[index]
    bytes = bytes + #line + 1
    local one_by_one = not joined or line:find("\n", 1, true) ~= nil
    if index > first and (bytes > M.MAX_BYTES or one_by_one and index - first >= M.MAX_LINES) then
      return index - 1, joined
    end
    joined = not one_by_one
  end
  return #lines, joined
end

--- Cuts lines into pieces that fit into one message each. No lines give one empty piece.
---@param lines string[]
---@return string[][]
function M.chunks(lines)
  local all, first = {}, 1
  repeat
    local last = M.piece(lines, first, false)
    all[#all + 1] = vim.list_slice(lines, first, last)
    first = last + 1
  until first > #lines
  return all
end

--- Bytes that a key may add beyond itself, such as an indent.
local SLACK = 16

---@type integer? Bytes typed in Insert or Replace mode since the last change; nil without a key since.
local typed

--- Returns true if keys write text in the current mode, which excludes `niI`, Ctrl-O.
local function is_writing()
  local mode = vim.api.nvim_get_mode().mode:sub(1, 1)
  return mode == "i" or mode == "R"
end

--- Counts a key. Keys from a mapping, a macro, a register, or `.` are not typed. A special
--- key such as Ctrl-R, or a key of another mode, resets the count, because the text that it
--- inserts is not typed.
---@param keys string? The keys that the user pressed.
function M.note_key(keys)
  if not keys or keys == "" then
    return
  end
  local byte = keys:byte()
  local is_text = byte >= 32 and byte ~= 127 and byte ~= 128 and is_writing()
  typed = is_text and (typed or 0) + #keys or 0
end

---@class flemma.mirror.Change
---@field buffer integer
---@field seq integer
---@field first integer
---@field last integer
---@field typed integer? See `typed`.
---@field undone boolean? Whether it is an undo or a redo.

--- Sends a change. If there is no host, notes whether it brought text in bulk.
---@param old_size integer Bytes that were replaced.
local function send_change(change, lines, old_size)
  local chunks = M.chunks(lines)
  local first, last, sent = change.first, change.last, true
  for index, chunk in ipairs(chunks) do
    sent = host.send("changed", {
      buffer = change.buffer,
      seq = change.seq,
      first = first,
      last = last,
      lines = chunk,
      more = index < #chunks,
      typed = change.typed,
      undone = change.undone,
    }) and sent
    first = first + #chunk
    last = first
  end
  if not sent then
    local size = #table.concat(lines, "\n") + math.min(#lines, 1)
    local is_short = #lines <= change.last - change.first + 1 and size - old_size <= (change.typed or 0) + SLACK
    local state = state_of(change.buffer)
    state.unsent_bulk = state.unsent_bulk or not (is_writing() and is_short or size <= old_size)
  end
end

--- Returns true during an undo or redo, and nil for changes that write no approval: reading
--- the undo tree is slow.
local function is_undo(buffer, lines)
  for _, line in ipairs(lines) do
    if line:find("approved", 1, true) then
      return neovim.is_undoing(buffer)
    end
  end
end

--- Most unchanged lines between two changes that are sent as one.
local GAP = 8

--- Joined changes of one turn of Neovim's loop: a command such as `:g` makes thousands.
---@class flemma.mirror.Pending
---@field buffer integer
---@field seq integer After the last of them.
---@field first integer
---@field last integer The same before and after the changes.
---@field lines table<integer, string> By line number, without holes.
---@field old_size integer Bytes that were replaced.

---@type flemma.mirror.Pending?
local pending

--- Sends the pending changes. Called before any other message, which keeps their order.
function M.flush()
  local change = pending
  if not change then
    return
  end
  pending = nil
  local lines = {}
  for line = change.first, change.last - 1 do
    lines[#lines + 1] = change.lines[line]
  end
  send_change(change, lines, change.old_size)
end
host.on_send(M.flush)

--- Adds a change to the pending ones, if they can be sent as one.
---@return boolean added
local function add(change, lines, old_size)
  -- The host judges the origin of typed text and of approvals change by change. Another
  -- number of lines would move the lines between two changes.
  if change.typed or change.undone ~= nil or #lines ~= change.last - change.first then
    return false
  end
  local near = pending
    and pending.buffer == change.buffer
    and change.first <= pending.last + GAP
    and change.last >= pending.first - GAP
  if not near then
    M.flush()
    pending = { buffer = change.buffer, first = change.first, last = change.first, lines = {}, old_size = 0, seq = 0 }
    vim.schedule(M.flush)
  end
  local all = pending --[[@as flemma.mirror.Pending]]
  local function fill(from, to)
    if from < to then
      for index, line in ipairs(vim.api.nvim_buf_get_lines(change.buffer, from, to, false)) do
        all.lines[from + index - 1] = line
        all.old_size = all.old_size + #line + 1
      end
    end
  end
  fill(all.last, change.first)
  fill(change.last, all.first)
  for index, line in ipairs(lines) do
    all.lines[change.first + index - 1] = line
  end
  all.first, all.last = math.min(all.first, change.first), math.max(all.last, change.last)
  all.seq, all.old_size = change.seq, all.old_size + old_size
  return true
end

--- Sends the whole text.
---@param buffer integer
function M.snapshot(buffer)
  local seq, first = M.seq(buffer), 1
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  repeat
    local last, joined = M.piece(lines, first, true)
    host.send("snapshot", {
      buffer = buffer,
      seq = seq,
      text = joined and table.concat(lines, "\n", first, last) or nil,
      lines = not joined and vim.list_slice(lines, first, last) or nil,
      done = last == #lines,
    })
    first = last + 1
  until first > #lines
end

---@param old_size integer Bytes of the lines that were replaced, with their ends.
local function on_lines(buffer, first, last, new_last, old_size)
  local state = state_of(buffer)
  if not state.attached then
    return true
  end
  state.seq = state.seq + 1
  -- The pending changes have the line numbers before a change of the host's.
  if state.muted then
    M.flush()
  end
  for _, listener in ipairs(listeners) do
    listener(buffer, first, last, new_last)
  end
  if state.muted then
    return
  end
  state.ours = false
  local lines = vim.api.nvim_buf_get_lines(buffer, first, new_last, false)
  local change = {
    buffer = buffer,
    seq = state.seq,
    first = first,
    last = last,
    typed = typed,
    undone = is_undo(buffer, lines),
  }
  typed = nil
  if not add(change, lines, old_size) then
    M.flush()
    send_change(change, lines, old_size)
  end
end

--- Returns true, once, if text arrived in bulk and was not sent to any host.
---@param buffer integer
---@return boolean
function M.take_unsent_bulk(buffer)
  local state = state_of(buffer)
  local bulk = state.unsent_bulk
  state.unsent_bulk = false
  return bulk
end

--- Watches a buffer until Neovim detaches it, as `:edit!` does.
---@param buffer integer
---@param on_reload fun(buffer: integer) Called when the text was replaced from disk.
---@param on_detach fun(buffer: integer)
---@return boolean attached
function M.attach(buffer, on_reload, on_detach)
  local state = state_of(buffer)
  states[buffer] = state
  if state.attached then
    return true
  end
  state.attached = vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function(_, _, _, first, last, new_last, old_size)
      return on_lines(buffer, first, last, new_last, old_size)
    end,
    on_reload = function()
      state.seq = state.seq + 1
      state.ours = false
      on_reload(buffer)
    end,
    on_detach = function()
      state.attached = false
      state.ours = false
      -- The text may have changed when it is watched again.
      state.seq = state.seq + 1
      on_detach(buffer)
    end,
  })
  return state.attached
end

--- Calls `listener` at each change of a watched buffer, before it is sent.
---@param listener fun(buffer: integer, first: integer, last: integer, new_last: integer)
function M.on_change(listener)
  listeners[#listeners + 1] = listener
end

--- Runs a change of the host's, which is not sent.
---@param buffer integer
---@param change fun()
---@return boolean ok
---@return string? why
function M.muted(buffer, change)
  local state = state_of(buffer)
  local before = state.seq
  state.muted = true
  local ok, why = pcall(change)
  state.muted = false
  state.ours = state.ours or state.seq ~= before
  return ok, why
end

--- Returns true during a change of the host's.
---@param buffer integer
---@return boolean
function M.is_muted(buffer)
  return state_of(buffer).muted
end

---@param buffer integer
---@return integer seq Of the current text.
function M.seq(buffer)
  return state_of(buffer).seq
end

--- Returns true if the last change of the text was the host's.
---@param buffer integer
---@return boolean
function M.ours(buffer)
  return state_of(buffer).ours
end

---@param buffer integer
---@return boolean
function M.attached(buffer)
  return state_of(buffer).attached
end

return M
