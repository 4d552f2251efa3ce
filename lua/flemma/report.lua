--- Opens reports and new chats for the host.
---@class flemma.report
local M = {}

local api = vim.api
local windows = require("flemma.window")

--- Most lines of a report's window.
local MAX_HEIGHT = 20

--- The line above a report.
local KEYS = " q closes"
--- The same where lines have diffs.
local KEYS_OF_DIFFS = " Enter opens the diff of a line · q closes"
--- The same where lines belong to lines of a chat.
local KEYS_OF_PLACES = " Enter goes to a line's message · q closes"
--- The same where lines have background jobs.
local KEYS_OF_JOBS = " Enter opens the log of a job · x stops it · q closes"
--- How often the list of jobs is drawn anew.
local EVERY_MS = 1000

---@type integer? The window of a diff beside a list.
local diff_window

---@type table<string, integer> The buffers of the last reports, by their titles.
local shown = {}
---@class flemma.report.Targets What belongs to the lines of a report, by their numbers from 1.
---@field files table<integer, string>
---@field places table<integer, integer>
---@field jobs table<integer, string>
---@field chat integer?

---@type table<integer, flemma.report.Targets> Of each report that is open, by its buffer.
local targets = {}

---@return string[] lines Without line feeds.
local function flat(lines)
  return vim.split(table.concat(lines, "\n"), "\n", { plain = true })
end

--- Opens a file that belongs to a line, to read it.
local function open_file(path)
  if path then
    windows.file(path, true)
    vim.bo.readonly, vim.bo.filetype = true, "diff"
  end
end

--- Writes a report into its buffer.
local function fill(buffer, lines)
  vim.bo[buffer].modifiable = true
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
end

--- Creates a buffer with a report.
---@return integer buffer
local function create(title, lines)
  local buffer = api.nvim_create_buf(false, true)
  fill(buffer, lines)
  vim.bo[buffer].bufhidden = "wipe"
  pcall(api.nvim_buf_set_name, buffer, "flemma://" .. title)
  return buffer
end

--- Goes to a line of a chat, in a window that shows the chat.
local function go_to(chat, line)
  local window = chat and line and windows.showing(chat)
  if window then
    api.nvim_set_current_win(window)
    -- So that CTRL-O returns.
    vim.cmd("normal! m'")
    -- The chat may have become shorter.
    api.nvim_win_set_cursor(window, { math.min(line + 1, api.nvim_buf_line_count(chat)), 0 })
    vim.cmd("normal! zv")
  end
end

--- Closes the diff that is shown beside a list.
function M.close_diff()
  if diff_window then
    pcall(api.nvim_win_close, diff_window, true)
    diff_window = nil
  end
end

--- Shows a diff beside a list, until the user has chosen from it. Takes no focus.
local function show_diff(lines)
  M.close_diff()
  local buffer = create("diff", lines)
  vim.bo[buffer].filetype = "diff"
  -- At the top, because Neovim's own list covers the bottom of the screen.
  local height = math.min(#lines, math.max(4, math.floor(vim.o.lines / 4)))
  diff_window = windows.open(buffer, { enter = false, split = "above", height = height, style = "minimal" })
  -- The list blocks Neovim before it draws by itself.
  vim.cmd.redraw()
end

--- Remembers what belongs to the lines of a report, by their numbers from 1.
---@param message flemma.protocol.Report
---@return string keys The line above the report.
local function note(buffer, message)
  local files, places, jobs = {}, {}, {}
  for _, file in ipairs(message.files or {}) do
    files[file[1] + 1] = file[2]
  end
  for _, place in ipairs(message.places or {}) do
    places[place[1] + 1] = place[2]
  end
  for _, job in ipairs(message.jobs or {}) do
    jobs[job[1] + 1] = job[2]
  end
  targets[buffer] = { files = files, places = places, jobs = jobs, chat = message.buffer }
  return next(files) and KEYS_OF_DIFFS or next(places) and KEYS_OF_PLACES or next(jobs) and KEYS_OF_JOBS or KEYS
end

--- Opens what the line at the cursor is about.
local function enter(buffer)
  local row, target = api.nvim_win_get_cursor(0)[1], targets[buffer]
  open_file(target.files[row])
  go_to(target.chat, target.places[row])
  if target.jobs[row] then
    require("flemma.job_log").open(target.jobs[row])
  end
end

--- Keeps the list of jobs up to date until it is closed.
---@param buffer integer
local function follow_jobs(buffer)
  vim.defer_fn(function()
    if not targets[buffer] then
      return
    end
    require("flemma.lookup").ask("query", { name = "jobs", arguments = {} }, function(report)
      if not targets[buffer] then
        return
      elseif
        type(report) == "table" and not vim.deep_equal(report.lines, api.nvim_buf_get_lines(buffer, 0, -1, false))
      then
        fill(buffer, report.lines)
        note(buffer, report)
      end
      follow_jobs(buffer)
    end)
  end, EVERY_MS)
end

--- Stops the job of the line at the cursor, if it has one.
local function stop(buffer)
  local job = targets[buffer].jobs[api.nvim_win_get_cursor(0)[1]]
  if job then
    require("flemma.job_log").stop(job)
  end
end

--- Shows a report in a window that `q` closes, or in the window that it has. <CR> opens what a line
--- is about.
---@param message flemma.protocol.Report
function M.report(message)
  local lines = flat(message.lines)
  if message.title == "diff" then
    return show_diff(lines)
  end
  local has_colors = message.title == "changes"
  local buffer = shown[message.title]
  local target = targets[buffer]
  if message.is_update then
    -- It may be closed by now, or about another chat.
    if target and target.chat == message.buffer then
      fill(buffer, lines)
      note(buffer, message)
    end
    return
  end
  local window = target and not has_colors and windows.showing(buffer)
  if window then
    fill(buffer, lines)
    api.nvim_set_option_value("winbar", note(buffer, message), { scope = "local", win = window })
    return api.nvim_set_current_win(window)
  end
  buffer = create(message.title, lines)
  shown[message.title] = buffer
  local keys = note(buffer, message)
  local colors = has_colors and require("flemma.review.colors")
  if colors then
    colors.start(buffer)
  end
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buffer,
    once = true,
    desc = "flemma: a report is closed",
    callback = function()
      targets[buffer] = nil
      if colors then
        colors.forget(buffer)
      end
    end,
  })
  -- A line more, for the keys.
  local height = math.min(#lines, MAX_HEIGHT) + 1
  window = windows.open(buffer, { enter = true, height = height, style = "minimal" })
  api.nvim_set_option_value("winbar", keys, { scope = "local", win = window })
  vim.keymap.set("n", "<CR>", function()
    enter(buffer)
  end, { buffer = buffer, desc = "Open what this line is about" })
  -- The list may be opened before the first job starts.
  if message.title == "jobs" then
    follow_jobs(buffer)
    vim.keymap.set("n", "x", function()
      stop(buffer)
    end, { buffer = buffer, nowait = true, desc = "Stop this job" })
  end
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer, nowait = true, desc = "Close the report" })
end

--- Returns the name for a new buffer: with a number if another buffer or a file has it, as a chat has
--- that was not saved yet.
---@param name string
---@return string
function M.unused(name)
  local stem, ending = name:match("^(.*)(%.%w+)$")
  local found, count = name, 1
  while stem and (vim.fn.bufexists(found) == 1 or count > 1 and vim.uv.fs_stat(found)) do
    count = count + 1
    found = ("%s-%d%s"):format(stem, count, ending)
  end
  return found
end

--- Opens a new chat, or a copy of one, in the current window.
---@param message flemma.protocol.Open
function M.open(message)
  local buffer = api.nvim_create_buf(true, false)
  vim.bo[buffer].modeline = false
  api.nvim_buf_set_lines(buffer, 0, -1, false, flat(message.lines))
  pcall(api.nvim_buf_set_name, buffer, M.unused(message.name))
  -- A copy in another format is lost if the user does not write it.
  local extension = message.name:lower()
  local format = extension:match("%.(md)$") or extension:match("%.(html)$")
  local is_chat = not format
  vim.bo[buffer].modified = not is_chat
  windows.buffer(buffer)
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
