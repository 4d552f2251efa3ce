--- Cursors of chat windows: a window at the end of a chat follows the text to its
--- new end, a window elsewhere never moves, and the host's `cursor` messages are
--- carried out under the same rules.
---@class flemma.follow
local M = {}

local api = vim.api

local PLACES = api.nvim_create_namespace("flemma.follow")
--- Most blank lines below a cursor that is still at the end.
local BLANKS = 20

--- A line on which a window's cursor was seen. The extmark moves with the text.
---@class flemma.follow.Place
---@field buffer integer
---@field mark integer

---@alias flemma.follow.Places table<integer, flemma.follow.Place> By window.

---@type flemma.follow.Places Windows that follow and could not be moved, as during `:`.
local kept = {}
---@type flemma.follow.Places Windows whose cursor was put on a call that waits.
local placed = {}
---@type flemma.follow.Places Where a key was last pressed in each window.
local keyed = {}

---@param window integer?
---@param buffer integer
---@return boolean
local function shows(window, buffer)
  return window ~= nil and api.nvim_win_is_valid(window) and api.nvim_win_get_buf(window) == buffer
end

---@param places flemma.follow.Places
---@param window integer
local function drop(places, window)
  local place = places[window]
  places[window] = nil
  if place and api.nvim_buf_is_valid(place.buffer) then
    api.nvim_buf_del_extmark(place.buffer, PLACES, place.mark)
  end
end

---@param places flemma.follow.Places
---@param window integer
---@param buffer integer
local function note(places, window, buffer)
  drop(places, window)
  local row = api.nvim_win_get_cursor(window)[1] - 1
  places[window] = { buffer = buffer, mark = api.nvim_buf_set_extmark(buffer, PLACES, row, 0, {}) }
end

--- Whether the cursor is still on the line that was noted.
---@param places flemma.follow.Places
---@param window integer
---@param buffer integer
---@return boolean
local function is_there(places, window, buffer)
  local place = places[window]
  if not place or place.buffer ~= buffer then
    return false
  end
  local row = api.nvim_buf_get_extmark_by_id(buffer, PLACES, place.mark, {})[1]
  return row == api.nvim_win_get_cursor(window)[1] - 1
end

--- Whether nothing but a few blank lines is below the cursor.
---@param window integer
---@param buffer integer
---@return boolean
local function is_at_end(window, buffer)
  local row, count = api.nvim_win_get_cursor(window)[1], api.nvim_buf_line_count(buffer)
  if count - row > BLANKS then
    return false
  end
  for _, line in ipairs(api.nvim_buf_get_lines(buffer, row, count, false)) do
    if line:find("%S") then
      return false
    end
  end
  return true
end

--- Whether a window's cursor may be moved: the user is not typing, selecting, or in
--- the middle of a command there.
---@param window integer
---@return boolean
local function is_idle(window)
  return window ~= api.nvim_get_current_win() or api.nvim_get_mode().mode == "n"
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

---@param window integer
---@param buffer integer
local function go_to_end(window, buffer)
  drop(kept, window)
  drop(placed, window)
  local count = api.nvim_buf_line_count(buffer)
  local length = #api.nvim_buf_get_lines(buffer, count - 1, count, false)[1]
  -- The end of a line that wraps is on screen only if the cursor is there.
  local wraps = vim.wo[window].wrap and length >= api.nvim_win_get_width(window)
  set_cursor(window, buffer, count - 1, wraps and length or 0)
end

--- Notes that a window follows although it cannot be moved now. A user who types has
--- chosen a place of their own.
---@param window integer
---@param buffer integer
local function keep(window, buffer)
  drop(kept, window)
  if not api.nvim_get_mode().mode:match("^[iR]") then
    note(kept, window, buffer)
  end
end

--- The windows that are at the end of a buffer, in all tab pages. Ask before the text
--- changes.
---@param buffer integer
---@return integer[] windows
function M.windows(buffer)
  return vim.tbl_filter(function(window)
    return is_at_end(window, buffer) or is_there(kept, window, buffer)
  end, vim.fn.win_findbuf(buffer))
end

--- Moves windows to the end of a buffer whose text has changed.
---@param windows integer[] From |flemma.follow.windows()|.
---@param buffer integer
function M.to_end(windows, buffer)
  for _, window in ipairs(windows) do
    if not shows(window, buffer) then
      drop(kept, window)
    elseif is_idle(window) then
      go_to_end(window, buffer)
    elseif not is_at_end(window, buffer) then
      keep(window, buffer)
    end
  end
end

--- Notes where a key of ours was pressed, for what comes of it.
---@param window integer
---@param buffer integer
function M.key(window, buffer)
  note(keyed, window, buffer)
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

--- Whether a `cursor` message is for a window as it is now.
---@param cursor flemma.protocol.Cursor
---@param window integer
---@return boolean
local function concerns(cursor, window)
  local buffer = cursor.buffer
  local row = api.nvim_win_get_cursor(window)[1] - 1
  return cursor.from and row >= cursor.from
    or cursor.asked and is_there(keyed, window, buffer)
    or is_at_end(window, buffer)
    or is_there(kept, window, buffer)
    or is_there(placed, window, buffer)
end

--- Moves the cursor of one window, unless the user has gone elsewhere. The focus
--- stays where it is.
---@param cursor flemma.protocol.Cursor
function M.cursor(cursor)
  local window = cursor.window or api.nvim_get_current_win()
  local buffer = cursor.buffer
  if not shows(window, buffer) or not concerns(cursor, window) then
    return
  end
  if not is_idle(window) then
    return keep(window, buffer)
  end
  drop(kept, window)
  drop(placed, window)
  set_cursor(window, buffer, cursor.line, cursor.column)
  unfold(window)
  if not is_at_end(window, buffer) then
    note(placed, window, buffer)
  end
  if cursor.to then
    reveal(window, cursor.to)
  end
  if cursor.insert == true and window == api.nvim_get_current_win() then
    vim.cmd.startinsert({ bang = true })
  end
end

--- Forgets a buffer's windows.
---@param buffer integer
function M.forget(buffer)
  for _, places in ipairs({ kept, placed, keyed }) do
    for window, place in pairs(places) do
      if place.buffer == buffer then
        drop(places, window)
      end
    end
  end
end

return M
