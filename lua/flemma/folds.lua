--- Folds of a chat, made as the host says in all windows that show it. Windows whose
--- 'foldmethod' is not "manual" are left alone.
---@class flemma.folds
local M = {}

local api = vim.api
local follow = require("flemma.follow")
local mirror = require("flemma.mirror")
local shift = require("flemma.folds.shift")
local window = require("flemma.folds.window")
local wrap = require("flemma.wrap")

--- Most changes that are kept to move folds of an older text.
local LOG = 64
--- Memory to collect per message while a chat is opened, in KB, because opening leaves a copy
--- of the text behind. Takes a millisecond.
local TIDY_KB = 400

---@class flemma.folds.Chat
---@field parts flemma.folds.Part[]
---@field seq integer The text that they belong to.
---@field log flemma.folds.Change[] The last changes.

---@type table<integer, flemma.folds.Chat> By buffer.
local chats = {}
---@type table<integer, integer|false> The buffer that each window's folds belong to; false for an older text.
local views = {}
local scheduled = false

--- Returns a chat, without folds if its text was read again.
local function current(buffer)
  local chat, seq = chats[buffer], mirror.seq(buffer)
  if chat and chat.seq ~= seq then
    chat.parts, chat.seq, chat.log = {}, seq, {}
  end
  return chat
end

--- Returns the windows whose folds follow a chat, before a change of the text or of its
--- folds. A window that shows another buffer misses that change.
local function windows(buffer)
  local found = {}
  for id, shown in pairs(views) do
    if shown == buffer then
      if not api.nvim_win_is_valid(id) then
        views[id] = nil
      elseif api.nvim_win_get_buf(id) ~= buffer then
        views[id] = false
      elseif window.is_manual(id) then
        found[#found + 1] = id
      end
    end
  end
  return found
end

--- Makes the folds of a window that is new to a chat.
local function take(id, buffer)
  -- Neovim copies the folds of another window that shows the chat.
  local copied = views[id] == nil and #windows(buffer) > 0
  views[id] = buffer
  window.set(id)
  if not copied then
    window.clear(id)
    local parts, updates = chats[buffer].parts, {}
    for index, part in ipairs(parts) do
      updates[index] = { part = part, old = {}, broken = false }
    end
    window.update(id, updates, true)
  end
end

local function is_new(id, buffer)
  return current(buffer) ~= nil and views[id] ~= buffer and window.is_manual(id)
end

--- Makes the folds of all windows that are new to a chat.
local function look()
  scheduled = false
  -- No window can be entered from the command-line window; the next redraw tries again.
  if vim.fn.getcmdwintype() ~= "" then
    return
  end
  for _, id in ipairs(api.nvim_list_wins()) do
    local buffer = api.nvim_win_get_buf(id)
    if is_new(id, buffer) then
      take(id, buffer)
    end
  end
end

--- Notices new windows when they are drawn.
---@param id integer
---@param buffer integer
function M.seen(id, buffer)
  if not scheduled and is_new(id, buffer) then
    scheduled = true
    vim.schedule(look)
  end
end

--- Deletes all folds of a chat.
local function switch_off(buffer)
  for _, id in ipairs(windows(buffer)) do
    window.clear(id)
    window.unset(id)
    views[id] = nil
  end
  chats[buffer] = nil
end

--- Updates the folds.
---@param message flemma.protocol.Folds
function M.folds(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  if not message.enabled then
    switch_off(buffer)
    return
  end
  chats[buffer] = chats[buffer] or { parts = {}, seq = mirror.seq(buffer), log = {} }
  look()
  local chat = current(buffer) --[[@as flemma.folds.Chat]]
  local unseen = chat.seq - message.seq
  if unseen > #chat.log then
    -- The changes since then are no longer known. The host answers the whole text with all
    -- folds.
    mirror.snapshot(buffer)
    return
  end
  local parts = shift.read(message.parts, vim.list_slice(chat.log, #chat.log - unseen + 1))
  local updates = shift.replace(chat.parts, parts)
  for _, update in ipairs(updates) do
    update.broken = update.broken or message.opening
  end
  for _, id in ipairs(windows(buffer)) do
    window.update(id, updates, message.opening)
  end
  local remarks = package.loaded["flemma.remarks"]
  if remarks then
    remarks.redraw(buffer)
  end
  follow.fill(buffer)
  if message.opening then
    collectgarbage("step", TIDY_KB)
  end
end

--- Opens every fold around these lines, in every window.
---@param message flemma.protocol.Unfold
function M.unfold(message)
  for _, id in ipairs(vim.fn.win_findbuf(message.buffer)) do
    window.open(id, message.lines)
  end
end

--- Closes all folds above a line, in every window that has our folds.
---@param message flemma.protocol.FoldAbove
function M.fold_above(message)
  for _, id in ipairs(windows(message.buffer)) do
    window.close_above(id, message.line)
  end
end

--- Returns the text of the fold that is drawn, for 'foldtext'.
---@return string|string[][]
function M.text()
  local chat = current(api.nvim_get_current_buf())
  local fold = chat and shift.at(chat.parts, vim.v.foldstart - 1)
  if not fold then
    return vim.fn.foldtext()
  end
  local label = (fold.inner and "  " or "") .. fold.label
  local info = vim.fn.getwininfo(api.nvim_get_current_win())[1]
  local room = info.width - info.textoff - api.nvim_strwidth(label) - 1
  return { { label, fold.group }, { wrap.cut(" " .. fold.text, room), "Folded" } }
end

---@param buffer integer
function M.forget(buffer)
  chats[buffer] = nil
  windows(buffer)
end

mirror.on_change(function(buffer, first, last, new_last)
  local chat, seq = chats[buffer], mirror.seq(buffer)
  if not chat then
    return
  end
  if chat.seq ~= seq - 1 then
    chat.parts, chat.log = {}, {}
  end
  local before, change = chat.log[#chat.log], { first = first, last = last, new_last = new_last }
  chat.seq = seq
  table.insert(chat.log, change)
  if #chat.log > LOG then
    table.remove(chat.log, 1)
  end
  shift.all(chat.parts, change)
  -- `:move` inserts lines, then deletes them. Neovim moves their folds along and cuts others.
  local inserted = before and before.first == before.last and before.new_last - before.last
  if inserted and inserted == last - first and first == new_last then
    shift.spoil(chat.parts, math.min(before.first, first), math.max(before.new_last, last))
  end
  windows(buffer)
end)

return M
