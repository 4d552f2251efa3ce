--- Shows what an answer took and cost, for a moment, in a corner of its chat where
--- the cursor is not. The figures and the words are the host's.
---@class flemma.usage
local M = {}

local api = vim.api

--- The window of each buffer.
---@type table<integer, integer>
local windows = {}
--- What is to be shown in each buffer.
---@type table<integer, flemma.protocol.Usage>
local latest = {}
--- Calls of an answer are begun and drawn within two frames.
local DELAY_MS = 40

--- Lines and border.
---@param lines string[]
---@return integer
local function rows(lines)
  return #lines + 2
end

--- The row of the window that its cursor is on, from 1.
---@param chat integer
---@return integer
local function cursor_row(chat)
  return api.nvim_win_call(chat, vim.fn.winline)
end

---@param buffer integer
local function close(buffer)
  local window = windows[buffer]
  windows[buffer] = nil
  if window and api.nvim_win_is_valid(window) then
    pcall(api.nvim_win_close, window, true)
  end
end

---@param chat integer The window that shows the chat.
---@param lines string[]
---@return integer? window
---@return (fun(row: integer): boolean)? covers Whether it hides a row of the chat's window.
local function open(chat, lines)
  local width = 1
  for _, line in ipairs(lines) do
    width = math.max(width, api.nvim_strwidth(line))
  end
  local room, height = api.nvim_win_get_width(chat), api.nvim_win_get_height(chat)
  if width + 2 > room or 2 * rows(lines) > height then
    return nil
  end
  local top = cursor_row(chat) > rows(lines)
  local text = api.nvim_create_buf(false, true)
  vim.bo[text].bufhidden = "wipe"
  api.nvim_buf_set_lines(text, 0, -1, false, lines)
  local window = api.nvim_open_win(text, false, {
    relative = "win",
    win = chat,
    anchor = top and "NE" or "SE",
    row = top and 0 or height,
    col = room,
    width = width,
    height = #lines,
    style = "minimal",
    border = "rounded",
    focusable = false,
    noautocmd = true,
    zindex = 40,
  })
  return window, function(row)
    return top and row <= rows(lines) or not top and row > height - rows(lines)
  end
end

--- Takes the window away when the cursor comes under it: nobody types blind.
---@param buffer integer
---@param window integer
---@param covers fun(row: integer): boolean
local function give_way(buffer, window, covers)
  api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI" }, {
    buffer = buffer,
    desc = "flemma: the figures give way to the cursor",
    callback = function()
      if windows[buffer] ~= window then
        return true
      end
      if covers(vim.fn.winline()) then
        close(buffer)
        return true
      end
    end,
  })
end

--- Shows figures in place of those before them.
---@param buffer integer
---@param lines string[]
---@param seconds integer For how long.
local function show(buffer, lines, seconds)
  close(buffer)
  local chat = vim.fn.bufwinid(buffer)
  if chat == -1 or not api.nvim_buf_is_valid(buffer) then
    return
  end
  local window, covers = open(chat, vim.tbl_map(require("flemma.notices").escape, lines))
  windows[buffer] = window
  if window and covers then
    give_way(buffer, window, covers)
  end
  vim.defer_fn(function()
    if windows[buffer] == window then
      close(buffer)
    end
  end, seconds * 1000)
end

--- Keeps the figures of an answer, and shows them as soon as what the answer asks for
--- was begun.
---@param message flemma.protocol.Usage
function M.usage(message)
  require("flemma.session").add(message.request, message.session)
  local buffer = message.buffer
  if message.seconds == 0 then
    latest[buffer] = nil
    return close(buffer)
  end
  latest[buffer] = message
  vim.defer_fn(function()
    if latest[buffer] == message then
      latest[buffer] = nil
      show(buffer, message.lines, message.seconds)
    end
  end, DELAY_MS)
end

return M
