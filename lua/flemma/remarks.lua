--- Shows messages in full as virtual lines below the prompt or the call that they concern,
--- until the next key of ours.
---@class flemma.remarks
local M = {}

local api = vim.api
local viewport = require("flemma.viewport")
local wrap = require("flemma.wrap")

local NAMESPACE = api.nvim_create_namespace("flemma.remarks")
--- Most remarks that are shown at once; the rest are in |:messages|.
local MOST = 8

---@class flemma.remarks.Remark
---@field text string
---@field level "info"|"warn"|"error"
---@field mark integer The extmark that carries its lines.

---@type table<integer, flemma.remarks.Remark[]>
local shown = {}
---@type table<integer, integer> The width that the remarks of a buffer are wrapped to.
local widths = {}
---@type table<integer, integer> Extmark of the call that the last key was about, if it was about one.
local targets = {}

---@param buffer integer
---@param mark integer
---@return integer? line
local function line_of(buffer, mark)
  return api.nvim_buf_get_extmark_by_id(buffer, NAMESPACE, mark, {})[1]
end

--- Returns the last line with text.
---@param buffer integer
---@return integer line
local function prompt_line(buffer)
  local last = api.nvim_buf_line_count(buffer) - 1
  while last > 0 and not api.nvim_buf_get_lines(buffer, last, last + 1, false)[1]:find("%S") do
    last = last - 1
  end
  return last
end

--- Returns the number of rows between two lines, with virtual lines below the last one.
---@param window integer
---@param top integer
---@param line integer
---@return integer
local function rows(window, top, line)
  local range = { start_row = top }
  if line + 1 < api.nvim_buf_line_count(api.nvim_win_get_buf(window)) then
    range.end_row, range.end_vcol = line + 1, 0
  end
  return api.nvim_win_text_height(window, range).all
end

--- Scrolls windows that show this line until the virtual lines below it are visible, too:
--- Neovim does not scroll to those below the last line.
---@param buffer integer
---@param line integer
local function reveal(buffer, line)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local info = vim.fn.getwininfo(window)[1]
    local sees = line >= info.topline - 1 and line <= info.botline
    if sees and api.nvim_win_get_cursor(window)[1] > line then
      -- Without the winbar.
      local top, room = info.topline - 1, info.height
      while top < line and rows(window, top, line) > room do
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

---@param buffer integer
---@param remark flemma.remarks.Remark
---@param line integer
---@return integer mark
local function draw(buffer, remark, line)
  widths[buffer] = viewport.width(buffer)
  return api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, {
    id = remark.mark,
    virt_lines = wrap.virtual_lines(remark.text, remark.level, widths[buffer]),
    undo_restore = false,
  })
end

--- Removes the remarks about the last key, and remembers what the next ones are about.
---@param buffer integer
---@param line integer? Line of the call; nil for a key about the prompt.
function M.begin(buffer, line)
  if shown[buffer] then
    -- The short form of an error would look like that of the new request.
    require("flemma.notices").clear()
  end
  M.forget(buffer)
  if line then
    targets[buffer] = api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, { undo_restore = false })
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
  local all = shown[buffer] or {}
  local is_shown = vim.iter(all):any(function(remark)
    return remark.text == text
  end)
  if is_shown or #all == MOST then
    return
  end
  local line = targets[buffer] and line_of(buffer, targets[buffer]) or prompt_line(buffer)
  local remark = { text = text, level = level }
  remark.mark = draw(buffer, remark, line)
  all[#all + 1] = remark
  shown[buffer] = all
  reveal(buffer, line)
end

--- Wraps the remarks of a buffer again if its windows have another width.
---@param buffer integer
function M.resized(buffer)
  if not shown[buffer] or not api.nvim_buf_is_loaded(buffer) or widths[buffer] == viewport.width(buffer) then
    return
  end
  for _, remark in ipairs(shown[buffer]) do
    local line = line_of(buffer, remark.mark)
    if line and line < api.nvim_buf_line_count(buffer) then
      draw(buffer, remark, line)
    end
  end
end

--- Removes all remarks of a buffer.
---@param buffer integer
function M.forget(buffer)
  if (shown[buffer] or targets[buffer]) and api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
  shown[buffer], targets[buffer], widths[buffer] = nil, nil, nil
end

return M
