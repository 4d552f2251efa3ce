--- Shows what an answer took and cost, for a moment, behind the last role marker of its
--- chat, where it covers no text. The figures and the words are the host's.
---@class flemma.usage
local M = {}

local api = vim.api

local NAMESPACE = api.nvim_create_namespace("flemma.usage")
--- Most lines that are searched for a role marker.
local SEARCHED = 2000
--- Calls of an answer are begun and drawn within two frames.
local DELAY_MS = 40
--- The lines of the host by how much they matter: figures, chat, model, all chats.
local ORDER = { 2, 3, 1, 4 }

--- What is to be shown, or is shown, in each buffer.
---@type table<integer, flemma.protocol.Usage>
local latest = {}

---@param buffer integer
local function clear(buffer)
  latest[buffer] = nil
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
end

--- The line of the last role marker, else the last line.
---@param buffer integer
---@return integer line
---@return string text
local function marker(buffer)
  local count = api.nvim_buf_line_count(buffer)
  local first = math.max(0, count - SEARCHED)
  local lines = api.nvim_buf_get_lines(buffer, first, count, false)
  for at = #lines, 1, -1 do
    if lines[at]:find("^@%u%l+:") then
      return first + at - 1, lines[at]
    end
  end
  return count - 1, lines[#lines]
end

--- As many of the lines as fit into one, the most important ones first.
---@param lines string[] As the host words them.
---@param room integer In columns.
---@return string
function M.fit(lines, room)
  local chosen, width = {}, 0
  for _, at in ipairs(ORDER) do
    local part = lines[at]
    local more = part and api.nvim_strwidth(part) + (width > 0 and 3 or 0)
    if part and width + more <= room then
      chosen[#chosen + 1], width = at, width + more
    end
  end
  table.sort(chosen)
  return table.concat(
    vim.tbl_map(function(at)
      return lines[at]
    end, chosen),
    " · "
  )
end

--- Shows figures in place of those before them.
---@param message flemma.protocol.Usage
local function show(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  local line, text = marker(buffer)
  local room = require("flemma.viewport").width(buffer) - api.nvim_strwidth(text) - 2
  local figures = M.fit(vim.tbl_map(require("flemma.notices").escape, message.lines), room)
  api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, {
    virt_text = { { figures, "FlemmaUsage" } },
    virt_text_pos = "eol_right_align",
    undo_restore = false,
  })
end

--- Keeps the figures of an answer, and shows them as soon as what the answer asks for
--- was begun.
---@param message flemma.protocol.Usage
function M.usage(message)
  require("flemma.session").add(message.request, message.session)
  local buffer = message.buffer
  if message.seconds == 0 then
    return clear(buffer)
  end
  latest[buffer] = message
  vim.defer_fn(function()
    if latest[buffer] == message then
      show(message)
    end
  end, DELAY_MS)
  vim.defer_fn(function()
    if latest[buffer] == message then
      clear(buffer)
    end
  end, DELAY_MS + message.seconds * 1000)
end

return M
