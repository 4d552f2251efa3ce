--- Makes manual folds in the windows that show a chat, and says what stands in their
--- place. What can be folded comes from the host; Neovim moves folds with the text, and
--- so does this module with what it knows of them. A window whose 'foldmethod' is not
--- "manual" is left alone.
---@class flemma.folds
local M = {}

local api = vim.api
local mirror = require("flemma.mirror")
local shift = require("flemma.folds.shift")
local text = require("flemma.folds.text")
local window = require("flemma.folds.window")

--- Most folds that are looked at or made at once in a window that is new to a chat, which
--- takes Neovim less than a millisecond, and the time between two such pieces.
local PIECE, PAUSE_MS = 100, 10
--- How much of Lua's memory is looked through at each message that tells of folds of a
--- chat that is being opened, in a millisecond: what a long chat leaves behind, such
--- as its whole text on its way to the host, would stay for the rest of the session.
local TIDY_KB = 400

---@class flemma.folds.Known
---@field folds flemma.folds.List By their first lines, a message before what is in it.
---@field seq integer Of the text they are in.

---@class flemma.folds.View
---@field buffer integer
---@field left boolean Whether it folds in a way of its own.
---@field next integer? The line from which on its folds are still to be made.
---@field was table<integer, boolean>? Which of them were closed before all were made anew.

---@type table<integer, flemma.folds.Known>
local known = {}
---@type table<integer, flemma.folds.Change[]> The last changes of each chat.
local logs = {}
---@type table<integer, flemma.folds.View> By window.
local views = {}
---@type table<integer, { buffer: integer, seq: integer }> What a window showed when it was left.
local stamps = {}
local scheduled = false

--- What is known of a chat's folds. When its text was read anew, which is no change that
--- somebody tells of, they are none until the host says them.
---@param buffer integer
---@return flemma.folds.Known?
local function current(buffer)
  local here, seq = known[buffer], mirror.seq(buffer)
  if here and here.seq ~= seq then
    here.folds, here.seq, logs[buffer] = shift.list(), seq, nil
  end
  return here
end

---@param buffer integer
---@return integer[] windows That show a chat and have its folds.
local function folding(buffer)
  local found = {}
  for id, view in pairs(views) do
    if view.buffer == buffer and not view.left and window.folds(id, buffer) then
      found[#found + 1] = id
    end
  end
  return found
end

--- Makes what is missing of a window's folds, piece by piece.
---@param id integer
local function fill(id)
  local view = views[id]
  local here = view and current(view.buffer)
  if not view or not here or not view.next or not window.folds(id, view.buffer) then
    return
  end
  -- A command-line window lets nobody into another one.
  if vim.fn.getcmdwintype() == "" then
    view.next = window.fill(id, here.folds, view.next, PIECE)
  end
  if view.next then
    vim.defer_fn(function()
      fill(id)
    end, PAUSE_MS)
  end
end

--- Whether the folds that Neovim gave a window are those of the text as it stands: as it
--- had them when it was left, or those of the window it was split from.
---@param id integer
---@param buffer integer
---@return boolean
local function has_folds(id, buffer)
  local stamp = stamps[id]
  return stamp ~= nil and stamp.buffer == buffer and stamp.seq == mirror.seq(buffer) or #folding(buffer) > 0
end

---@param id integer
---@param buffer integer
local function take(id, buffer)
  local here = current(buffer)
  if not here then
    return
  end
  local kept = has_folds(id, buffer)
  local left = not window.set(id)
  views[id] = { buffer = buffer, left = left }
  if not left then
    if not kept then
      window.clear(id)
    end
    -- What is on the screen comes first.
    window.fill(id, here.folds, window.first(id, here.folds), PIECE)
    views[id].next = 0
    fill(id)
  end
end

--- Looks which windows show which chats now.
local function look()
  scheduled = false
  -- A command-line window lets nobody into another one; the next drawing asks again.
  if vim.fn.getcmdwintype() ~= "" then
    return
  end
  for id in pairs(views) do
    if not api.nvim_win_is_valid(id) then
      views[id], stamps[id] = nil, nil
    end
  end
  for _, id in ipairs(api.nvim_list_wins()) do
    local buffer, view = api.nvim_win_get_buf(id), views[id]
    if not known[buffer] then
      views[id] = nil
    elseif not view or view.buffer ~= buffer then
      take(id, buffer)
    end
  end
end

--- A window is being drawn. Costs nothing when it shows what it showed.
---@param id integer
---@param buffer integer
function M.seen(id, buffer)
  local view = views[id]
  if (view and view.buffer or nil) ~= (known[buffer] and buffer or nil) and not scheduled then
    scheduled = true
    vim.schedule(look)
  end
end

--- The current window shows something else from now on.
---@param buffer integer What it showed.
function M.leave(buffer)
  if known[buffer] then
    stamps[api.nvim_get_current_win()] = { buffer = buffer, seq = mirror.seq(buffer) }
  end
end

--- All folds of a chat are made anew, or there are none any more.
---@param message flemma.protocol.Folds
local function begin(message)
  local buffer = message.buffer
  local here = current(buffer)
  local old = here and here.folds or shift.list()
  for _, id in ipairs(folding(buffer)) do
    views[id].was, views[id].next = window.states(id, old), nil
    window.clear(id)
    if not message.enabled then
      window.unset(id)
    end
  end
  known[buffer] = message.enabled and { folds = shift.list(), seq = mirror.seq(buffer) } or nil
  look()
end

--- Takes over what can be folded now.
---@param message flemma.protocol.Folds
function M.folds(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  if message.reset then
    begin(message)
  end
  local here = current(buffer)
  if not here then
    return
  end
  local parts = shift.parts(message.parts, logs[buffer] or {}, message.seq, mirror.seq(buffer))
  if not parts then
    -- Nobody knows any more which lines were meant: the host gets the whole text, and
    -- says it anew.
    mirror.snapshot(buffer)
    return
  end
  local updates = vim.tbl_map(function(part)
    return { part = part, old = shift.replace(here.folds, part) }
  end, parts)
  for _, id in ipairs(folding(buffer)) do
    window.update(id, updates, message.opening, views[id].was)
    views[id].was = message.opening and views[id].was or nil
  end
  if message.opening then
    collectgarbage("step", TIDY_KB)
  end
end

--- Opens every fold round these lines, in every window.
---@param message flemma.protocol.Unfold
function M.unfold(message)
  for _, id in ipairs(vim.fn.win_findbuf(message.buffer)) do
    window.open(id, message.lines)
  end
end

--- What stands in the place of the fold that is drawn, for 'foldtext'.
---@return string|string[][]
function M.text()
  local here = current(api.nvim_get_current_buf())
  local first, last = vim.v.foldstart - 1, vim.v.foldend
  local fold = here and shift.at(here.folds, first)
  if not fold then
    return vim.fn.foldtext()
  end
  local count = (" (%d lines)"):format(last - first)
  local indent = fold.inner and "  " or ""
  local room = text.width(0) - api.nvim_strwidth(indent .. fold.label .. count) - 1
  return { { indent .. fold.label, fold.group }, { text.cut(" " .. fold.text, room) .. count, "Folded" } }
end

---@param buffer integer
function M.forget(buffer)
  known[buffer], logs[buffer] = nil, nil
end

mirror.on_change(function(buffer, first, last, new_last)
  local change = { seq = mirror.seq(buffer), first = first, last = last, new_last = new_last }
  logs[buffer] = logs[buffer] or {}
  shift.log(logs[buffer], change)
  local here = known[buffer]
  if here and here.seq == change.seq - 1 then
    here.seq = change.seq
    shift.all(here.folds, change)
  end
  for _, view in pairs(views) do
    if view.buffer == buffer and last ~= new_last then
      view.next, view.was = view.next and 0, nil
    end
  end
end)

return M
