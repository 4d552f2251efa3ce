--- Shows what an answer took and cost, for a moment, in the corner of its chat.
--- The figures and the words are the host's.
---@class flemma.usage
local M = {}

local api = vim.api

--- The window of each buffer.
---@type table<integer, integer>
local windows = {}

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
local function open(chat, lines)
  local width = 1
  for _, line in ipairs(lines) do
    width = math.max(width, api.nvim_strwidth(line))
  end
  local room, height = api.nvim_win_get_width(chat), api.nvim_win_get_height(chat)
  if width + 2 > room or #lines + 2 > height then
    return nil
  end
  local text = api.nvim_create_buf(false, true)
  vim.bo[text].bufhidden = "wipe"
  api.nvim_buf_set_lines(text, 0, -1, false, lines)
  return api.nvim_open_win(text, false, {
    relative = "win",
    win = chat,
    anchor = "NE",
    row = 0,
    col = room,
    width = width,
    height = #lines,
    style = "minimal",
    border = "rounded",
    focusable = false,
    noautocmd = true,
    zindex = 40,
  })
end

--- Keeps the figures of an answer, and shows them.
---@param message flemma.protocol.Usage
function M.usage(message)
  require("flemma.session").add(message.request, message.session)
  local buffer = message.buffer
  close(buffer)
  local chat = vim.fn.bufwinid(buffer)
  if message.seconds == 0 or chat == -1 or not api.nvim_buf_is_valid(buffer) then
    return
  end
  local lines = vim.tbl_map(require("flemma.notices").escape, message.lines)
  local window = open(chat, lines)
  windows[buffer] = window
  vim.defer_fn(function()
    if windows[buffer] == window then
      close(buffer)
    end
  end, message.seconds * 1000)
end

return M
