--- Tells the host which lines of a chat are on screen, at most once per turn of the event
--- loop.
---@class flemma.viewport
local M = {}

local api = vim.api
local host = require("flemma.host")
local state = require("flemma.state")

--- Columns of text when no window shows the buffer.
local DEFAULT_WIDTH = 80

---@alias flemma.viewport.View { first: integer, last: integer, width: integer }

---@type table<integer, flemma.viewport.View|false> What the host knows; false is nothing yet.
local sent = state.by_buffer()
---@type table<integer, integer> Columns of text, by window, when it was last drawn.
local drawn = {}
---@type table<integer, boolean>
local scheduled = state.by_buffer()

--- Returns the visible lines and the width of the narrowest window.
---@return flemma.viewport.View? view Nil if no window of the tab page shows the buffer.
local function current(buffer)
  local view ---@type flemma.viewport.View?
  for _, window in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(window) == buffer then
      local info = vim.fn.getwininfo(window)[1]
      view = view or { first = math.huge, last = 0, width = math.huge }
      view.first = math.min(view.first, info.topline - 1)
      view.last = math.max(view.last, info.botline)
      view.width = math.min(view.width, info.width - info.textoff)
    end
  end
  return view
end

---@param buffer integer
---@return integer columns Of text, in the narrowest window on screen that shows the buffer.
function M.width(buffer)
  return (current(buffer) or { width = DEFAULT_WIDTH }).width
end

local function report(buffer)
  scheduled[buffer] = nil
  if sent[buffer] == nil or not api.nvim_buf_is_loaded(buffer) then
    return
  end
  local view = current(buffer)
  if view and not vim.deep_equal(view, sent[buffer]) then
    sent[buffer] = view
    host.send("viewport", { buffer = buffer, first = view.first, last = view.last, width = view.width })
  end
end

--- Schedules a report.
---@param buffer integer
function M.changed(buffer)
  if sent[buffer] ~= nil and not scheduled[buffer] then
    scheduled[buffer] = true
    vim.schedule(function()
      report(buffer)
    end)
  end
end

--- Returns true if a window has another width for text than when it was last drawn. The first sign
--- of a buffer takes columns, and no event says so.
---@param window integer
---@return boolean
function M.is_resized(window)
  local info = vim.fn.getwininfo(window)[1]
  local before, width = drawn[window], info.width - info.textoff
  drawn[window] = width
  return before ~= nil and before ~= width
end

--- Schedules a report when a window draws lines that the host does not know to be visible.
---@param buffer integer
---@param first integer
---@param last integer
function M.seen(buffer, first, last)
  local view = sent[buffer]
  if not view or first < view.first or last > view.last then
    M.changed(buffer)
  end
end

---@param buffer integer
---@return boolean
function M.watches(buffer)
  return sent[buffer] ~= nil
end

--- Reports a buffer from now on, also what an earlier host knew.
---@param buffer integer
function M.watch(buffer)
  sent[buffer] = false
  M.changed(buffer)
end

return M
