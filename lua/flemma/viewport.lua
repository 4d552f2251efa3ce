--- Tells the host which lines of a chat are on screen, once per turn of the event
--- loop at most. What the host does with them is not known here.
---@class flemma.viewport
local M = {}

local api = vim.api
local host = require("flemma.host")

--- Columns of text when no window shows the buffer, from "Width" in the reference.
local DEFAULT_WIDTH = 80

---@class flemma.viewport.View
---@field first integer
---@field last integer
---@field width integer

---@type table<integer, flemma.viewport.View|false> What the host knows; false is nothing yet.
local sent = {}
local scheduled = {}

---@param buffer integer
---@return integer[] windows Of the current tab page.
local function windows(buffer)
  return vim.tbl_filter(function(window)
    return api.nvim_win_get_buf(window) == buffer
  end, api.nvim_tabpage_list_wins(0))
end

---@param buffer integer
---@return integer columns Of text, in the narrowest window on screen that shows the buffer.
function M.width(buffer)
  local width
  for _, window in ipairs(windows(buffer)) do
    local info = vim.fn.getwininfo(window)[1]
    width = math.min(width or math.huge, info.width - info.textoff)
  end
  return width or DEFAULT_WIDTH
end

---@param buffer integer
---@return flemma.viewport.View? view Nil while no window shows the buffer.
local function current(buffer)
  local view
  for _, window in ipairs(windows(buffer)) do
    local info = vim.fn.getwininfo(window)[1]
    view = view or { first = math.huge, last = 0, width = M.width(buffer) }
    view.first = math.min(view.first, info.topline - 1)
    view.last = math.max(view.last, info.botline)
  end
  return view
end

---@param buffer integer
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

--- Looks again, soon.
---@param buffer integer
function M.changed(buffer)
  if sent[buffer] ~= nil and not scheduled[buffer] then
    scheduled[buffer] = true
    vim.schedule(function()
      report(buffer)
    end)
  end
end

--- A window is being drawn. Costs nothing when the host knows its lines.
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

--- Reports a buffer from now on, starting with all of it: the host is new to it.
---@param buffer integer
function M.watch(buffer)
  sent[buffer] = false
  M.changed(buffer)
end

---@param buffer integer
function M.forget(buffer)
  sent[buffer] = nil
end

return M
