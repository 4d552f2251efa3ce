--- Shows messages in full as virtual lines below the prompt or the call that they concern,
--- until the next key of ours.
---@class flemma.remarks
local M = {}

local api = vim.api
local follow = require("flemma.follow")
local marks = require("flemma.marks")
local viewport = require("flemma.viewport")
local wrap = require("flemma.wrap")

local NAMESPACE = api.nvim_create_namespace("flemma.remarks")
--- Most remarks that are shown at once; the rest are in |:messages|.
local MOST = 8

---@class flemma.remarks.Remark
---@field text string
---@field level "info"|"warn"|"error"
---@field mark integer The extmark of the line that it and others are about.

---@type table<integer, flemma.remarks.Remark[]>
local shown = {}
---@type table<integer, table<integer, integer>> By buffer, the extmark with the lines of each mark.
local drawn = {}
---@type table<integer, integer> The width that the remarks of a buffer are wrapped to.
local widths = {}
---@type table<integer, integer> Extmark of the call that the last key was about, if it was about one.
local targets = {}

---@return integer? line
local function line_of(buffer, mark)
  return (marks.place(buffer, NAMESPACE, mark))
end

--- Returns the last line with text.
---@return integer line
local function prompt_line(buffer)
  local last = api.nvim_buf_line_count(buffer) - 1
  while last > 0 and not api.nvim_buf_get_lines(buffer, last, last + 1, false)[1]:find("%S") do
    last = last - 1
  end
  return last
end

--- Returns where the virtual lines of a line are seen: a closed fold hides those of its lines, so that
--- they are below it, or above if nothing follows.
---@return integer line
---@return boolean above Whether they are above that line.
local function seen_at(buffer, line)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local first, last = unpack(api.nvim_win_call(window, function()
      local first, last = vim.fn.foldclosed(line + 1), vim.fn.foldclosedend(line + 1)
      while first > 1 and vim.fn.foldclosed(first - 1) ~= -1 do
        first = vim.fn.foldclosed(first - 1)
      end
      while last ~= -1 and vim.fn.foldclosedend(last + 1) ~= -1 do
        last = vim.fn.foldclosedend(last + 1)
      end
      return { first, last }
    end))
    if last ~= -1 and last < api.nvim_buf_line_count(buffer) then
      return last, true
    elseif first > 1 then
      return first - 2, false
    end
  end
  return line, false
end

--- Scrolls windows that show this line until the virtual lines below it are visible, too:
--- Neovim does not scroll to those below the last line.
local function reveal(buffer, line)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local info = vim.fn.getwininfo(window)[1]
    local sees = line >= info.topline - 1 and line <= info.botline
    if sees and api.nvim_win_get_cursor(window)[1] > line then
      -- Without the winbar.
      local top, room = info.topline - 1, info.height
      while top < line and follow.rows(window, top, line) > room do
        top = top + 1
      end
      if top >= info.topline then
        api.nvim_win_call(window, function()
          vim.fn.winrestview({ topline = top + 1 })
        end)
      end
    end
  end
end

--- Returns the mark for the remarks below a line.
---@return integer mark
local function mark_at(buffer, line)
  for _, remark in ipairs(shown[buffer]) do
    if line_of(buffer, remark.mark) == line then
      return remark.mark
    end
  end
  return api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, { undo_restore = false })
end

--- Draws the remarks of a mark, in one mark, because Neovim draws the lines of several at one place
--- in any order.
---@return integer? line The line above them.
local function draw(buffer, mark)
  local line, lines = line_of(buffer, mark), {}
  if not line then
    return
  end
  widths[buffer] = viewport.width(buffer)
  for _, remark in ipairs(shown[buffer]) do
    if remark.mark == mark then
      vim.list_extend(lines, wrap.virtual_lines(remark.text, remark.level, widths[buffer]))
    end
  end
  local above
  line, above = seen_at(buffer, line)
  -- At the end of the line, so that it comes below diagnostics, which are at the beginning.
  local column = above and 0 or #api.nvim_buf_get_lines(buffer, line, line + 1, false)[1]
  drawn[buffer] = drawn[buffer] or {}
  drawn[buffer][mark] = api.nvim_buf_set_extmark(buffer, NAMESPACE, line, column, {
    id = drawn[buffer][mark],
    virt_lines = lines,
    virt_lines_above = above,
    undo_restore = false,
  })
  return above and line - 1 or line
end

--- Removes the remarks about the last key, and remembers what the next ones are about.
---@param buffer integer
---@param line integer? Line of the call; nil for a key about the prompt.
function M.begin(buffer, line)
  -- The message about the last key would look like one about this key.
  require("flemma.notices").clear()
  M.forget(buffer)
  if line then
    targets[buffer] = api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, { undo_restore = false })
  end
end

--- Returns what a message says beyond the diagnostics that are drawn.
local function unsaid(buffer, text)
  local diagnostics = package.loaded["flemma.diagnostics"]
  return diagnostics and diagnostics.unsaid(buffer, text) or text
end

--- Leaves out of remarks what new diagnostics say.
---@param buffer integer
function M.shorten(buffer)
  for _, remark in ipairs(shown[buffer] or {}) do
    local text = unsaid(buffer, remark.text)
    if text ~= remark.text then
      remark.text = text
      draw(buffer, remark.mark)
    end
  end
end

--- Shows a remark below the others, unless it is shown already.
---@param buffer integer
---@param level "info"|"warn"|"error"
---@param text string Without control characters.
function M.add(buffer, level, text)
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  text = unsaid(buffer, text)
  local all = shown[buffer] or {}
  local is_shown = vim.iter(all):any(function(remark)
    return remark.text == text
  end)
  if is_shown or #all == MOST then
    return
  end
  local line = targets[buffer] and line_of(buffer, targets[buffer]) or prompt_line(buffer)
  shown[buffer] = all
  local mark = mark_at(buffer, line)
  all[#all + 1] = { text = text, level = level, mark = mark }
  reveal(buffer, draw(buffer, mark) or line)
end

--- Draws the remarks of a buffer again, after its folds have changed.
---@param buffer integer
function M.redraw(buffer)
  for _, remark in ipairs(shown[buffer] or {}) do
    draw(buffer, remark.mark)
  end
end

--- Wraps the remarks of a buffer again if its windows have another width.
---@param buffer integer
function M.resized(buffer)
  if shown[buffer] and api.nvim_buf_is_loaded(buffer) and widths[buffer] ~= viewport.width(buffer) then
    M.redraw(buffer)
  end
end

--- Removes all remarks of a buffer.
---@param buffer integer
function M.forget(buffer)
  if (shown[buffer] or targets[buffer]) and api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
  shown[buffer], targets[buffer], widths[buffer], drawn[buffer] = nil, nil, nil, nil
end

return M
