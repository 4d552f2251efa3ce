--- The log of a background job in a buffer, which follows the job while a window shows it.
---@class flemma.job_log
local M = {}

local api = vim.api

--- Time between two looks at a job that runs.
local EVERY_MS = 200
--- Most lines of the buffer, so that no log makes Neovim slow.
local MOST_LINES = 5000
--- Stands for output that is left out.
local CUT = "[Output before this line is left out.]"
--- The line above a log.
local KEYS = " %s · x stops the job · q closes"

---@class flemma.job_log.Log
---@field from integer The position from which the next part is wanted.
---@field open integer Lines at the end of the buffer that are drawn anew: the unfinished line.

---@type table<string, integer> Buffers of logs, by the names of the jobs.
local buffers = {}

---@class flemma.job_log.Part
---@field lines string[]
---@field unfinished string
---@field next integer
---@field is_cut boolean
---@field end string? How the job ended.

--- Returns the text as it is drawn: no control character of a program reaches the terminal.
local function escape(lines)
  return vim.tbl_map(require("flemma.notices").escape, lines)
end

--- Adds a part to the end of the buffer. Windows whose cursor is on the last line follow.
---@param buffer integer
---@param log flemma.job_log.Log
---@param part flemma.job_log.Part
local function add(buffer, log, part)
  local lines = part.is_cut and { CUT } or {}
  vim.list_extend(lines, escape(part.lines))
  local more = part.unfinished ~= "" and { part.unfinished } or {}
  if part["end"] then
    more = { "", ("[%s]"):format(part["end"]) }
  end
  log.from = part.next
  local count = api.nvim_buf_line_count(buffer)
  local first = count - log.open
  local following = vim.tbl_filter(function(window)
    return api.nvim_win_get_cursor(window)[1] >= first
  end, vim.fn.win_findbuf(buffer))
  vim.bo[buffer].modifiable = true
  api.nvim_buf_set_lines(buffer, first, -1, false, vim.list_extend(vim.list_slice(lines), escape(more)))
  local over = api.nvim_buf_line_count(buffer) - MOST_LINES
  if over > 0 then
    api.nvim_buf_set_lines(buffer, 0, over, false, {})
  end
  vim.bo[buffer].modifiable = false
  -- An empty buffer has one line.
  log.open = first == 0 and #lines == 0 and 1 or #more
  for _, window in ipairs(following) do
    api.nvim_win_set_cursor(window, { api.nvim_buf_line_count(buffer), 0 })
  end
end

--- Asks for what is new, until the job has ended or the buffer is closed.
local function follow(name, buffer, log)
  local question = { name = "job_log", arguments = { name = name, from = log.from } }
  require("flemma.lookup").ask("query", question, function(part)
    if not api.nvim_buf_is_valid(buffer) then
      return
    elseif type(part) ~= "table" then
      part = { lines = {}, unfinished = "", next = log.from, ["end"] = ("%s is not known any more."):format(name) }
    end
    if part.is_cut or #part.lines > 0 or part.unfinished ~= "" or log.open > 0 or part["end"] then
      add(buffer, log, part)
    end
    if not part["end"] then
      vim.defer_fn(function()
        if api.nvim_buf_is_valid(buffer) then
          follow(name, buffer, log)
        end
      end, EVERY_MS)
    end
  end)
end

--- Stops a job.
---@param name string
function M.stop(name)
  local question = { name = "job_stop", arguments = { name = name } }
  require("flemma.lookup").ask("query", question, function(is_running)
    local message = is_running == true and "%s is being stopped." or "%s is not running."
    require("flemma.notices").notify({ level = "info", message = message:format(name) })
  end)
end

--- Opens the log of a job in a window at its end.
---@param name string
function M.open(name)
  local windows = require("flemma.window")
  local buffer = buffers[name]
  local window = buffer and api.nvim_buf_is_valid(buffer) and windows.showing(buffer)
  if window then
    return api.nvim_set_current_win(window)
  end
  buffer = api.nvim_create_buf(false, true)
  buffers[name] = buffer
  pcall(api.nvim_buf_set_name, buffer, "flemma://" .. name)
  vim.bo[buffer].bufhidden, vim.bo[buffer].modifiable, vim.bo[buffer].undolevels = "wipe", false, -1
  window = windows.open(buffer, { enter = true, height = math.max(5, math.floor(vim.o.lines / 2)), style = "minimal" })
  api.nvim_set_option_value("winbar", KEYS:format(name), { scope = "local", win = window })
  vim.keymap.set("n", "x", function()
    M.stop(name)
  end, { buffer = buffer, nowait = true, desc = "Stop this job" })
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer, nowait = true, desc = "Close the log" })
  follow(name, buffer, { from = 0, open = 1 })
end

return M
