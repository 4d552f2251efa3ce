--- Messages to the user, and `User` autocommands.
---@class flemma.notices
local M = {}

local neovim = require("flemma.neovim")
local wrap = require("flemma.wrap")

--- Makes control characters visible, so that no text from outside controls the terminal.
---@param text string
---@return string
function M.escape(text)
  if not text:find("%c") then
    return text
  end
  return (
    text:gsub("%c", function(char)
      return char == "\127" and "^?" or "^" .. string.char(char:byte() + 64)
    end)
  )
end

--- Like |M.escape|, but keeps line breaks.
local function escape_lines(text)
  return table.concat(vim.tbl_map(M.escape, vim.split(text, "\n", { plain = true })), "\n")
end

local GROUPS = { error = "ErrorMsg", warn = "WarningMsg" }
---@type string? Our last message, as it was put on the message line.
local last

---@param command string An Ex command that shows a message.
local function say(command, text, level)
  local line = ("redraw | echohl %s | %s %s | echohl None"):format(
    GROUPS[level] or "None",
    command,
    vim.fn.string(text)
  )
  -- A Ctrl-C just now interrupts the message, so it is shown again.
  local ok, why = pcall(vim.cmd, line)
  if not ok then
    ok, why = pcall(vim.cmd, line)
  end
  if not ok then
    require("flemma.host").log(("not shown: %s (%s)"):format(text, why))
  end
end

--- Shows a message in one line, and keeps the whole text in |:messages|.
---
--- A longer message, or a second one before the first was drawn, would end in a "Press ENTER"
--- prompt, during which Neovim handles no messages of the host. With `T` in 'shortmess',
--- `:echomsg` cuts out the middle of a text that is too long, so its first sentence is shown
--- instead.
local function echo(text, level)
  local shortmess = vim.o.shortmess
  vim.opt.shortmess:append("T")
  local short = wrap.first_line(text, vim.v.echospace)
  -- Without a line for messages, Neovim shortens none.
  local kept = vim.o.cmdheight == 0 and short or text
  say("echomsg", kept, level)
  if short ~= kept then
    say("echo", short, level)
  end
  vim.o.shortmess = shortmess
  last = short
end

--- Returns the beginning of the message line, which is on the screen only.
local function message_line(width)
  local cells, row = {}, vim.o.lines - math.max(1, vim.o.cmdheight) + 1
  for column = 1, width do
    cells[column] = vim.fn.screenstring(row, column)
  end
  return table.concat(cells)
end

--- Empties the message line if it still has our last message.
function M.clear()
  if last and message_line(vim.api.nvim_strwidth(last)) == last then
    vim.api.nvim_echo({ { "" } }, false, {})
  end
  last = nil
end

--- Whether Neovim has drawn no screen since our last prompt closed.
local is_after_prompt = false

--- Notes that a prompt of ours has closed.
function M.prompt_closed()
  is_after_prompt = true
  vim.api.nvim_create_autocmd("SafeState", {
    once = true,
    callback = function()
      is_after_prompt = false
    end,
  })
end

--- Returns the event after which Neovim shows a message in one line, or nil if it does now.
local function event_before_messages()
  -- Messages before `VimEnter` would be shown together.
  if vim.v.vim_did_enter == 0 then
    return "VimEnter"
  end
  -- Until Neovim has drawn the screen again after a prompt or a list that scrolled it, it
  -- does not shorten messages, and a long one would end in a "Press ENTER" prompt.
  if is_after_prompt or vim.fn.state("s") ~= "" then
    return "SafeState"
  end
end

--- Shows a message after those that Neovim itself is about to show, as on opening a file.
local function echo_soon(text, level)
  vim.schedule(function()
    local event = event_before_messages()
    if not event then
      return echo(text, level)
    end
    local callback = vim.schedule_wrap(function()
      echo(text, level)
    end)
    vim.api.nvim_create_autocmd(event, { once = true, callback = callback })
  end)
end

local LEVELS = { [vim.log.levels.WARN] = "warn", [vim.log.levels.ERROR] = "error" }

--- Passes a message to a notifier, and shows it in one line if Neovim itself would show it.
---@return any result Of the notifier.
local function pass_on(notifier, text, level, options)
  return neovim.notify(notifier, function(shown)
    echo_soon(M.escape((shown:gsub("%s*\n%s*", " "))), LEVELS[level] or "info")
  end, text, level, options)
end

--- Runs `job`. Its own calls of `vim.notify` cause no "Press ENTER" prompt either.
---@param job fun(): ...
---@return ... What `pcall` returns.
function M.quietly(job)
  local notifier = vim.notify
  local function notify(text, level, options)
    return pass_on(notifier, text, level, options)
  end
  vim.notify = notify
  local ok, result = pcall(job)
  if vim.notify == notify then
    vim.notify = notifier
  end
  return ok, result
end

--- Shows errors, and messages that do not fit into one line, in the chat that they concern.
local function remark(message, level)
  local current = vim.api.nvim_get_current_buf()
  local buffer = message.buffer or vim.bo[current].filetype == "chat" and current
  local fits = vim.api.nvim_strwidth("Flemma: " .. message.message) <= vim.v.echospace
  if buffer and (level == "error" or not fits) then
    require("flemma.remarks").add(buffer, level, escape_lines(message.message))
  end
end

--- Shows a message in one line, or by the user's own notifier, and in full in the chat that
--- it concerns.
---@param message flemma.protocol.Notify
function M.notify(message)
  if vim.in_fast_event() then
    return vim.schedule(function()
      M.notify(message)
    end)
  end
  local level = message.level or "info"
  local text = "Flemma: " .. escape_lines(message.message)
  pass_on(vim.notify, text, vim.log.levels[level:upper()] or vim.log.levels.INFO)
  remark(message, level)
end

---@type flemma.protocol.Event? The event whose autocommands have to run.
local current

--- Runs the autocommands of the current event.
function M.run_autocommands()
  local event = current
  current = nil
  if event then
    vim.api.nvim_exec_autocmds("User", { pattern = event.name, modeline = false, data = event.data })
  end
end

local RUN = {
  cmd = "lua",
  args = { "require('flemma.notices').run_autocommands()" },
  mods = { emsg_silent = true, unsilent = true },
}

--- Runs the user's autocommands, and reports an error of theirs in one line: Neovim itself
--- would show it with a "Press ENTER" prompt.
---@param event flemma.protocol.Event
function M.event(event)
  local before = vim.v.errmsg
  current, vim.v.errmsg = event, ""
  local ok, why = pcall(vim.api.nvim_cmd, RUN, {})
  -- A Ctrl-C just now interrupts the call before it begins.
  if current then
    ok, why = pcall(vim.api.nvim_cmd, RUN, {})
  end
  if not ok then
    require("flemma.host").log(("%s: %s"):format(event.name, why))
  end
  local problem = vim.v.errmsg
  vim.v.errmsg = problem ~= "" and problem or before
  local line = neovim.autocommand_error(problem)
  if line then
    M.notify({ level = "error", message = ("Your autocommand for %s failed: %s"):format(event.name, line) })
  end
end

--- Opens the page of a login, whose address is also in a message.
---@param message flemma.protocol.Visit
function M.visit(message)
  vim.ui.open(message.url)
end

return M
