--- Colors of the visible lines of reviews and other diffs: the backgrounds of a diff, with the syntax colors of
--- its files.
---@class flemma.review.colors
local M = {}

local api = vim.api
local diff = require("flemma.diff")
local neovim = require("flemma.neovim")
local syntax = require("flemma.syntax")

local NAMESPACE = api.nvim_create_namespace("flemma.review.colors")
--- Backgrounds are below the colors of the code.
local PRIORITY = { line = 50, code = 60 }
local KINDS = { ["+"] = "FlemmaDiffAdd", ["-"] = "FlemmaDiffDelete" }
--- Most lines above a visible line that its colors depend on.
local ABOVE = 60
--- Most lines that are searched for the head of a hunk.
local SEARCHED = 3000

---@class flemma.review.colors.View What is drawn of a review.
---@field tick integer `b:changedtick`.
---@field rows table<integer, flemma.syntax.Span[]> Spans by line.
---@field heads table<integer, boolean> Lines that are not part of a hunk.

---@type table<integer, flemma.review.colors.View|false> By buffer; false before the first drawing.
local views = {}

local function lines_of(buffer, first, last)
  return api.nvim_buf_get_lines(buffer, first, last, false)
end

--- Returns the file and the head of the hunk of a line.
---@return string? path
---@return integer? head
local function place_of(buffer, row)
  local first, head = math.max(0, row - SEARCHED), nil
  local lines = lines_of(buffer, first, row + 1)
  for at = #lines, 1, -1 do
    local line = lines[at]
    if not head and vim.startswith(line, "@@") then
      head = first + at - 1
    elseif vim.startswith(line, "diff --git ") then
      return nil, head
    elseif vim.startswith(line, "+++ ") and vim.startswith(lines[at - 1] or "", "--- ") then
      return line:match("^%+%+%+ b/(.*)$"), head
    end
  end
  return nil, head
end

--- Adds the colors of one side of some lines of a hunk.
---@param first integer The line of `lines[1]`.
local function color_side(view, sign, first, lines, path, colored)
  local texts, places = {}, {}
  for at, line in ipairs(lines) do
    local own = line:sub(1, 1)
    if own == sign or own == " " or own == "" then
      texts[#texts + 1], places[#places + 1] = line:sub(2), first + at - 1
    end
  end
  for at, spans in ipairs(syntax.rows(syntax.of_file(path, texts), texts, colored)) do
    -- Lines of both sides have the colors of the new one.
    if places[at] and not (view.rows[places[at]] and sign == "-") then
      view.rows[places[at]] = spans
    end
  end
end

--- Computes what is drawn of the visible lines.
local function compute(buffer, top, bottom)
  local view = { tick = vim.b[buffer].changedtick, rows = {}, heads = {}, top = top, bottom = bottom }
  local function colored()
    if views[buffer] == view and api.nvim_buf_is_valid(buffer) then
      views[buffer] = false
      neovim.redraw({ buf = buffer, valid = false })
    end
  end
  local path, head = place_of(buffer, top)
  local first = math.max(head and head + 1 or top, top - ABOVE)
  local part, lines = first, lines_of(buffer, first, bottom + 1)
  local function finish(stop)
    local hunk = vim.list_slice(lines, part - first + 1, stop - first)
    if path and head and vim.o.termguicolors then
      color_side(view, "+", part, hunk, path, colored)
      color_side(view, "-", part, hunk, path, colored)
    end
  end
  for at, line in ipairs(lines) do
    local row = first + at - 1
    local is_hunk = vim.startswith(line, "@@")
    if is_hunk or vim.startswith(line, "diff --git ") then
      finish(row)
      head, part = is_hunk and row or nil, row + 1
    end
    view.heads[row] = head == nil or head == row
    path = not head and line:match("^%+%+%+ b/(.*)$") or path
  end
  finish(bottom + 1)
  return view
end

---@param last integer? The end in bytes; nil is the end of the line on the screen.
local function mark(buffer, row, first, last, group, priority)
  api.nvim_buf_set_extmark(buffer, NAMESPACE, row, first, {
    end_row = last and row or row + 1,
    end_col = last or 0,
    hl_group = group,
    hl_eol = last == nil,
    ephemeral = true,
    strict = false,
    priority = priority,
  })
end

local function draw(buffer, row)
  local view, line =
    views[buffer], --[[@as flemma.review.colors.View]]
    lines_of(buffer, row, row + 1)[1] or ""
  if view.heads[row] then
    local group = vim.startswith(line, "@@") and "FlemmaDiffNumber" or "FlemmaDiffFile"
    return mark(buffer, row, 0, #line, group, PRIORITY.line)
  end
  local group = KINDS[line:sub(1, 1)]
  if group then
    mark(buffer, row, 0, nil, group, PRIORITY.line)
  end
  for _, span in ipairs(diff.has_background(group) and view.rows[row] or {}) do
    if span[3] then
      mark(buffer, row, span[1] + 1, span[2] + 1, span[3], PRIORITY.code)
    end
  end
end

--- Draws a buffer from now on.
---@param buffer integer
function M.start(buffer)
  views[buffer] = false
  vim.bo[buffer].filetype = "diff"
  -- The colors of the filetype would be those of text that these do not cover.
  vim.bo[buffer].syntax = ""
  api.nvim_set_decoration_provider(NAMESPACE, {
    on_win = function(_, _, shown, top, bottom)
      local view = views[shown]
      if view == nil then
        return false
      end
      if not view or view.tick ~= vim.b[shown].changedtick or view.top ~= top or view.bottom ~= bottom then
        views[shown] = compute(shown, top, bottom)
      end
    end,
    on_line = function(_, _, shown, row)
      draw(shown, row)
    end,
  })
end

---@param buffer integer
function M.forget(buffer)
  views[buffer] = nil
end

return M
