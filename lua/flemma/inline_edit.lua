--- `:Flemma edit`: lets a model change lines of a file, and shows what it proposes as a review.
---
--- Each edit is a chat of its own, which no window shows unless the user opens it.
---@class flemma.inline_edit
local M = {}

local api = vim.api
local notices = require("flemma.notices")

--- Longest file that is sent as a whole with the selection.
local WHOLE_BYTES = 256 * 1024

---@class flemma.inline_edit.Edit
---@field window integer The window in which the user ran the command.
---@field source integer The buffer there.
---@field name string That of the file, as the user sees it.
---@field state "working"|"ready"|"done" "ready": a proposal waits for the user.
---@field proposed boolean Whether there was a proposal.
---@field failed boolean Whether the last request failed, which was reported.

---@type table<integer, flemma.inline_edit.Edit> By chat.
local edits = require("flemma.state").by_buffer()
---@type integer[] The chats of all edits, the last one at the end.
local order = {}

local function notify(level, message)
  notices.notify({ level = level, message = message })
end

--- Returns true for the chat of an edit.
---@param buffer integer
---@return boolean
function M.is_edit(buffer)
  return edits[buffer] ~= nil
end

--- Runs a command of a chat that no window need show.
local function command(chat, name, arguments)
  api.nvim_buf_call(chat, function()
    require("flemma.buffer").command(name, arguments)
  end)
end

--- Returns true if the user is still where they ran the command, and does nothing else.
local function is_there(edit)
  return api.nvim_get_current_win() == edit.window
    and api.nvim_get_current_buf() == edit.source
    and api.nvim_get_mode().mode == "n"
end

--- Opens the review of the proposal below the window of an edit.
local function review(chat)
  require("flemma.review").open_from(chat, edits[chat].window)
  command(chat, "review")
end

--- Writes the chat, which would otherwise keep Neovim from quitting.
local function save(chat)
  if vim.fn.bufwinid(chat) == -1 and vim.bo[chat].modified then
    api.nvim_buf_call(chat, function()
      vim.cmd("silent! write")
    end)
  end
end

--- Says that a proposal waits, also after Insert mode, which hides the message.
local function say_ready(edit)
  local function say()
    if edit.state == "ready" then
      notify("info", ("The edit of %s is ready. Run :Flemma edit to see it."):format(edit.name))
    end
  end
  say()
  if api.nvim_get_mode().mode:find("^[iR]") then
    api.nvim_create_autocmd("InsertLeave", {
      once = true,
      desc = "flemma: an edit is ready",
      -- Later, when Neovim has removed its own message.
      callback = vim.schedule_wrap(say),
    })
  end
end

--- Follows the chat of an edit that is at rest.
---@param waiting string[] The pending calls.
local function rested(chat, waiting)
  local edit = edits[chat]
  save(chat)
  if #waiting > 0 then
    if edit.state ~= "working" then
      -- The user knows of it. A review that fails comes here again.
      return
    end
    edit.state, edit.proposed = "ready", true
    if is_there(edit) then
      return review(chat)
    end
    return say_ready(edit)
  end
  if not edit.proposed and not edit.failed then
    notify("warn", ("No edit of %s was proposed. Run :Flemma edit to read the answer."):format(edit.name))
  end
  edit.state = "done"
end

local function watch()
  local group = api.nvim_create_augroup("flemma.inline_edit", { clear = true })
  local function on(pattern, callback)
    api.nvim_create_autocmd("User", {
      group = group,
      pattern = pattern,
      desc = "flemma: edits of a selection",
      callback = function(event)
        if edits[event.data.bufnr] then
          callback(event.data.bufnr, event.data)
        end
      end,
    })
  end
  on("FlemmaRequestStarted", function(chat)
    edits[chat].state = "working"
  end)
  on("FlemmaRequestFinished", function(chat, data)
    edits[chat].failed = data.status ~= "success"
  end)
  on("FlemmaRested", function(chat, data)
    rested(chat, data.waiting or {})
  end)
end

--- Cancels a proposal whose review the user closed.
---@param chat integer
function M.drop(chat)
  local edit = edits[chat]
  if edit and edit.state == "ready" then
    edit.state = "done"
    command(chat, "cancel")
    notify("info", ("The edit of %s was dropped."):format(edit.name))
  end
end

--- Opens what the last edit led to: the review of its proposal, or its chat.
local function open()
  local chats = vim.tbl_filter(function(chat)
    return edits[chat] ~= nil
  end, order)
  local ready = vim.tbl_filter(function(chat)
    return edits[chat].state == "ready"
  end, chats)
  local chat = ready[#ready] or chats[#chats]
  if not chat then
    return notify("error", "Write what to change after the command, as in :'<,'>Flemma edit Use a constant.")
  elseif edits[chat].state ~= "ready" then
    return require("flemma.ask").enter(chat)
  end
  edits[chat].window, edits[chat].source = api.nvim_get_current_win(), api.nvim_get_current_buf()
  review(chat)
end

--- Returns why the current buffer cannot be changed by an edit.
local function refusal()
  local name = api.nvim_buf_get_name(0)
  if vim.bo.filetype == "chat" then
    return "A chat is changed by hand. Run :Flemma edit in another file."
  elseif vim.bo.buftype ~= "" or name == "" or not vim.uv.fs_stat(name) then
    return "An edit changes a file, and this buffer is none. Write it first."
  elseif not vim.bo.modifiable or vim.bo.readonly then
    return "This buffer cannot be changed. Nothing was sent."
  end
end

--- Sends the lines of a range with an instruction. Without one, opens the last edit.
---@param instruction string
---@param range? flemma.selection.Range
function M.edit(instruction, range)
  if instruction == "" then
    return open()
  end
  local problem = refusal()
  if problem then
    return notify("error", problem)
  end
  local selection = require("flemma.selection")
  range = range or { first = 1, last = api.nvim_buf_line_count(0) }
  -- In the chat, relative paths start from its own folder.
  local text = selection.text(range, selection.clean({ (api.nvim_buf_get_name(0):gsub("%c", "?")) })[1])
  if not text then
    return notify("error", "There is no text to edit.")
  end
  local edit = {
    window = api.nvim_get_current_win(),
    source = api.nvim_get_current_buf(),
    name = selection.path(),
    state = "working",
    proposed = false,
    failed = false,
  }
  local is_short = api.nvim_buf_get_offset(0, api.nvim_buf_line_count(0)) <= WHOLE_BYTES
  local chat = require("flemma.new").hidden(is_short and api.nvim_buf_get_name(0) or nil)
  if not chat then
    return
  end
  if #order == 0 then
    watch()
  end
  edits[chat], order[#order + 1] = edit, chat
  command(chat, "ask", { text = text .. "\n\n" .. selection.clean({ instruction })[1], send = true })
  notify("info", ("Editing %s …"):format(edit.name))
end

return M
