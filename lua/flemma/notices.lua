--- What the host says to the user outside the text: messages, events, the
--- status line.
---@class flemma.notices
local M = {}

local wrap = require("flemma.wrap")

---@type table<integer, string> Status line text by buffer.
local texts = require("flemma.state").by_buffer()

--- Makes control characters visible, so that no byte from outside can move the
--- cursor or recolour the terminal.
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

local GROUPS = { error = "ErrorMsg", warn = "WarningMsg" }

---@param command string An Ex command that shows a message.
---@param text string
---@param level "info"|"warn"|"error"
local function say(command, text, level)
  local line = ("redraw | echohl %s | %s %s | echohl None"):format(
    GROUPS[level] or "None",
    command,
    vim.fn.string(text)
  )
  -- A Ctrl-C that comes just now interrupts the message, so it is shown again.
  local ok, why = pcall(vim.cmd, line)
  if not ok then
    ok, why = pcall(vim.cmd, line)
  end
  if not ok then
    require("flemma.host").log(("not shown: %s (%s)"):format(text, why))
  end
end

--- Shows one line where Neovim shows messages, and keeps the whole text in |:messages|.
--- A message of two lines, or a second one before the first was drawn, would end in a
--- "Press ENTER" prompt, behind which Neovim serves no host. With `T` in 'shortmess',
--- `:echomsg` cuts out the middle of the text, cause and remedy with it, so a text that
--- is too long is replaced on the screen by its first sentence.
---@param text string
---@param level "info"|"warn"|"error"
local function echo(text, level)
  local shortmess = vim.o.shortmess
  vim.opt.shortmess:append("T")
  say("echomsg", text, level)
  local short = wrap.first_line(text, vim.v.echospace)
  if short ~= text then
    say("echo", short, level)
  end
  vim.o.shortmess = shortmess
end

--- Runs `job` once Neovim has started; messages before that pile up.
---@param job fun()
local function when_entered(job)
  if vim.v.vim_did_enter == 1 then
    job()
  else
    vim.api.nvim_create_autocmd("VimEnter", { once = true, callback = vim.schedule_wrap(job) })
  end
end

--- Whether the user has no notifier of their own.
---@return boolean
local function is_plain()
  return debug.getinfo(vim.notify, "S").source:find("vim/_editor", 1, true) ~= nil
end

---@param text string
---@param level "info"|"warn"|"error"
local function echo_soon(text, level)
  -- After the message that Neovim itself is about to give, as on opening a file.
  vim.schedule(function()
    when_entered(function()
      echo(text, level)
    end)
  end)
end

local LEVELS = { [vim.log.levels.WARN] = "warn", [vim.log.levels.ERROR] = "error" }

--- Runs `job`, whose own calls of `vim.notify` raise no "Press ENTER" prompt either.
---@param job fun(): ...
---@return ... What `pcall` returns.
function M.quietly(job)
  if not is_plain() or vim.in_fast_event() then
    return pcall(job)
  end
  local notify = vim.notify
  local function show(text, level)
    echo_soon(M.escape(tostring(text)), LEVELS[level] or "info")
  end
  vim.notify = show
  local ok, result = pcall(job)
  if vim.notify == show then
    vim.notify = notify
  end
  return ok, result
end

---@param buffer integer?
---@return integer? chat The buffer, else the current one if it is a chat.
local function chat_of(buffer)
  local current = vim.api.nvim_get_current_buf()
  return buffer or vim.bo[current].filetype == "chat" and current or nil
end

--- Shows errors, and what does not fit into one line, below the text that they concern.
---@param message flemma.protocol.Notify
---@param level "info"|"warn"|"error"
local function remark(message, level)
  local buffer = chat_of(message.buffer)
  local fits = vim.api.nvim_strwidth("Flemma: " .. message.message) <= vim.v.echospace
  if buffer and (level == "error" or not fits) then
    local lines = vim.tbl_map(M.escape, vim.split(message.message, "\n", { plain = true }))
    require("flemma.remarks").add(buffer, level, table.concat(lines, "\n"))
  end
end

--- Shows a message to the user: in one line, through their own notifier if they have
--- one, and in full in the chat that it concerns.
---@param message flemma.protocol.Notify
function M.notify(message)
  local level = message.level or "info"
  local text = "Flemma: " .. M.escape(message.message)
  if is_plain() then
    echo_soon(text, level)
  else
    vim.notify(text, vim.log.levels[level:upper()] or vim.log.levels.INFO)
  end
  if vim.in_fast_event() then
    vim.schedule(function()
      remark(message, level)
    end)
  else
    remark(message, level)
  end
end

---@type flemma.protocol.Event? Whose autocommands are to be run.
local told

--- Runs the autocommands of the event that is being told.
function M.run_autocommands()
  local event = told
  told = nil
  if event then
    vim.api.nvim_exec_autocmds("User", { pattern = event.name, modeline = false, data = event.data })
  end
end

local RUN = {
  cmd = "lua",
  args = { "require('flemma.notices').run_autocommands()" },
  mods = { emsg_silent = true, unsilent = true },
}

--- Runs the user's autocommands. What fails in one of them is told in a line: shown by
--- Neovim it would end in a "Press ENTER" prompt, behind which no host is served.
---@param event flemma.protocol.Event
function M.event(event)
  local before = vim.v.errmsg
  told, vim.v.errmsg = event, ""
  local ok, why = pcall(vim.api.nvim_cmd, RUN, {})
  -- A Ctrl-C that comes just now is taken for an interrupt of this.
  if told then
    ok, why = pcall(vim.api.nvim_cmd, RUN, {})
  end
  if not ok then
    require("flemma.host").log(("%s: %s"):format(event.name, why))
  end
  local problem = vim.v.errmsg
  vim.v.errmsg = problem ~= "" and problem or before
  -- Also a command that they silence themselves leaves its error there.
  if problem:find("[Ll]ua callback") then
    local line = vim.split(problem:gsub("^.-[Ll]ua callback:%s*", ""), "\n")[1]
    M.notify({ level = "error", message = ("An autocommand of yours for %s failed: %s"):format(event.name, line) })
  end
end

---@param message flemma.protocol.Statusline
function M.statusline(message)
  texts[message.buffer] = message.text ~= "" and M.escape(message.text):gsub("%%", "%%%%") or nil
  vim.cmd.redrawstatus()
end

--- What stands in the status line of a buffer.
---@param buffer integer
---@return string
function M.text(buffer)
  return texts[buffer] or ""
end

return M
