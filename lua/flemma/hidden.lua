--- Notifies the user when a chat that no window shows has a pending call or is done.
--- Optionally rings the terminal as well.
---@class flemma.hidden
local M = {}

local api = vim.api
local config = require("flemma.config")

--- Most tools that a message names.
local NAMED = 3

--- Whether the terminal has lost the focus.
local unfocused = false
---@type table<integer, string> How the last request of each chat ended.
local ended = {}

--- Returns the message for a chat that is at rest, if it needs one.
---@param data { waiting: string[], limit: boolean, stuck: boolean } Of |FlemmaRested|.
---@return string? message
local function news(buffer, data)
  local name = vim.fs.basename(api.nvim_buf_get_name(buffer))
  name = name ~= "" and name or "a chat without a name"
  local waiting = data.waiting or {}
  if #waiting > 0 then
    local verb = #waiting == 1 and "call needs" or "calls need"
    local more = #waiting > NAMED and ", …" or ""
    local tools = table.concat(vim.list_slice(waiting, 1, NAMED), ", ") .. more
    return ("%s: %d %s your approval (%s)."):format(name, #waiting, verb, tools)
  elseif data.limit then
    return ("%s: autopilot stopped at its limit."):format(name)
  elseif data.stuck then
    return ("%s: autopilot stopped because the model repeats a failing call."):format(name)
  elseif ended[buffer] == "success" then
    return ("%s: the answer is complete."):format(name)
  elseif ended[buffer] == "error" then
    return ("%s: the request failed."):format(name)
  end
end

--- Returns what rings a terminal, with a text if it can show one.
---@param kind "bell"|"osc9"
---@param text string
---@return string bytes
function M.sequence(kind, text)
  if kind == "osc9" then
    return "\27]9;Flemma: " .. text:gsub("%c", " ") .. "\27\\"
  end
  return "\7"
end

local function ring(text)
  local kind = config.get().bell
  if kind ~= "bell" and kind ~= "osc9" then
    return
  end
  local bytes = M.sequence(kind, text)
  if api.nvim_ui_send then
    api.nvim_ui_send(bytes)
  else
    -- Neovim 0.11. The terminal reads what it writes to its standard error.
    pcall(vim.fn.chansend, vim.v.stderr, bytes)
  end
end

--- Notifies the user of a chat that is at rest, unless it is on screen.
local function rested(data)
  local buffer = data.bufnr
  local visible = vim.fn.bufwinid(buffer) ~= -1
  local needed = api.nvim_buf_is_valid(buffer) and (unfocused or not visible)
  local edits = package.loaded["flemma.inline_edit"]
  -- An edit of a selection has its own messages.
  local text = needed and not (edits and edits.is_edit(buffer)) and news(buffer, data) or nil
  local failed = ended[buffer] == "error" or ended[buffer] == "cancelled"
  ended[buffer] = nil
  local is_shown = require("flemma.progress").finish(buffer, text, failed)
  if text then
    ring(text)
    if not visible and not is_shown then
      require("flemma.notices").notify({ buffer = buffer, level = "info", message = text })
    end
  end
end

--- Watches the chats and the focus.
function M.start()
  local group = api.nvim_create_augroup("flemma.hidden", { clear = true })
  local function on(event, pattern, callback)
    local options = { group = group, pattern = pattern, desc = "flemma: hidden chats", callback = callback }
    api.nvim_create_autocmd(event, options)
  end
  on({ "FocusLost", "FocusGained" }, "*", function(event)
    unfocused = event.event == "FocusLost"
  end)
  on("User", "FlemmaRequestFinished", function(event)
    ended[event.data.bufnr] = event.data.status
  end)
  on("User", "FlemmaRested", function(event)
    rested(event.data)
  end)
end

return M
