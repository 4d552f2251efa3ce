--- Tells the user when a chat that no window shows needs them: a call waits, or the
--- model is done. Optionally through the terminal as well, which is heard from another
--- program, too.
---@class flemma.hidden
local M = {}

local api = vim.api
local config = require("flemma.config")

--- Most tools that are named.
local NAMED = 3

--- Whether the terminal said that it lost the focus.
local unfocused = false
--- How the last request of each chat ended.
---@type table<integer, string>
local ended = {}

---@param buffer integer
---@return boolean
local function is_visible(buffer)
  for _, window in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(window) == buffer then
      return true
    end
  end
  return false
end

--- What the user has to know, or nil.
---@param buffer integer
---@param data { waiting: string[], limit: boolean, stuck: boolean } Of |FlemmaRested|.
---@return string?
local function news(buffer, data)
  local name = vim.fs.basename(api.nvim_buf_get_name(buffer))
  name = name ~= "" and name or "a chat without a name"
  local waiting = data.waiting or {}
  if #waiting > 0 then
    local verb = #waiting == 1 and "call waits" or "calls wait"
    local more = #waiting > NAMED and ", …" or ""
    local tools = table.concat(vim.list_slice(waiting, 1, NAMED), ", ") .. more
    return ("%s: %d %s for you (%s)."):format(name, #waiting, verb, tools)
  elseif data.limit then
    return ("%s: autopilot stopped at its limit."):format(name)
  elseif data.stuck then
    return ("%s: autopilot stopped, as the model repeats a failing call."):format(name)
  elseif ended[buffer] == "success" then
    return ("%s: the answer is complete."):format(name)
  elseif ended[buffer] == "error" then
    return ("%s: the request failed."):format(name)
  end
end

--- What a terminal gets for a text.
---@param kind "bell"|"osc9"
---@param text string
---@return string bytes
function M.sequence(kind, text)
  if kind == "osc9" then
    return "\27]9;Flemma: " .. text:gsub("%c", " ") .. "\27\\"
  end
  return "\7"
end

---@param text string
local function ring(text)
  local kind = config.get().bell
  if kind == "bell" or kind == "osc9" then
    -- The terminal is at the other end of the editor's standard error.
    pcall(vim.fn.chansend, vim.v.stderr, M.sequence(kind, text))
  end
end

--- Everything that a key started is done.
---@param data { bufnr: integer, waiting: string[], limit: boolean, stuck: boolean }
local function rested(data)
  local buffer = data.bufnr
  local visible = is_visible(buffer)
  if not api.nvim_buf_is_valid(buffer) or visible and not unfocused then
    ended[buffer] = nil
    return
  end
  local text = news(buffer, data)
  ended[buffer] = nil
  if text then
    ring(text)
    if not visible then
      require("flemma.notices").notify({ buffer = buffer, level = "info", message = text })
    end
  end
end

--- Follows all chats.
function M.start()
  local group = api.nvim_create_augroup("flemma.hidden", { clear = true })
  ---@param event string|string[]
  ---@param pattern string?
  ---@param callback fun(event: table)
  local function on(event, pattern, callback)
    api.nvim_create_autocmd(
      event,
      { group = group, pattern = pattern, desc = "flemma: hidden chats", callback = callback }
    )
  end
  on("FocusLost", nil, function()
    unfocused = true
  end)
  on("FocusGained", nil, function()
    unfocused = false
  end)
  on("User", "FlemmaRequestFinished", function(event)
    ended[event.data.bufnr] = event.data.status
  end)
  on("User", "FlemmaRested", function(event)
    rested(event.data)
  end)
end

return M
