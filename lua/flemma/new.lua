--- New chats: `:Flemma new`, and `:Flemma rules` and `skills` for a chat that has none. The host
--- renders templates and finds what belongs into a chat.
---@class flemma.new
local M = {}

local api = vim.api

---@class flemma.new.Chat A chat that the host made.
---@field folder string? Nil if none can be opened.
---@field is_chosen boolean Whether the user chose the folder.
---@field lines string[]
---@field cursor [integer, integer]?
---@field messages { [1]: string, [2]: string }[] Levels and texts.

---@type table<string, flemma.new.Chat> Chats that are about to be opened, by path.
local prepared = {}

local function say_all(messages)
  for _, message in ipairs(messages) do
    require("flemma.notices").notify({ level = message[1], message = message[2] })
  end
end

local function project()
  return vim.fs.normalize(require("flemma.directory").here())
end

--- Asks the host a question about chats of a project.
---@param name string
---@param fields? table
---@return any answer Nil without a host, which was reported.
function M.query(name, fields)
  return require("flemma.lookup").wait("query", { name = name, arguments = M.arguments(fields) })
end

--- Returns the arguments of a question about chats of a project.
---@param fields? table
---@return table
function M.arguments(fields)
  local chats = require("flemma.config").get().chats
  local folder = chats.folder and vim.fs.normalize(vim.fs.abspath(vim.fs.normalize(chats.folder)))
  local templates = chats.templates and vim.fs.normalize(chats.templates)
  return vim.tbl_extend("error", {
    project = project(),
    folder = folder,
    templates = templates or vim.fs.joinpath(vim.fn.stdpath("config"), "flemma", "templates"),
  }, fields or {})
end

--- Returns a path for a new chat: the minute, and a number if needed. The day alone would be
--- taken by another Neovim that did not write its chat yet.
local function unused(folder)
  local minute = vim.fs.joinpath(folder, os.date("%Y-%m-%d-%H%M") --[[@as string]])
  return require("flemma.report").unused(minute .. ".chat")
end

--- Has the host make a chat, and prepares its text.
---@return string? path Without one, the reason was shown.
---@return flemma.new.Chat? chat
local function prepare(fields)
  local selection = require("flemma.selection")
  local defaults = { date = os.date("%Y-%m-%d"), file = selection.path(), selection = "", is_edit = false }
  local chat = M.query("new_chat", vim.tbl_extend("force", defaults, fields))
  if not chat or not chat.folder then
    return say_all(chat and chat.messages or { { "error", "No chat was made, because the host does not answer." } })
  end
  local path = unused(chat.folder)
  prepared[path] = chat
  return path, chat
end

--- Opens a new chat.
---@param template string? Its name.
---@param split boolean Whether it gets a window of its own.
---@param range? flemma.selection.Range The text for `${selection}`.
---@return boolean opened Otherwise the reason was shown.
function M.open(template, split, range)
  local text = range and require("flemma.selection").text(range)
  local path, chat = prepare({ template = template, selection = text })
  if not path or not chat then
    return false
  end
  local opened, reason = pcall(require("flemma.window").file, path, split)
  if not opened then
    say_all({ { "error", ("The new chat cannot be opened: %s."):format(reason) } })
    return false
  end
  require("flemma.autosave").note(api.nvim_get_current_buf())
  say_all(chat.messages)
  if chat.is_chosen then
    local question = { name = "offer_exclude", arguments = { folder = chat.folder } }
    require("flemma.lookup").ask("query", question, function() end)
  end
  return true
end

--- Creates a chat for an edit that neither a window nor the list of buffers shows.
---@param whole string? The path of the edited file, if it may be sent as a whole.
---@return integer? buffer Without one, the reason was shown.
function M.hidden(whole)
  local path = prepare({ is_edit = true, whole = whole })
  if not path then
    return nil
  end
  local recent = require("flemma.recent")
  local last = recent.get()
  local buffer = vim.fn.bufadd(path)
  local loaded, reason = pcall(vim.fn.bufload, buffer)
  if not loaded then
    return say_all({ { "error", ("The new chat cannot be opened: %s."):format(reason) } })
  end
  -- A chat in a window is introduced when it is first shown, after the user's autocommands.
  api.nvim_clear_autocmds({ group = "flemma", event = "BufWinEnter", pattern = ("<buffer=%d>"):format(buffer) })
  require("flemma.buffer").filled(buffer)
  -- Loading it made it the current buffer for a moment.
  recent.note(last)
  return buffer
end

--- Puts `@You:`, or the text that was prepared, into a buffer whose file does not exist yet, and the
--- cursor below it, unless the user's own template has filled it.
---@param buffer integer
---@return boolean bare Whether it has `@You:` alone.
function M.fill(buffer)
  local path = api.nvim_buf_get_name(buffer)
  local chat = prepared[path]
  prepared[path] = nil
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  if #lines > 1 or lines[1] ~= "" or not vim.bo[buffer].modifiable then
    return false
  end
  lines = chat and chat.lines or { "@You:", "" }
  local cursor = chat and chat.cursor or { #lines - 1, 0 }
  -- Without an undo step, so that `u` in a new chat undoes only what the user typed.
  local levels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].undolevels = levels
  vim.bo[buffer].modified = false
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    api.nvim_win_set_cursor(window, { cursor[1] + 1, cursor[2] })
  end
  return not chat
end

--- Describes a chat for the host.
local function described(buffer)
  return {
    path = vim.fn.fnamemodify(api.nvim_buf_get_name(buffer), ":p"),
    project = project(),
    lines = require("flemma.selection").clean(api.nvim_buf_get_lines(buffer, 0, -1, false)),
  }
end

--- Adds the project's rules or the skills to this chat.
---@param name "add_rules"|"add_skills"
function M.add(name)
  local buffer = api.nvim_get_current_buf()
  if not vim.bo[buffer].modifiable then
    return say_all({ { "warn", "The chat is locked while a tool runs. Try again when it is done." } })
  end
  local added = require("flemma.lookup").wait("query", { name = name, arguments = described(buffer) })
  if added and added.line then
    api.nvim_buf_set_lines(buffer, added.line, added.line, false, added.lines)
  end
  say_all(added and added.messages or { { "warn", "The host does not answer, so nothing was added. Try again." } })
end

---@type table<string, true> Paths of the chats to which rules were offered.
local offered = {}

--- Says once that a new chat that `:Flemma new` did not make lacks the project's rules.
---@param buffer integer
function M.offer_rules(buffer)
  local path = api.nvim_buf_is_loaded(buffer) and api.nvim_buf_get_name(buffer)
  -- The user's own autocommands may have filled it.
  if not path or offered[path] or table.concat(api.nvim_buf_get_lines(buffer, 0, -1, false), "\n") ~= "@You:\n" then
    return
  end
  require("flemma.host").when_ready(function()
    local question = { name = "offer_rules", arguments = described(buffer) }
    require("flemma.lookup").ask("query", question, function(message)
      if message and not offered[path] then
        offered[path] = true
        require("flemma.notices").notify({ buffer = buffer, level = "info", message = message })
      end
    end)
  end)
end

return M
