--- Shows what an answer took and cost for some seconds after the last role marker of its
--- chat, where it covers no text.
---@class flemma.usage
local M = {}

local api = vim.api
local lookup = require("flemma.lookup")

local NAMESPACE = api.nvim_create_namespace("flemma.usage")
--- The calls of an answer are drawn within two frames.
local DELAY_MS = 40
--- The host's lines by importance: figures, chat, model, all chats.
local ORDER = { 2, 3, 1, 4 }

---@type table<integer, flemma.protocol.Usage> What is or will be shown in each buffer.
local latest = require("flemma.state").by_buffer()

local function clear(buffer)
  latest[buffer] = nil
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
end

--- Joins as many of the lines as fit into one, the most important ones first.
---@param room integer In columns.
local function fit(lines, room)
  local best, chosen = "", {}
  for _, at in ipairs(ORDER) do
    -- By number, because the lines keep the host's order.
    local more = vim.list_extend({ lines[at] and at }, chosen)
    table.sort(more)
    local joined = table.concat(
      vim.tbl_map(function(index)
        return lines[index]
      end, more),
      " · "
    )
    if api.nvim_strwidth(joined) <= room then
      best, chosen = joined, more
    end
  end
  return best
end

---@param line integer That of the last message.
local function show(message, line)
  local buffer = message.buffer
  local text = api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ""
  local room = require("flemma.viewport").width(buffer) - api.nvim_strwidth(text) - 2
  local figures = fit(vim.tbl_map(require("flemma.notices").escape, message.lines), room)
  api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, {
    virt_text = { { figures, "FlemmaUsage" } },
    virt_text_pos = "eol_right_align",
    -- The background of the role marker's line goes on below the figures.
    hl_mode = "combine",
    undo_restore = false,
  })
end

--- Shows the figures of an answer as soon as its calls are drawn.
---@param message flemma.protocol.Usage
function M.usage(message)
  require("flemma.session").add(message.request, message.session)
  local buffer = message.buffer
  if message.seconds == 0 then
    return clear(buffer)
  end
  latest[buffer] = message
  vim.defer_fn(function()
    if latest[buffer] ~= message or not api.nvim_buf_is_loaded(buffer) then
      return
    end
    local count = api.nvim_buf_line_count(buffer)
    lookup.ask("lookup", lookup.at(buffer, "to_message", count, { count = -1 }), function(line)
      if latest[buffer] == message and api.nvim_buf_is_loaded(buffer) then
        show(message, line or count - 1)
      end
    end)
  end, DELAY_MS)
  vim.defer_fn(function()
    if latest[buffer] == message then
      clear(buffer)
    end
  end, DELAY_MS + message.seconds * 1000)
end

return M
