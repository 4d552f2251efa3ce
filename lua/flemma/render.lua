--- Draws what is not text: previews and states of calls, the spinner of a
--- request. Where these stand and what they say comes from the host; this
--- module only keeps them moving, with one timer for all.
---@class flemma.render
local M = {}

local api = vim.api
local hint = require("flemma.hint")
local notices = require("flemma.notices")

local NAMESPACE = api.nvim_create_namespace("flemma.marks")
--- From "Extmark priorities" in the reference: above line highlights and thinking.
local PRIORITY = { indicator = 250, spinner = 300 }
local TICK_MS = 100
--- States of a request in which it has a spinner.
local MOVING = { waiting = true, thinking = true, stalled = true }
local CALL_FRAMES = { "◐", "◓", "◑", "◒" }
local REQUEST_FRAMES = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" }
local OUTCOMES = {
  pending = { "●", "FlemmaToolPending" },
  asking = { "?", "FlemmaToolPending" },
  done = { "✓", "FlemmaToolSuccess" },
  failed = { "✗", "FlemmaToolError" },
}

---@class flemma.render.Placed
---@field item flemma.protocol.Mark As the host last described it.
---@field since number When it was described, in milliseconds of `vim.uv.now()`.
---@field below integer? Extmark of preview and output.
---@field state integer? Extmark of the state.
---@field drawn number? When it first came on the screen, in milliseconds of `vim.uv.now()`.

---@class flemma.render.Request
---@field message flemma.protocol.Request
---@field since number
---@field mark integer?

---@type table<integer, table<string, flemma.render.Placed>>
local marks = {}
---@type table<integer, flemma.render.Request> While something moves.
local requests = {}
---@class flemma.render.Again
---@field again integer
---@field drawn number? When it came on the screen, in milliseconds of `vim.uv.now()`.

---@type table<integer, flemma.render.Again> Calls that had to be shown again.
local agains = {}
---@type uv.uv_timer_t?
local timer
local frame = 0

--- What must change so that `placed` becomes `items`.
---@param placed table<string, flemma.render.Placed>
---@param items flemma.protocol.Mark[]
---@return flemma.protocol.Mark[] set
---@return string[] remove
function M.diff(placed, items)
  local set, remove, kept = {}, {}, {}
  for _, item in ipairs(items) do
    kept[item.id] = true
    local old = placed[item.id]
    if not old or not vim.deep_equal(old.item, item) then
      set[#set + 1] = item
    end
  end
  for id in pairs(placed) do
    if not kept[id] then
      remove[#remove + 1] = id
    end
  end
  return set, remove
end

--- An elapsed time as people read it: `3s`, `2m05s`.
---@param ms number
---@return string
function M.elapsed(ms)
  local seconds = math.floor(ms / 1000)
  if seconds < 60 then
    return ("%ds"):format(seconds)
  end
  return ("%dm%02ds"):format(math.floor(seconds / 60), seconds % 60)
end

---@param buffer integer
---@param mark integer?
local function delete(buffer, mark)
  if mark then
    api.nvim_buf_del_extmark(buffer, NAMESPACE, mark)
  end
end

--- Sets an extmark on a line, as near as the text allows.
---@param buffer integer
---@param line integer
---@param options table
---@return integer mark
local function set(buffer, line, options)
  line = math.max(0, math.min(line, api.nvim_buf_line_count(buffer) - 1))
  return api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, options)
end

---@param buffer integer
---@param placed flemma.render.Placed
local function draw_below(buffer, placed)
  local item, lines = placed.item, {}
  -- Nearly all have one line, and a hundred may come at once.
  local several = item.preview and item.preview:find("\n", 1, true)
  for _, line in ipairs(several and vim.split(item.preview, "\n", { plain = true }) or { item.preview }) do
    lines[#lines + 1] = { { notices.escape(line), "FlemmaToolPreview" } }
  end
  if item.preview and item.state == "pending" then
    lines[#lines + 1] = hint.line()
  end
  for _, line in ipairs(item.output or {}) do
    lines[#lines + 1] = { { notices.escape(line), "FlemmaToolOutput" } }
  end
  if #lines > 0 then
    placed.below = set(buffer, item.line, { id = placed.below, virt_lines = lines, undo_restore = false })
  else
    delete(buffer, placed.below)
    placed.below = nil
  end
end

--- Neovim leaves a blank before what stands behind a line.
---@param placed flemma.render.Placed
---@return string[][] chunks Of virtual text.
local function state_text(placed)
  local item = placed.item
  local label = notices.escape(item.label or "")
  if item.state ~= "running" then
    local outcome = OUTCOMES[item.state] or { "", "FlemmaToolPending" }
    label = label == "" and item.state == "pending" and "waits for you" or label
    local text = label ~= "" and vim.trim(outcome[1] .. " " .. label) or outcome[1]
    local chunks = { { text, outcome[2] } }
    if item.detail then
      chunks[2] = { "  " .. notices.escape(item.detail), "FlemmaToolPreview" }
    end
    return chunks
  end
  local elapsed = (item.elapsed_ms or 0) + vim.uv.now() - placed.since
  local sign = CALL_FRAMES[frame % #CALL_FRAMES + 1]
  local words = label ~= "" and { sign, label, M.elapsed(elapsed) } or { sign, M.elapsed(elapsed) }
  return { { table.concat(words, " "), "FlemmaSpinner" } }
end

---@param buffer integer
---@param placed flemma.render.Placed
---@param line integer
local function draw_state(buffer, placed, line)
  placed.state = set(buffer, line, {
    id = placed.state,
    virt_text = state_text(placed),
    virt_text_pos = "eol",
    priority = PRIORITY.indicator,
    undo_restore = false,
  })
end

---@param request flemma.render.Request
---@param buffer integer
local function draw_request(buffer, request)
  local message = request.message
  local elapsed = (message.elapsed_ms or 0) + vim.uv.now() - request.since
  local sign = REQUEST_FRAMES[frame % #REQUEST_FRAMES + 1]
  local label = notices.escape(message.label or (message.state == "thinking" and "Thinking…" or "Waiting…"))
  local text = ("%s %s %s"):format(sign, label, M.elapsed(elapsed))
  if message.state == "stalled" then
    text = text .. hint.cancels()
  end
  request.mark = set(buffer, message.anchor_line or math.huge, {
    id = request.mark,
    virt_text = { { text, "FlemmaSpinner" } },
    priority = PRIORITY.spinner,
    undo_restore = false,
  })
end

--- Redraws what moves in one buffer.
---@param buffer integer
---@return boolean moving Whether anything does.
local function animate(buffer)
  local moving = false
  for _, placed in pairs(marks[buffer] or {}) do
    if placed.item.state == "running" and placed.state then
      -- The user may have moved the line since the host last looked.
      local at = api.nvim_buf_get_extmark_by_id(buffer, NAMESPACE, placed.state, {})
      draw_state(buffer, placed, at[1] or placed.item.header_line or placed.item.line)
      moving = true
    end
  end
  if requests[buffer] then
    draw_request(buffer, requests[buffer])
    moving = true
  end
  return moving
end

local function stop_timer()
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
end

local function tick()
  frame = frame + 1
  local moving = false
  -- Keys of both: a buffer may have a request and no call, or the other way round.
  for buffer in pairs(vim.tbl_extend("keep", {}, marks, requests)) do
    if api.nvim_buf_is_valid(buffer) then
      moving = animate(buffer) or moving
    else
      M.forget(buffer)
    end
  end
  if not moving then
    stop_timer()
  end
end

local function start_timer()
  if not timer then
    timer = vim.uv.new_timer()
    timer:start(TICK_MS, TICK_MS, vim.schedule_wrap(tick))
  end
end

---@param buffer integer
---@param item flemma.protocol.Mark
---@param old flemma.render.Placed?
---@return flemma.render.Placed
local function place(buffer, item, old)
  local placed = { item = item, since = vim.uv.now(), below = old and old.below, state = old and old.state }
  -- One whose file changed is another one to look at.
  placed.drawn = old and old.item.again == item.again and old.drawn or nil
  draw_below(buffer, placed)
  if item.state then
    draw_state(buffer, placed, item.header_line or item.line)
  else
    delete(buffer, placed.state)
    placed.state = nil
  end
  return placed
end

--- Replaces the marks of a buffer, touching only those that changed.
---@param message flemma.protocol.Marks
function M.marks(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  local placed = marks[buffer] or {}
  marks[buffer] = placed
  local changed, gone = M.diff(placed, message.items)
  for _, id in ipairs(gone) do
    delete(buffer, placed[id].below)
    delete(buffer, placed[id].state)
    placed[id] = nil
  end
  for _, item in ipairs(changed) do
    if item.again and (not agains[buffer] or item.again > agains[buffer].again) then
      agains[buffer] = { again = item.again }
    end
    placed[item.id] = place(buffer, item, placed[item.id])
    if item.state == "running" then
      start_timer()
    end
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

--- A window of this buffer is being drawn.
---@param buffer integer
---@param first integer The first line on the screen.
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

--- What is on the screen of calls that had to be shown again.
---@param buffer integer
---@return flemma.protocol.ShownAgain?
function M.shown_again(buffer)
  local again = agains[buffer]
  if again and again.drawn then
    return { again = again.again, for_ms = math.max(0, vim.uv.now() - again.drawn) }
  end
end

--- For how long the calls that wait have been on the screen.
---@param buffer integer
---@return table<string, integer> milliseconds By the id of the mark; those that were not drawn are absent.
function M.drawn_ms(buffer)
  local found = vim.empty_dict()
  for id, placed in pairs(marks[buffer] or {}) do
    if placed.drawn then
      found[id] = math.max(0, vim.uv.now() - placed.drawn)
    end
  end
  return found
end

--- The calls that wait, each with the lines of its call and its placeholder.
---@param buffer integer
---@return table<string, integer[]> lines By the id of the mark.
function M.waiting(buffer)
  local found = {}
  for id, placed in pairs(marks[buffer] or {}) do
    local item = placed.item
    if item.call_line then
      -- The user may have moved the lines since the host last looked.
      local mark, told = placed.state, item.header_line or item.line
      if not mark then
        mark, told = placed.below, item.line
      end
      local at = mark and api.nvim_buf_get_extmark_by_id(buffer, NAMESPACE, mark, {})[1] or told
      local moved = at - told
      found[id] = { item.call_line + moved, (item.header_line or item.line) + moved, item.line + moved }
    end
  end
  return found
end

--- The calls that run, as far as the host said.
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

--- Takes everything off a buffer.
---@param buffer integer
function M.forget(buffer)
  marks[buffer], requests[buffer], agains[buffer] = nil, nil, nil
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
end

return M
