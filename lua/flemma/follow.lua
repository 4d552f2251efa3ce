--- Cursors of chat windows. A window at the end of a chat follows the text to its new end;
--- a window elsewhere never moves, also when the host sends `cursor`.
---@class flemma.follow
local M = {}

local api = vim.api

local PLACES = api.nvim_create_namespace("flemma.follow")
--- Most blank lines below a cursor that is still at the end.
local BLANKS = 20

--- Lines of cursors by window, as extmarks, which move with the text.
--- `below` is the number of lines below the cursor that must be seen, too.
---@alias flemma.follow.Places table<integer, { buffer: integer, mark: integer, at: number, below: integer? }>

---@type flemma.follow.Places Windows that follow but could not be moved, as during `:`.
local kept = {}
---@type flemma.follow.Places Windows whose cursor was moved to a pending call.
local placed = {}
---@type flemma.follow.Places Where a key of ours was last pressed.
local keyed = {}

local function shows(window, buffer)
  return api.nvim_win_is_valid(window) and api.nvim_win_get_buf(window) == buffer
end

---@return integer line From zero.
local function row_of(window)
  return api.nvim_win_get_cursor(window)[1] - 1
end

local function drop(places, window)
  local place = places[window]
  places[window] = nil
  if place and api.nvim_buf_is_valid(place.buffer) then
    api.nvim_buf_del_extmark(place.buffer, PLACES, place.mark)
  end
end

local function note(places, window, buffer)
  drop(places, window)
  local mark = api.nvim_buf_set_extmark(buffer, PLACES, row_of(window), 0, {})
  places[window] = { buffer = buffer, mark = mark, at = vim.uv.now() }
end

--- Returns true if the cursor is still on the line that was noted.
local function is_there(places, window, buffer)
  local place = places[window]
  return place ~= nil
    and place.buffer == buffer
    and api.nvim_buf_get_extmark_by_id(buffer, PLACES, place.mark, {})[1] == row_of(window)
end

--- Returns true if nothing but a few blank lines is below the cursor.
local function is_at_end(window, buffer)
  local row = row_of(window) + 1
  if api.nvim_buf_line_count(buffer) - row > BLANKS then
    return false
  end
  return not table.concat(api.nvim_buf_get_lines(buffer, row, -1, false)):find("%S")
end

--- Returns true if a window's cursor may be moved: the user is not typing, selecting, or in
--- the middle of a command there.
local function is_idle(window)
  return window ~= api.nvim_get_current_win() or api.nvim_get_mode().mode == "n"
end

--- Moves the cursor of a window, as near as the text allows.
local function set_cursor(window, buffer, line, column)
  line = math.max(0, math.min(line, api.nvim_buf_line_count(buffer) - 1))
  api.nvim_win_set_cursor(window, { line + 1, math.max(0, column) })
end

local function go_to_end(window, buffer)
  drop(kept, window)
  drop(placed, window)
  local count = api.nvim_buf_line_count(buffer)
  local length = #api.nvim_buf_get_lines(buffer, count - 1, count, false)[1]
  -- The end of a line that wraps is on screen only if the cursor is there.
  local wraps = vim.wo[window].wrap and length >= api.nvim_win_get_width(window)
  set_cursor(window, buffer, count - 1, wraps and length or 0)
end

--- Notes that a window follows although it cannot be moved now, unless the user types there.
local function keep(window, buffer)
  drop(kept, window)
  if not api.nvim_get_mode().mode:match("^[iR]") then
    note(kept, window, buffer)
  end
end

--- Returns the windows that are at the end of a buffer, before its text changes, in all tab
--- pages.
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

--- Returns when the cursor of a window was moved to the pending call where it still is.
---@param window integer
---@param buffer integer
---@return number? time As `vim.uv.now()`.
function M.arrived(window, buffer)
  return is_there(placed, window, buffer) and placed[window].at or nil
end

--- Notes where a key of ours was pressed, for the `cursor` message that answers it.
---@param window integer
---@param buffer integer
function M.key(window, buffer)
  note(keyed, window, buffer)
end

--- Presses keys in a window.
local function press(window, keys)
  api.nvim_win_call(window, function()
    vim.cmd.normal({ keys, bang = true })
  end)
end

--- Returns the number of rows from one line to another, with the virtual lines below it.
---@param window integer
---@param top integer From zero.
---@param line integer From zero.
---@return integer
function M.rows(window, top, line)
  local range = { start_row = top }
  if line + 1 < api.nvim_buf_line_count(api.nvim_win_get_buf(window)) then
    range.end_row, range.end_vcol = line + 1, 0
  end
  return api.nvim_win_text_height(window, range).all
end

--- Begins a window with the highest line from which it still shows all lines below.
local function show_end(window)
  local info = vim.fn.getwininfo(window)[1]
  local top, topfill = info.topline, 0
  api.nvim_win_call(window, function()
    while top > 1 do
      local fold = vim.fn.foldclosed(top - 1)
      local above = fold ~= -1 and fold or top - 1
      local rows = api.nvim_win_text_height(window, { start_row = above - 1 }).all
      local fill = api.nvim_win_text_height(window, { start_row = above - 1, end_row = above - 1 }).fill
      if rows - fill > info.height then
        break
      end
      top = above
      if rows > info.height then
        -- As many of the virtual lines above it as there is room for.
        topfill = info.height - (rows - fill)
        break
      end
    end
    vim.fn.winrestview({ topline = top, topfill = topfill })
  end)
end

--- Scrolls windows back that follow a buffer, or were moved to a pending call, if its text was cut or
--- folded and a third of their screen or more is empty.
---@param buffer integer
function M.fill(buffer)
  local last = api.nvim_buf_line_count(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    if is_idle(window) and (row_of(window) == last - 1 or is_there(placed, window, buffer)) then
      local info = vim.fn.getwininfo(window)[1]
      local height = api.nvim_win_text_height(window, { start_row = info.topline - 1 }).all
      if info.topline > 1 and height * 3 <= info.height * 2 then
        show_end(window)
      end
    end
  end
end

--- Returns true if a `cursor` message is still for a window.
local function concerns(cursor, window)
  local buffer = cursor.buffer
  return cursor.from and row_of(window) >= cursor.from
    or cursor.asked and is_there(keyed, window, buffer)
    or is_at_end(window, buffer)
    or is_there(kept, window, buffer)
    or is_there(placed, window, buffer)
end

--- Moves the cursor of one window, unless the user has moved it elsewhere. The focus stays.
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
  press(window, "zv")
  if not is_at_end(window, buffer) then
    note(placed, window, buffer)
    placed[window].below = cursor.to and cursor.to - cursor.line
  end
  local info = vim.fn.getwininfo(window)[1]
  -- Virtual lines below `to` are part of what must be seen.
  if cursor.to and M.rows(window, info.topline - 1, cursor.to) > info.height then
    press(window, "zz")
    local top = vim.fn.getwininfo(window)[1].topline
    if api.nvim_win_text_height(window, { start_row = top - 1 }).all < info.height then
      show_end(window)
    end
  end
  if cursor.insert == true and window == api.nvim_get_current_win() then
    vim.cmd.startinsert({ bang = true })
  end
end

--- Scrolls a window that was moved to a pending call until the virtual lines of the call are
--- visible, as far as the cursor stays visible.
---@param buffer integer
---@param header integer Line of the result's header.
---@param last integer The line above the virtual lines.
function M.reveal(buffer, header, last)
  for window in pairs(placed) do
    if shows(window, buffer) and is_there(placed, window, buffer) and row_of(window) == header then
      local info = vim.fn.getwininfo(window)[1]
      local top = info.topline
      last = math.max(last, math.min(header + (placed[window].below or 0), api.nvim_buf_line_count(buffer) - 1))
      while top <= header and M.rows(window, top - 1, last) > info.height do
        top = top + 1
      end
      if top > info.topline then
        api.nvim_win_call(window, function()
          vim.fn.winrestview({ topline = top })
        end)
      end
    end
  end
end

--- Forgets the windows of a buffer.
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
