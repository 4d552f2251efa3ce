--- Tells the host every change of a chat's text, and counts them.
--- The count, `seq`, is what makes an edit from the host safe: it names the text
--- it was computed for. `changedtick` will not do, it moves on `:write` too. The
--- module knows no grammar and applies no edits.
---@class flemma.mirror
local M = {}

local host = require("flemma.host")

--- What one message may hold. The host's decoder is super-linear in the size of
--- a message: 64 KB are free, 4 MB take 0.2 s. It reads one long string much faster
--- than many short ones.
M.MAX_LINES = 500
M.MAX_BYTES = 48 * 1024

---@class flemma.mirror.State
---@field seq integer Text changes so far, however they were made.
---@field muted boolean Whether the changes are the host's own, which it is not told again.
---@field ours boolean Whether the last change was the host's.
---@field attached boolean Whether Neovim tells us of changes.
---@field maybe_undone boolean? Whether the last changes may have been an undo that matters.

---@type table<integer, flemma.mirror.State>
local states = {}
---@type fun(buffer: integer, first: integer, last: integer, new_last: integer)[]
local listeners = {}

--- Cuts lines into pieces that fit into one message. Empty lines give one
--- empty piece. A line over the limit is a piece of its own.
---@param lines string[]
---@return string[][]
function M.chunks(lines)
  local all, chunk, bytes = {}, {}, 0
  for _, line in ipairs(lines) do
    if #chunk > 0 and (#chunk >= M.MAX_LINES or bytes + #line > M.MAX_BYTES) then
      all[#all + 1] = chunk
      chunk, bytes = {}, 0
    end
    chunk[#chunk + 1] = line
    bytes = bytes + #line + 1
  end
  all[#all + 1] = chunk
  return all
end

---@param buffer integer
---@param seq integer
---@param first integer
---@param last integer
---@param lines string[]
local function send_change(buffer, seq, first, last, lines)
  local chunks = M.chunks(lines)
  for index, chunk in ipairs(chunks) do
    host.send("changed", {
      buffer = buffer,
      seq = seq,
      first = first,
      last = last,
      lines = chunk,
      more = index < #chunks,
    })
    first = first + #chunk
    last = first
  end
end

--- Tells the host when the text that stands there was brought back by an undo. Only
--- while a change is being made Neovim cannot say so; it is asked right after.
---@param buffer integer
function M.check_undo(buffer)
  local state = states[buffer]
  if not state or not state.maybe_undone then
    return
  end
  state.maybe_undone = false
  if vim.api.nvim_buf_is_loaded(buffer) then
    local tree = vim.fn.undotree(buffer)
    if tree.seq_cur ~= tree.seq_last then
      host.send("undone", { buffer = buffer })
    end
  end
end

--- An undo may bring an approval back. The history is looked at for such changes
--- alone, because that takes longer the more of it there is.
---@param buffer integer
---@param state flemma.mirror.State
---@param lines string[]
local function watch_undo(buffer, state, lines)
  for _, line in ipairs(lines) do
    if line:find("approved", 1, true) then
      state.maybe_undone = true
      vim.schedule(function()
        M.check_undo(buffer)
      end)
      return
    end
  end
end

--- Where the piece of a snapshot ends that begins with the line `first`, and
--- whether its lines can be joined: Neovim's NUL is an LF inside a line.
---@param lines string[]
---@param first integer
---@return integer last
---@return boolean joined
function M.piece(lines, first)
  local bytes, joined = 0, true
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

--- Sends the whole text.
---@param buffer integer
function M.snapshot(buffer)
  local seq, first = M.seq(buffer), 1
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  repeat
    local last, joined = M.piece(lines, first)
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

---@param buffer integer
---@param first integer
---@param last integer
---@param new_last integer
local function on_lines(buffer, first, last, new_last)
  local state = states[buffer]
  if not state or not state.attached then
    return true
  end
  state.seq = state.seq + 1
  for _, listener in ipairs(listeners) do
    listener(buffer, first, last, new_last)
  end
  if not state.muted then
    state.ours = false
    local lines = vim.api.nvim_buf_get_lines(buffer, first, new_last, false)
    send_change(buffer, state.seq, first, last, lines)
    watch_undo(buffer, state, lines)
  end
end

--- Watches a buffer from now on. `:edit!` ends that, with `on_detach`.
---@param buffer integer
---@param on_reload fun(buffer: integer) The text was replaced from disk.
---@param on_detach fun(buffer: integer) Neovim stopped telling us.
---@return boolean attached
function M.attach(buffer, on_reload, on_detach)
  local state = states[buffer] or { seq = 0, muted = false, ours = false, attached = false }
  states[buffer] = state
  if state.attached then
    return true
  end
  state.attached = vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function(_, _, _, first, last, new_last)
      return on_lines(buffer, first, last, new_last)
    end,
    on_reload = function()
      state.seq = state.seq + 1
      state.ours = false
      on_reload(buffer)
    end,
    on_detach = function()
      state.attached = false
      state.ours = false
      -- The text may be another one when it is watched again.
      state.seq = state.seq + 1
      on_detach(buffer)
    end,
  })
  return state.attached
end

--- Calls `listener` at each change of a watched buffer, before the host hears of it.
---@param listener fun(buffer: integer, first: integer, last: integer, new_last: integer)
function M.on_change(listener)
  listeners[#listeners + 1] = listener
end

--- Runs `change` without telling the host, and marks the text as the host's.
---@param buffer integer
---@param change fun()
---@return boolean ok
---@return string? why
function M.muted(buffer, change)
  local state = states[buffer]
  if not state then
    return pcall(change)
  end
  local before = state.seq
  state.muted = true
  local ok, why = pcall(change)
  state.muted = false
  if state.seq ~= before then
    state.ours = true
  end
  return ok, why
end

---@param buffer integer
---@return integer seq Of the text as it stands.
function M.seq(buffer)
  local state = states[buffer]
  return state and state.seq or 0
end

--- Whether the last change of the text was the host's.
---@param buffer integer
---@return boolean
function M.ours(buffer)
  local state = states[buffer]
  return state ~= nil and state.ours
end

---@param buffer integer
---@return boolean
function M.attached(buffer)
  local state = states[buffer]
  return state ~= nil and state.attached
end

---@param buffer integer
function M.forget(buffer)
  states[buffer] = nil
end

return M
