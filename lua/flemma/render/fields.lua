--- Draws the arguments of calls as fields of a form, and hides their JSON
--- where 'conceallevel' is at least 2, unless the cursor is in it.
---@class flemma.render.fields
local M = {}

local api = vim.api
local notices = require("flemma.notices")
local state = require("flemma.state")

local INDENT = { "  " }
local NAMESPACE = api.nvim_create_namespace("flemma.json")

---@class flemma.render.fields.Hidden
---@field first integer The opening fence.
---@field last integer The closing fence.
---@field mark integer? Extmark that hides the lines.

---@type table<integer, table<string, flemma.render.fields.Hidden>> JSON by buffer and mark.
local blocks = state.by_buffer()
---@type table<integer, string?> The mark whose JSON the cursor is in.
local open = state.by_buffer()
local started = false

--- Returns the virtual lines of fields.
---@param fields flemma.protocol.Field[]?
---@return string[][][] lines
function M.virtual_lines(fields)
  return vim.tbl_map(function(field)
    local group = field[3] and "FlemmaHint" or "FlemmaFieldValue"
    return { INDENT, { notices.escape(field[1]) .. "  ", "FlemmaField" }, { notices.escape(field[2]), group } }
  end, fields or {})
end

--- Indents lines of a diff like the fields above it.
---@param lines table[][]
---@return table[][]
function M.indented(lines)
  return vim.tbl_map(function(line)
    return vim.list_extend({ INDENT }, line)
  end, lines)
end

local function hide(buffer, id)
  local block = blocks[buffer][id]
  local count = api.nvim_buf_line_count(buffer)
  -- The text may have changed since the host described it; then it does so again.
  if block.last < count then
    block.mark = api.nvim_buf_set_extmark(buffer, NAMESPACE, block.first, 0, {
      id = block.mark,
      end_row = block.last,
      end_col = 0,
      conceal_lines = "",
      undo_restore = false,
      invalidate = true,
    })
  end
end

local function reveal(buffer, id)
  local block = blocks[buffer][id]
  if block.mark then
    api.nvim_buf_del_extmark(buffer, NAMESPACE, block.mark)
    block.mark = nil
  end
end

--- Returns the mark whose JSON a line is in.
---@return string? id
local function at(buffer, line)
  for id, block in pairs(blocks[buffer] or {}) do
    local first, last = block.first, block.last
    if block.mark then
      local found = api.nvim_buf_get_extmark_by_id(buffer, NAMESPACE, block.mark, { details = true })
      first, last = found[1] or first, found[3] and found[3].end_row or last
    end
    if line >= first and line <= last then
      return id
    end
  end
end

--- Shows the JSON that the cursor is in, and hides what it has left.
---@param buffer integer The current one.
function M.follow(buffer)
  if not blocks[buffer] then
    return
  end
  local id = at(buffer, api.nvim_win_get_cursor(0)[1] - 1)
  local before = open[buffer]
  if id == before then
    return
  end
  open[buffer] = id
  if before and blocks[buffer][before] then
    hide(buffer, before)
  end
  if id then
    reveal(buffer, id)
  end
end

local function start()
  local seen
  if not started then
    api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI", "WinEnter", "BufEnter" }, {
      group = api.nvim_create_augroup("flemma.fields", { clear = true }),
      desc = "flemma: the JSON of the call at the cursor",
      callback = function(event)
        -- The cursor often moves in a line, as with each delta of an answer that it follows.
        local place = ("%d %d %d"):format(event.buf, api.nvim_get_current_win(), api.nvim_win_get_cursor(0)[1])
        if place ~= seen then
          seen = place
          M.follow(event.buf)
        end
      end,
    })
    started = true
  end
end

--- Remembers the JSON of a mark, and hides it. Without JSON, shows what was hidden. |M.follow|
--- shows again what the cursor is in.
---@param buffer integer
---@param item flemma.protocol.Mark
function M.set(buffer, item)
  if not item.json then
    M.remove(buffer, item.id)
  else
    start()
    blocks[buffer] = blocks[buffer] or {}
    local old = blocks[buffer][item.id]
    blocks[buffer][item.id] = { first = item.json[1], last = item.json[2] - 1, mark = old and old.mark }
    if open[buffer] ~= item.id then
      hide(buffer, item.id)
    end
  end
end

--- Forgets the JSON of a mark that is gone.
---@param buffer integer
---@param id string
function M.remove(buffer, id)
  if blocks[buffer] and blocks[buffer][id] then
    reveal(buffer, id)
    blocks[buffer][id] = nil
    if open[buffer] == id then
      open[buffer] = nil
    end
  end
end

--- Removes everything from a buffer.
---@param buffer integer
function M.forget(buffer)
  blocks[buffer], open[buffer] = nil, nil
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
end

return M
