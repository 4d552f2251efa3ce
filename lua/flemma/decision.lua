--- The window of a pending call: all of it, and why it waits. Its text cannot be changed, so plain
--- keys decide there.
---@class flemma.decision
local M = {}

local api = vim.api
local notices = require("flemma.notices")
local window = require("flemma.window")

--- The line above the text, cut in the middle where it does not fit.
local KEYS = " a runs · t tries · A all · r rejects%< · l allows by rule · ? help · q leaves"
local NAMESPACE = api.nvim_create_namespace("flemma.decision")
--- Options of its window; the chat's are copied otherwise.
local OPTIONS = {
  diff = false,
  scrollbind = false,
  cursorbind = false,
  foldenable = false,
  wrap = true,
  linebreak = true,
  list = false,
  spell = false,
  conceallevel = 0,
  winbar = KEYS,
  winfixbuf = true,
}
local GROUPS = {
  title = "FlemmaToolName",
  asks = "FlemmaToolPending",
  remark = "FlemmaToolPreview",
  name = "FlemmaField",
  value = "FlemmaFieldValue",
}

---@class flemma.decision.Shown
---@field chat integer The chat's buffer.
---@field id string The id of the call's mark.
---@field from integer The window of the chat.
---@field number integer The window's, for the host.
---@field least_ms integer How long the text is on the screen before a key decides.
---@field quiet number Since when it is, or since the last key that came too early, so that a held key never decides.

---@type table<integer, flemma.decision.Shown> By buffer.
local decisions = {}

local function close(buffer)
  decisions[buffer] = nil
  for _, shown in ipairs(vim.fn.win_findbuf(buffer)) do
    pcall(api.nvim_win_close, shown, true)
  end
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_delete(buffer, { force = true })
  end
end

--- Returns true if the text has been there long enough for a key to mean it.
local function is_read(decision)
  local now = vim.uv.now()
  local since = now - decision.quiet
  if since >= decision.least_ms then
    return true
  end
  decision.quiet = now
  notices.notify({
    level = "info",
    message = "Press the key again: it came before you could read the call, so nothing was decided.",
  })
  return false
end

--- Passes the user's choice to the host, which closes the window when the call is decided.
---@param text string? A reason.
local function choose(buffer, choice, text)
  local decision = decisions[buffer]
  if not decision or not api.nvim_buf_is_loaded(decision.chat) then
    return
  end
  local function send()
    require("flemma.buffer").command("decide", { number = decision.number, choice = choice, text = text })
  end
  -- The host moves the cursor where the key was pressed.
  if api.nvim_win_is_valid(decision.from) and api.nvim_win_get_buf(decision.from) == decision.chat then
    api.nvim_win_call(decision.from, send)
  else
    api.nvim_buf_call(decision.chat, send)
  end
end

local function set_keys(buffer)
  local function map(key, action, description)
    vim.keymap.set("n", key, action, { buffer = buffer, nowait = true, desc = "Flemma: " .. description })
  end
  local function decide(key, description, action)
    map(key, function()
      if decisions[buffer] and is_read(decisions[buffer]) then
        action()
      end
    end, description)
  end
  decide("a", "run this call", function()
    choose(buffer, "run")
  end)
  map("t", function()
    choose(buffer, "try")
  end, "try this call")
  decide("A", "run every pending call", function()
    choose(buffer, "run_all")
  end)
  decide("l", "choose a rule that approves calls like this one", function()
    choose(buffer, "allow")
  end)
  decide("r", "reject this call", function()
    window.input({ prompt = "Reason for rejecting (optional): " }, function(words)
      if words then
        choose(buffer, "reject", words)
      end
    end)
  end)
  map("?", function()
    vim.cmd.help("flemma-decision")
  end, "what the keys do")
  map("q", function()
    close(buffer)
  end, "decide later")
end

local function set_text(buffer, lines)
  vim.bo[buffer].modifiable = true
  api.nvim_buf_set_lines(
    buffer,
    0,
    -1,
    false,
    vim.tbl_map(function(line)
      -- Tabs stay, and the host has spelled out what could hide.
      return (line[2]:gsub("[^\t]+", notices.escape))
    end, lines)
  )
  vim.bo[buffer].modifiable = false
  for row, line in ipairs(lines) do
    api.nvim_buf_set_extmark(buffer, NAMESPACE, row - 1, 0, {
      end_row = row,
      hl_group = GROUPS[line[1]],
      strict = false,
    })
  end
end

---@return integer buffer
local function create(message, from)
  local buffer = api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].modeline = false
  vim.bo[buffer].undolevels = -1
  pcall(api.nvim_buf_set_name, buffer, ("flemma-decision://%d/%d"):format(message.buffer, message.number))
  set_text(buffer, message.lines)
  set_keys(buffer)
  decisions[buffer] = {
    chat = message.buffer,
    from = from,
    id = message.id,
    number = message.number,
    least_ms = message.least_ms,
    quiet = vim.uv.now(),
  }
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buffer,
    once = true,
    desc = "flemma: the window of a call is closed",
    callback = function()
      decisions[buffer] = nil
    end,
  })
  return buffer
end

--- Shows a call again in its window, if that is open.
local function refresh(message)
  for buffer, decision in pairs(decisions) do
    if decision.chat == message.buffer and decision.id == message.id then
      decision.number, decision.quiet = message.number, vim.uv.now()
      set_text(buffer, message.lines)
      vim.iter(vim.fn.win_findbuf(buffer)):each(window.fit)
    end
  end
end

--- Opens the window of a pending call. The one that was open for it is replaced.
---@param message flemma.protocol.Decision
function M.decision(message)
  if message.refresh then
    return refresh(message)
  end
  local from = window.showing(message.buffer)
  if not from then
    return
  end
  local is_there = api.nvim_get_current_buf() == message.buffer
  for buffer, decision in pairs(decisions) do
    if decision.chat == message.buffer then
      if api.nvim_get_current_buf() == buffer then
        is_there, from = true, api.nvim_win_is_valid(decision.from) and decision.from or from
      end
      close(buffer)
    end
  end
  local enters = is_there and api.nvim_get_mode().mode == "n"
  local shown = window.open(create(message, from), { enter = enters, from = from })
  for name, value in pairs(OPTIONS) do
    api.nvim_set_option_value(name, value, { scope = "local", win = shown })
  end
  window.fit(shown)
  window.return_from(shown, from)
end

--- Closes the windows of calls that are not pending any more.
---@param chat integer
---@param marks table<string, flemma.render.Placed> The calls that are.
function M.follow(chat, marks)
  for buffer, decision in pairs(decisions) do
    local placed = marks[decision.id]
    if decision.chat == chat and not (placed and placed.item.state == "pending") then
      close(buffer)
    end
  end
end

return M
