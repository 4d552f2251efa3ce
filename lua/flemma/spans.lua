--- Highlights the visible lines with the spans that the host sends. They are drawn while
--- Neovim redraws and never stored in the buffer, so the cost does not grow with the chat.
---@class flemma.spans
local M = {}

local api = vim.api
local markup = require("flemma.markup")
local mirror = require("flemma.mirror")
local neovim = require("flemma.neovim")
local viewport = require("flemma.viewport")

---@module "flemma.render"
local render = require("flemma.modules").lazy("flemma.render")

local NAMESPACE = api.nvim_create_namespace("flemma.spans")
--- Below the marks of |flemma.render|.
local PRIORITY = 50
--- Backgrounds, and what is below the colors of code, see |flemma.markup|.
local BELOW, IS_BELOW = 30, { FlemmaFrontmatter = true, FlemmaRole = true }

---@class flemma.spans.Table
---@field first integer The line of `lines[1]`.
---@field lines (table[]|false)[] The spans of each line; false where none are known.

---@type table<integer, flemma.spans.Table>
local known = require("flemma.state").by_buffer()

--- Moves spans along with a change of the text until the host sends new ones. Changed lines
--- keep their spans, inserted lines have none.
---@param spans flemma.spans.Table Changed in place.
---@param first integer
---@param last integer
---@param new_last integer
function M.shift(spans, first, last, new_last)
  local grown, lines = new_last - last, spans.lines
  local behind = spans.first + #lines
  if last <= spans.first then
    spans.first = spans.first + grown
  elseif first < behind and grown > 0 then
    for _ = 1, last <= behind and grown or 0 do
      table.insert(lines, last - spans.first + 1, false)
    end
  elseif first < behind then
    local top = math.max(new_last, spans.first)
    for _ = top + 1, math.min(last, behind) do
      table.remove(lines, top - spans.first + 1)
    end
    spans.first = math.min(spans.first, new_last)
  end
end

local function draw_line(buffer, row, line)
  for _, span in ipairs(line) do
    local whole = span[2] == -1
    api.nvim_buf_set_extmark(buffer, NAMESPACE, row, span[1], {
      end_row = whole and row + 1 or row,
      end_col = whole and 0 or span[2],
      hl_group = span[3],
      hl_eol = whole,
      ephemeral = true,
      strict = false,
      priority = IS_BELOW[span[3]] and BELOW or PRIORITY,
    })
  end
end

---@type table<integer, integer> The buffers of the windows that are being drawn.
local drawing = {}

--- Starts drawing, when the first chat is opened.
function M.start()
  api.nvim_set_decoration_provider(NAMESPACE, {
    on_win = function(_, window, buffer, top, bottom)
      local folds = package.loaded["flemma.folds"]
      if folds then
        folds.seen(window, buffer)
      end
      markup.drawn(buffer)
      if not viewport.watches(buffer) then
        -- No host yet, or none at all.
        return false
      end
      drawing[window] = buffer
      viewport.seen(buffer, top, bottom + 1)
      render.drawn(buffer, top, bottom)
      return known[buffer] ~= nil or markup.is_on(buffer)
    end,
    on_end = function()
      for window, buffer in pairs(drawing) do
        if viewport.is_resized(window) then
          vim.schedule(function()
            require("flemma.buffer").resized(buffer)
          end)
        end
        drawing[window] = nil
      end
    end,
    on_line = function(_, _, buffer, row)
      if markup.is_on(buffer) then
        markup.draw(NAMESPACE, buffer, row)
      end
      local spans = known[buffer]
      local line = spans and spans.lines[row - spans.first + 1]
      if line then
        draw_line(buffer, row, line)
      end
    end,
  })
  mirror.on_change(function(buffer, first, last, new_last)
    if known[buffer] then
      M.shift(known[buffer], first, last, new_last)
    end
    markup.changed(buffer, first, last, new_last)
  end)
end

--- Returns the range of lines whose spans differ, to redraw no others.
---@return integer? first
---@return integer? last
local function difference(old, new)
  local first, last
  for index, line in ipairs(new.lines) do
    local row = new.first + index - 1
    local before = old and old.lines[row - old.first + 1]
    if not vim.deep_equal(before or {}, line or {}) then
      first = first or row
      last = row + 1
    end
  end
  return first, last
end

--- Stores and draws the spans of the visible lines.
---@param message flemma.protocol.Spans
function M.spans(message)
  local buffer = message.buffer
  -- Spans of an older text would be drawn at the wrong places; newer ones follow.
  if not api.nvim_buf_is_loaded(buffer) or message.seq ~= mirror.seq(buffer) then
    return
  end
  local old = known[buffer]
  if not old and vim.bo[buffer].syntax == "chat" then
    -- It also marks what is text for the host.
    vim.bo[buffer].syntax = ""
  end
  known[buffer] = { first = message.first, lines = message.lines }
  local first, last = difference(old, known[buffer])
  if markup.set(buffer, message.regions or {}) then
    first, last = message.first, message.last
  end
  if first then
    neovim.redraw({ buf = buffer, range = { first, last } })
  end
end

return M
