--- Draws previews, arguments, and states of calls and the spinner of a request as virtual text. The
--- host sends the texts; one timer here turns all spinners.
---@class flemma.render
local M = {}

local api = vim.api
local diff = require("flemma.diff")
local fields = require("flemma.render.fields")
local follow = require("flemma.follow")
local hint = require("flemma.hint")
local notices = require("flemma.notices")
local place_of = require("flemma.marks").place
local pure = require("flemma.render.pure")
local state = require("flemma.render.state")
local viewport = require("flemma.viewport")

local NAMESPACE = api.nvim_create_namespace("flemma.marks")
--- Above the spans of |flemma.spans|.
local PRIORITY = { indicator = 250, spinner = 300 }
local TICK_MS = 100
--- States of a request in which it has a spinner.
local MOVING = { waiting = true, thinking = true, stalled = true }
local REQUEST_FRAMES = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" }

---@class flemma.render.Placed
---@field item flemma.protocol.Mark As the host last described it.
---@field since number When it was described, in `vim.uv.now()`.
---@field below integer? Extmark of preview and output.
---@field state integer? Extmark of the state.
---@field drawn number? When it first came on the screen, in `vim.uv.now()`.

---@class flemma.render.Request
---@field message flemma.protocol.Request
---@field since number
---@field mark integer?

---@type table<integer, table<string, flemma.render.Placed>>
local marks = {}
---@type table<integer, flemma.render.Request> While a spinner turns.
local requests = {}
---@type table<integer, { again: integer, drawn: number? }> The last call that had to be shown again.
local agains = {}
---@type uv.uv_timer_t?
local timer
local frame = 0

local function delete(buffer, mark)
  if mark then
    api.nvim_buf_del_extmark(buffer, NAMESPACE, mark)
  end
end

--- Sets an extmark on a line, as near as the text allows.
---@return integer mark
local function set(buffer, line, options)
  line = math.max(0, math.min(line, api.nvim_buf_line_count(buffer) - 1))
  return api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, options)
end

--- The mark about what a run changed, which belongs to no call.
local CHANGES = "flemma:changes"

--- Draws what is below the fence of a call, or above that of one with a result.
---@param width integer Columns of text in the window.
local function draw_below(buffer, placed, width)
  local item, lines = placed.item, {}
  local function add(line, group)
    lines[#lines + 1] = { { notices.escape(line), group } }
  end
  -- Colors arrive later and are drawn if the diff is still shown. All files are drawn together.
  local is_due = false
  local function colored()
    if is_due then
      return
    end
    is_due = true
    vim.schedule(function()
      is_due = false
      local is_shown = (marks[buffer] or {})[item.id] == placed and placed.below
      if is_shown and api.nvim_buf_is_loaded(buffer) then
        draw_below(buffer, placed, viewport.width(buffer))
      end
    end)
  end
  local preview = item.preview
  if item.id == CHANGES then
    local key = hint.review()
    preview = key and ("%s · %s"):format(preview, key) or preview
  end
  for line in vim.gsplit(preview or "", "\n", { plain = true, trimempty = not preview }) do
    add(line, "FlemmaToolPreview")
  end
  vim.list_extend(lines, fields.virtual_lines(item.fields))
  for _, file in ipairs(item.diff or {}) do
    local shown = diff.virtual_lines(file, colored)
    local is_answered = item.json and not item.preview
    vim.list_extend(lines, is_answered and fields.indented(shown) or shown)
  end
  if item.asks then
    add("asks: " .. item.asks, "FlemmaToolPending")
  end
  if item.preview and item.state == "pending" then
    add(hint.text(width, item.tries), "FlemmaHint")
  end
  for _, line in ipairs(item.output or {}) do
    add(line, "FlemmaToolOutput")
  end
  if #lines > 0 then
    -- A highlighter may conceal the line of a fence, and with it what is below. The line above it is
    -- blank, or else the header.
    local has_fence = item.preview and item.id ~= CHANGES
    local line = has_fence and item.line - 1 or item.line
    placed.below = set(buffer, line, { id = placed.below, virt_lines = lines, undo_restore = false })
  else
    delete(buffer, placed.below)
    placed.below = nil
  end
end

---@param width integer Columns of text in the window.
local function draw_state(buffer, placed, line, width)
  local header = api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ""
  -- Neovim puts a blank before the text.
  local room = width - api.nvim_strwidth(header) - 1
  placed.state = set(buffer, line, {
    id = placed.state,
    virt_text = state.text(placed, frame, room),
    virt_text_pos = "eol",
    priority = PRIORITY.indicator,
    undo_restore = false,
  })
end

local function draw_request(buffer, request)
  local message = request.message
  local elapsed = (message.elapsed_ms or 0) + vim.uv.now() - request.since
  local sign = REQUEST_FRAMES[frame % #REQUEST_FRAMES + 1]
  local label = notices.escape(message.label or (message.state == "thinking" and "Thinking…" or "Waiting…"))
  local text = ("%s %s %s"):format(sign, label, pure.elapsed(elapsed))
  if message.state == "stalled" then
    text = text .. hint.cancels()
  end
  request.mark = set(buffer, math.huge, {
    id = request.mark,
    virt_text = { { text, "FlemmaSpinner" } },
    priority = PRIORITY.spinner,
    undo_restore = false,
  })
end

--- Redraws the spinners of one buffer.
---@return boolean moving Whether there are any.
local function animate(buffer)
  local moving, width = false, nil
  for _, placed in pairs(marks[buffer] or {}) do
    if placed.item.state == "running" and placed.state then
      width = width or viewport.width(buffer)
      -- The user may have moved the line since the host last looked.
      local line = place_of(buffer, NAMESPACE, placed.state) or placed.item.header_line
      draw_state(buffer, placed, line, width)
      moving = true
    end
  end
  if requests[buffer] then
    draw_request(buffer, requests[buffer])
    moving = true
  end
  return moving
end

local function tick()
  frame = frame + 1
  local moving = false
  -- Keys of both, because a buffer may have only a request or only calls.
  for buffer in pairs(vim.tbl_extend("keep", {}, marks, requests)) do
    if api.nvim_buf_is_valid(buffer) then
      moving = animate(buffer) or moving
    else
      M.forget(buffer)
    end
  end
  if not moving and timer then
    timer:close()
    timer = nil
  end
end

local function start_timer()
  if not timer then
    timer = vim.uv.new_timer()
    timer:start(TICK_MS, TICK_MS, vim.schedule_wrap(tick))
  end
end

---@param width integer Columns of text in the window.
local function place(buffer, item, old, width)
  local placed = { item = item, since = vim.uv.now(), below = old and old.below, state = old and old.state }
  -- A call whose file changed must be looked at again.
  placed.drawn = old and old.item.again == item.again and old.drawn or nil
  draw_below(buffer, placed, width)
  fields.set(buffer, item)
  if item.state == "pending" and placed.below then
    follow.reveal(buffer, item.header_line, item.line)
  end
  if item.state then
    draw_state(buffer, placed, item.header_line, width)
  else
    delete(buffer, placed.state)
    placed.state = nil
  end
  return placed
end

--- Replaces the marks of a buffer. Draws only those that changed.
---@param message flemma.protocol.Marks
function M.marks(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  local placed = marks[buffer] or {}
  marks[buffer] = placed
  local changed, gone = pure.diff(placed, message.items)
  for _, id in ipairs(gone) do
    delete(buffer, placed[id].below)
    delete(buffer, placed[id].state)
    fields.remove(buffer, id)
    placed[id] = nil
  end
  local width = viewport.width(buffer)
  for _, item in ipairs(changed) do
    if item.again and (not agains[buffer] or item.again > agains[buffer].again) then
      agains[buffer] = { again = item.again }
    end
    placed[item.id] = place(buffer, item, placed[item.id], width)
    if item.state == "running" then
      start_timer()
    end
  end
  if buffer == api.nvim_get_current_buf() then
    fields.follow(buffer)
  end
  local decision = package.loaded["flemma.decision"]
  if decision then
    decision.follow(buffer, placed)
  end
end

--- Shows or hides the spinner of a request.
---@param message flemma.protocol.Request
function M.request(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  local old = requests[buffer]
  if not MOVING[message.state] then
    delete(buffer, old and old.mark)
    requests[buffer] = nil
    return
  end
  local restarted = not old or old.message.state ~= message.state or message.elapsed_ms ~= nil
  local since = restarted and vim.uv.now() or old.since
  requests[buffer] = { message = message, since = since, mark = old and old.mark }
  draw_request(buffer, requests[buffer])
  start_timer()
end

--- Returns true if a line is in the blocks of a call that waits for the user.
---@param buffer integer
---@param line integer
---@return boolean
function M.waits_at(buffer, line)
  return vim.iter(M.pending(buffer)):any(function(item)
    local is_call = item.call and line >= item.call[1] and line < item.call[2]
    return is_call or line >= item.header_line and line <= item.line + 1
  end)
end

--- Returns true if a line is in an empty prompt below what the last run changed.
---@param buffer integer
---@param line integer
---@return boolean
function M.has_changes(buffer, line)
  local placed = (marks[buffer] or {})[CHANGES]
  local at = placed and placed.below and place_of(buffer, NAMESPACE, placed.below)
  if not at or line < at then
    return false
  end
  -- Below the marker of the prompt.
  return not vim.iter(api.nvim_buf_get_lines(buffer, at + 2, -1, false)):any(function(text)
    return text:find("%S") ~= nil
  end)
end

--- Notes which calls are on screen when a window of this buffer is drawn.
---@param buffer integer
---@param first integer The first visible line.
---@param last integer The last one.
function M.drawn(buffer, first, last)
  for _, placed in pairs(marks[buffer] or {}) do
    local item = placed.item
    if not placed.drawn and item.state == "pending" and item.line >= first and item.line <= last then
      placed.drawn = vim.uv.now()
    end
  end
  local again = agains[buffer]
  if again and not again.drawn then
    again.drawn = vim.uv.now()
  end
end

--- Returns true if a line of a pending call is folded away in the current window.
local function is_folded(buffer, placed)
  local item = placed.item
  local mark = placed.state or placed.below
  local line = placed.state and item.header_line or item.line - 1
  -- The user may have moved the lines since the host last looked.
  local now = mark and place_of(buffer, NAMESPACE, mark) or line
  -- All of the call is below its placeholder if its JSON may be hidden.
  local lines = { item.header_line, item.line, not item.json and item.call and item.call[1] or nil }
  return vim.iter(lines):any(function(of)
    return vim.fn.foldclosed(of + now - line + 1) ~= -1
  end)
end

--- Returns what is on screen of pending calls.
---@param buffer integer The current one.
---@return flemma.protocol.ShownAgain? shown The last call that had to be shown again, once it is drawn.
---@return string[] hidden Ids of calls that are folded away in the current window.
---@return table<string, integer> drawn_ms For how long each call has been drawn, by id.
function M.seen(buffer)
  local now, hidden, drawn_ms = vim.uv.now(), {}, vim.empty_dict()
  local window = api.nvim_get_current_win()
  local line, arrived = api.nvim_win_get_cursor(window)[1] - 1, follow.arrived(window, buffer)
  for id, placed in pairs(marks[buffer] or {}) do
    if placed.drawn then
      -- A key may be meant for where the cursor was until a moment ago.
      local is_here = line >= placed.item.header_line and line <= placed.item.line + 1
      local since = is_here and math.max(placed.drawn, arrived or 0) or placed.drawn
      drawn_ms[id] = math.max(0, now - since)
    end
    if placed.item.call and is_folded(buffer, placed) then
      hidden[#hidden + 1] = id
    end
  end
  local again = agains[buffer]
  local shown = again and again.drawn and { again = again.again, for_ms = math.max(0, now - again.drawn) } or nil
  return shown, hidden, drawn_ms
end

--- Returns the calls that the host last described as running.
---@param buffer integer
---@return string[] ids
function M.running(buffer)
  local ids = {}
  for id, placed in pairs(marks[buffer] or {}) do
    if placed.item.state == "running" or placed.item.state == "asking" then
      ids[#ids + 1] = id
    end
  end
  table.sort(ids)
  return ids
end

--- Returns the calls that wait for the user, from top to bottom.
---@param buffer integer
---@return flemma.protocol.Mark[]
function M.pending(buffer)
  local items = {}
  for _, placed in pairs(marks[buffer] or {}) do
    if placed.item.state == "pending" or placed.item.state == "asking" then
      items[#items + 1] = placed.item
    end
  end
  table.sort(items, function(one, other)
    return one.line < other.line
  end)
  return items
end

--- Draws the states and hints again that the width of the window may cut.
---@param buffer integer
function M.resized(buffer)
  local width = viewport.width(buffer)
  for _, placed in pairs(marks[buffer] or {}) do
    local hinted = placed.below and placed.item.state == "pending"
    local below = hinted and place_of(buffer, NAMESPACE, placed.below)
    -- Where the user has moved it, the host describes it again.
    if below == placed.item.line - 1 then
      draw_below(buffer, placed, width)
    end
    local at = placed.state and place_of(buffer, NAMESPACE, placed.state)
    if at then
      draw_state(buffer, placed, at, width)
    end
  end
end

--- Removes everything from a buffer.
---@param buffer integer
function M.forget(buffer)
  marks[buffer], requests[buffer], agains[buffer] = nil, nil, nil
  local decision = package.loaded["flemma.decision"]
  if decision then
    decision.follow(buffer, {})
  end
  fields.forget(buffer)
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
end

return M
