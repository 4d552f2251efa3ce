--- Highlights Markdown and code on the lines that Neovim draws. Works on small parts, each of
--- which is colored once per text, so the cost does not grow with the chat.
---@class flemma.markup
local M = {}

local api = vim.api
local config = require("flemma.config")
local neovim = require("flemma.neovim")
local state = require("flemma.state")
local syntax = require("flemma.syntax")

--- Below the spans of the host.
local PRIORITY = 40
--- Above them, but below the marks of |flemma.render|.
local ABOVE = 60
--- Most lines that are colored at once. A line's part depends on its region only, so that parts
--- are the same wherever the window begins.
local PART = 60
--- Lines read from the buffer at once.
local PAGE = 64
--- Most bytes of a line that are colored, as many as the default of 'synmaxcol' has columns.
local LONG = 3000
--- Lines of a file that its language may depend on.
local HEAD = 20
--- The background of a whole line.
local CODE = { 0, -1, "FlemmaCode" }

---@class flemma.markup.View What was computed for the current text of a buffer.
---@field tick integer
---@field pages table<integer, string[]>
---@field rows table<integer, flemma.syntax.Span[]>
---@field before table<integer, flemma.syntax.Span[]> The rows of the text before.

---@class flemma.markup.Region Lines of one language.
---@field [1] integer First line.
---@field [2] integer Line after the last.
---@field [3] "markdown"|"language"|"file"|"thinking"|"plain"
---@field [4] string Name of the language or file.

---@type table<integer, flemma.markup.View>
local views = state.by_buffer()
---@type table<integer, flemma.markup.Region[]> What the host sent, sorted.
local known = state.by_buffer()
---@type table<integer, fun()>
local redraws = state.by_buffer()

--- Returns what draws the chat again because there are more colors.
local function redraw(buffer)
  redraws[buffer] = redraws[buffer]
    or function()
      views[buffer] = nil
      if api.nvim_buf_is_valid(buffer) then
        neovim.redraw({ buf = buffer, valid = false })
      end
    end
  return redraws[buffer]
end

local function view_of(buffer)
  local view, tick = views[buffer], api.nvim_buf_get_changedtick(buffer)
  if not view or view.tick ~= tick then
    view = { tick = tick, pages = {}, rows = {}, before = view and view.rows or {} }
    views[buffer] = view
  end
  return view
end

--- Reads lines without the ends of long ones. Copying and parsing a line of many megabytes would
--- delay each key.
local function read(buffer, first, last)
  last = math.min(last, api.nvim_buf_line_count(buffer))
  local offset = api.nvim_buf_get_offset
  if first >= last or offset(buffer, last) - offset(buffer, first) <= LONG then
    return api.nvim_buf_get_lines(buffer, first, last, false)
  elseif last - first == 1 then
    return api.nvim_buf_get_text(buffer, first, 0, first, LONG, {})
  end
  local middle = math.floor((first + last) / 2)
  return vim.list_extend(read(buffer, first, middle), read(buffer, middle, last))
end

local function line_at(buffer, view, row)
  local page = math.floor(row / PAGE)
  if not view.pages[page] then
    view.pages[page] = read(buffer, page * PAGE, (page + 1) * PAGE)
  end
  return view.pages[page][row % PAGE + 1] or ""
end

---@param list flemma.markup.Region[] Sorted.
local function region_at(buffer, row)
  local list = known[buffer] or {}
  local low, high = 1, #list
  while low <= high do
    local middle = math.floor((low + high) / 2)
    if list[middle][2] <= row then
      low = middle + 1
    elseif list[middle][1] > row then
      high = middle - 1
    else
      return list[middle]
    end
  end
end

--- Returns the lines of the Markdown block around a line: up to an empty line that is followed by
--- text at the margin. What is indented belongs to the list above it.
---@param first integer Limits of the block.
---@return integer first
---@return integer last
local function block_around(line, row, first, last)
  local function begins(at)
    return not line(at - 1):find("%S") and line(at):find("^%S") ~= nil
  end
  local start, stop = row, row + 1
  while start > first and not begins(start) do
    start = start - 1
  end
  while stop < last and not begins(stop) do
    stop = stop + 1
  end
  return start, stop
end

--- Draws lines again whose colors depend on one that changed: Neovim draws that one only.
---@param row integer The line that is being drawn.
local function redraw_others(buffer, view, first, last, row)
  local from, to
  for at = first, last - 1 do
    local before = at ~= row and view.before[at]
    if before and not vim.deep_equal(before, view.rows[at]) then
      from, to = from or at, at + 1
    end
  end
  if from then
    vim.schedule(function()
      if api.nvim_buf_is_valid(buffer) then
        neovim.redraw({ buf = buffer, range = { from, to } })
      end
    end)
  end
end

local function language_of(buffer, region)
  if region[3] == "markdown" then
    return syntax.of_filetype("markdown")
  elseif region[3] == "language" then
    return syntax.of_fence(region[4])
  elseif region[3] == "file" then
    local head = math.min(region[1] + HEAD, region[2])
    return syntax.of_file(region[4], read(buffer, region[1], head))
  end
end

--- Returns the lines that are colored with a line, and the first of those above that matter.
---@return integer from
---@return integer first
---@return integer last
local function part_around(line, region, row)
  local first = region[1] + math.floor((row - region[1]) / PART) * PART
  local last = math.min(first + PART, region[2])
  if region[3] == "markdown" then
    first, last = block_around(line, row, first, last)
    return first, first, last
  end
  -- The lines above decide where a comment or a string ends.
  return math.max(region[1], first - PART), first, last
end

--- Colors the part of a region around a line.
local function color(buffer, view, region, row)
  local function line(at)
    return line_at(buffer, view, at)
  end
  local from, first, last = part_around(line, region, row)
  local lines = {}
  for at = from, last - 1 do
    lines[#lines + 1] = line(at)
  end
  local rows = syntax.rows(language_of(buffer, region), lines, redraw(buffer), first - from)
  local background = region[3] ~= "markdown" and CODE or nil
  for at = first, last - 1 do
    local spans = rows[at - from + 1] or {}
    view.rows[at] = background and vim.list_extend({ background }, spans) or spans
  end
  redraw_others(buffer, view, first, last, row)
end

--- Returns the spans of a header above the host's color of its line: the ID says nothing to a
--- reader.
local function header(text)
  local colon, behind, id, stop = text:match("^%*%*Tool Use:()%*%*() `[^`]+` ()%(`[^`]+`%)()")
  if not colon then
    colon, behind, id, stop = text:match("^%*%*Tool Result:()%*%*() ()`[^`]+`()")
  end
  if not colon then
    return {}
  end
  return {
    { 0, 2, nil, "" },
    { colon - 1, behind - 1, nil, "" },
    { id - 1, stop - 1, "FlemmaToolId", nil, ABOVE },
  }
end

--- Returns the spans of a line in no region, such as a fence.
local function outside(text)
  local marks = text:match("^```+") or text:match("^~~~+")
  if marks then
    return { { 0, #marks, "FlemmaFence", "" }, { #marks, #text, "FlemmaLanguage" } }
  end
  return header(text)
end

--- Returns the spans of a line. The last byte -1 is that of the whole line on the screen.
---@param buffer integer
---@param row integer
---@return flemma.syntax.Span[]
function M.spans(buffer, row)
  local view = view_of(buffer)
  if not view.rows[row] then
    local region, text = region_at(buffer, row), line_at(buffer, view, row)
    if not region then
      view.rows[row] = outside(text)
    elseif region[3] == "thinking" then
      view.rows[row] = { { 0, #text, "FlemmaThinking" }, { 0, #text, "FlemmaThinkingText" } }
    else
      color(buffer, view, region, row)
    end
  end
  return view.rows[row]
end

--- Whether a frame with a chat was drawn. Before it, parsers are not loaded: that takes longer
--- than everything else on the way to the first chat.
---@type "no"|"loading"|"yes"
local has_frame = "no"

--- Allows colors once the first frame with a chat is on the screen.
---@param buffer integer One that is being drawn.
function M.drawn(buffer)
  -- Called at each redraw, where an option of a buffer takes longer than everything else.
  if has_frame ~= "no" or vim.bo[buffer].filetype ~= "chat" then
    return
  end
  has_frame = "loading"
  -- A timer ends after the frame was flushed; what is scheduled may run before that.
  vim.defer_fn(function()
    has_frame = "yes"
    neovim.redraw({ valid = false })
  end, 1)
end

--- Returns whether a chat gets colors from here, and not from the user's own tree-sitter.
---@param buffer integer
---@return boolean
function M.is_on(buffer)
  return has_frame == "yes" and config.get().highlight and not neovim.has_highlighter(buffer)
end

--- Draws a line, while Neovim draws it.
---@param namespace integer
---@param buffer integer
---@param row integer
function M.draw(namespace, buffer, row)
  for _, span in ipairs(M.spans(buffer, row)) do
    local whole = span[2] == -1
    if whole or span[2] > span[1] then
      api.nvim_buf_set_extmark(buffer, namespace, row, span[1], {
        end_row = whole and row + 1 or row,
        end_col = whole and 0 or span[2],
        hl_group = span[3],
        hl_eol = whole,
        conceal = span[4],
        ephemeral = true,
        strict = false,
        -- Backgrounds are below colors.
        priority = span[5] or (whole and PRIORITY - 1 or PRIORITY),
      })
    end
  end
end

--- Moves the regions along with a change of the text until the host sends new ones.
---@param list flemma.markup.Region[] Changed in place.
---@param first integer
---@param last integer
---@param new_last integer
function M.shift(list, first, last, new_last)
  local grown = new_last - last
  for _, region in ipairs(list) do
    if region[1] >= last and region[2] > last then
      region[1], region[2] = region[1] + grown, region[2] + grown
    elseif region[2] >= last and region[1] <= first then
      region[2] = math.max(region[1], region[2] + grown)
    elseif region[1] < last and region[2] > first then
      region[1] = math.min(region[1], new_last)
      region[2] = math.max(region[2] + grown, new_last)
    end
  end
end

--- Forgets what a host sent that has exited.
---@param buffer integer
function M.forget(buffer)
  known[buffer], views[buffer] = nil, nil
end

--- Follows a change of the text.
---@param buffer integer
---@param first integer
---@param last integer
---@param new_last integer
function M.changed(buffer, first, last, new_last)
  M.shift(known[buffer] or {}, first, last, new_last)
end

--- Stores the regions of the visible lines that the host found.
---@param buffer integer
---@param list flemma.markup.Region[]
---@return boolean differs From those that are drawn.
function M.set(buffer, list)
  local before = known[buffer] or {}
  known[buffer] = list
  local differs = not vim.deep_equal(before, list)
  if differs then
    views[buffer] = nil
  end
  return differs
end

return M
