--- Opens reports and new chats for the host.
---@class flemma.report
local M = {}

local api = vim.api

--- Most lines of a report's window.
local MAX_HEIGHT = 20

---@param lines string[]
---@return string[] lines Without line feeds.
local function flat(lines)
  return vim.split(table.concat(lines, "\n"), "\n", { plain = true })
end

--- Opens a file that belongs to a line, to read it.
---@param path string?
local function open_file(path)
  if path then
    vim.cmd.new()
    vim.cmd.view(vim.fn.fnameescape(path))
    vim.bo.filetype = "diff"
  end
end

--- Shows a report in a window that `q` closes. <CR> opens the file of a line that has one.
---@param message flemma.protocol.Report
function M.report(message)
  local lines = flat(message.lines)
  local buffer = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].modifiable = false
  pcall(api.nvim_buf_set_name, buffer, "flemma://" .. message.title)
  local height = math.min(#lines, MAX_HEIGHT)
  api.nvim_open_win(buffer, true, { split = "below", win = -1, height = height, style = "minimal" })
  local files = {}
  for _, file in ipairs(message.files or {}) do
    files[file[1] + 1] = file[2]
  end
  vim.keymap.set("n", "<CR>", function()
    open_file(files[api.nvim_win_get_cursor(0)[1]])
  end, { buffer = buffer, desc = "Open the diff of this line" })
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer, nowait = true, desc = "Close the report" })
end

--- Opens a new chat, or a copy of one, in the current window.
---@param message flemma.protocol.Open
function M.open(message)
  local buffer = api.nvim_create_buf(true, false)
  vim.bo[buffer].modeline = false
  api.nvim_buf_set_lines(buffer, 0, -1, false, flat(message.lines))
  -- Fails if another buffer has the name; the chat then has none.
  pcall(api.nvim_buf_set_name, buffer, message.name)
  -- A copy in another format is lost if the user does not write it.
  local extension = message.name:lower()
  local format = extension:match("%.(md)$") or extension:match("%.(html)$")
  local is_chat = not format
  vim.bo[buffer].modified = not is_chat
  if not pcall(api.nvim_set_current_buf, buffer) then
    vim.cmd.sbuffer(buffer)
  end
  local filetype = ({ md = "markdown", html = "html" })[format] or "chat"
  if vim.bo[buffer].filetype ~= filetype then
    vim.bo[buffer].filetype = filetype
  end
  api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(buffer), 0 })
  if message.advance then
    require("flemma.buffer").command("advance")
  end
end

return M
