--- Progress of long runs in chats that no window shows: Neovim's own progress messages where it
--- has them, otherwise `vim.notify`.
---@class flemma.progress
local M = {}

local api = vim.api

--- How long a phase lasts before it is worth a message.
M.LONG_MS = 5000
--- Columns that Neovim puts around a progress message.
local AROUND = 20
--- Phases in which nothing happens without the user.
local AT_REST = { idle = true, approval = true }

---@class flemma.progress.Run
---@field phase string
---@field since number When the phase began, in `vim.uv.now()`.
---@field reported table<string, boolean> Phases of this run that were reported.
---@field id integer? Of Neovim's progress message.

---@type table<integer, flemma.progress.Run>
local runs = require("flemma.state").by_buffer()
--- Whether this Neovim has progress messages; nil is not known yet.
---@type boolean?
local has_progress

---@return integer? id Nil if this Neovim has no progress messages.
local function show(text, status, id)
  if has_progress == false then
    return nil
  end
  -- A message of more than one line would end in a "Press ENTER" prompt.
  local line = require("flemma.wrap").first_line(text, math.max(vim.v.echospace - AROUND, 10))
  local options = { kind = "progress", title = "Flemma", source = "flemma", status = status, id = id }
  -- Neovim 0.11 refuses the options.
  local ok, shown = pcall(api.nvim_echo, { { line } }, status ~= "running", options)
  has_progress = ok and type(shown) == "number"
  -- -1 is a message that was not shown.
  return has_progress and shown >= 0 and shown or nil
end

local function is_hidden(buffer)
  return api.nvim_buf_is_valid(buffer) and vim.fn.bufwinid(buffer) == -1
end

local function report(buffer, run, info)
  local name = vim.fs.basename(api.nvim_buf_get_name(buffer))
  local text = ("%s: %s"):format(name ~= "" and name or "a chat without a name", info.doing)
  run.reported[run.phase] = true
  local id = show(require("flemma.notices").escape(text), "running", run.id)
  if id then
    run.id = id
  else
    require("flemma.notices").notify({ buffer = buffer, level = "info", message = text .. "." })
  end
end

--- Reports the phase of a run, once it has lasted for some seconds in a chat that no window
--- shows. Reports each phase once per run.
---@param buffer integer
---@param info flemma.status.Info
function M.update(buffer, info)
  if AT_REST[info.phase] then
    -- `M.finish` needs it.
    if runs[buffer] then
      runs[buffer].phase = info.phase
    end
    return
  end
  local now, run = vim.uv.now(), runs[buffer]
  if not run or AT_REST[run.phase] and not run.id then
    run = { phase = info.phase, since = now, reported = {} }
    runs[buffer] = run
  elseif run.phase ~= info.phase then
    run.phase, run.since = info.phase, now
  end
  local mode = api.nvim_get_mode().mode:sub(1, 1)
  -- A message would disturb a command line or a prompt. The next second will do.
  local can_show = mode ~= "c" and mode ~= "r"
  if can_show and not run.reported[run.phase] and now - run.since >= M.LONG_MS and is_hidden(buffer) then
    report(buffer, run, info)
  end
end

--- Ends the run of a chat. Returns true if its progress message says how it ended.
---@param buffer integer
---@param text string?
---@param failed boolean
---@return boolean
function M.finish(buffer, text, failed)
  local run = runs[buffer]
  runs[buffer] = nil
  if not run or not run.id then
    return false
  end
  local status = failed and "failed" or "success"
  return show(require("flemma.notices").escape(text or "done"), status, run.id) ~= nil
end

return M
