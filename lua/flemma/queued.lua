--- Draws below the end of a chat: the model's tasks while it works, and queued messages of
--- the user, which the next host gets when one dies.
---@class flemma.queued
local M = {}

local api = vim.api
local notices = require("flemma.notices")

local NAMESPACE = api.nvim_create_namespace("flemma.queued")
--- Most lines of one message that are shown.
local LINES = 3
local SIGNS = { next = "⏵ next: ", later = "⏵ then: " }
--- Sign and highlight group of a task by its status.
local TASKS = {
  completed = { "✓ ", "FlemmaTaskCompleted" },
  in_progress = { "▸ ", "FlemmaTaskInProgress" },
  pending = { "○ ", "FlemmaTaskPending" },
}

---@class flemma.queued.Shown
---@field items flemma.protocol.QueuedItem[]
---@field mark integer?
---@field named boolean Whether the chat has a file; the host keeps messages of such chats.

---@type table<integer, flemma.queued.Shown>
local shown = {}

---@return string[][][] lines Of virtual text.
local function draw(item)
  local sign, drawn = SIGNS[item.when] or SIGNS.later, {}
  local lines = vim.split(item.text, "\n", { plain = true, trimempty = true })
  for at = 1, math.min(#lines, LINES) do
    local before = at == 1 and sign or (" "):rep(vim.fn.strwidth(sign))
    local more = at == LINES and #lines > LINES and " …" or ""
    drawn[at] = { { before .. notices.escape(lines[at]) .. more, "FlemmaQueued" } }
  end
  return drawn
end

---@return string[][] chunks Of one virtual line.
local function draw_task(item)
  local sign, group = unpack(TASKS[item.status] or TASKS.pending)
  return { { sign .. notices.escape(item.text), group } }
end

--- Draws all tasks and queued messages.
---@param message flemma.protocol.Queued
function M.queued(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  local mark = shown[buffer] and shown[buffer].mark
  if #message.items == 0 and #message.tasks == 0 then
    api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
    shown[buffer] = nil
    return
  end
  local lines = vim.tbl_map(draw_task, message.tasks)
  for _, item in ipairs(message.items) do
    vim.list_extend(lines, draw(item))
  end
  local line = math.min(message.line, api.nvim_buf_line_count(buffer) - 1)
  local text = api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ""
  -- At the very end, so that it moves with the text that is added there.
  mark = api.nvim_buf_set_extmark(buffer, NAMESPACE, line, #text, {
    id = mark,
    virt_lines = lines,
    undo_restore = false,
  })
  shown[buffer] = { items = message.items, mark = mark, named = api.nvim_buf_get_name(buffer) ~= "" }
end

--- Returns the queued messages of a buffer, in order.
---@param buffer integer
---@return string[]
function M.texts(buffer)
  return vim.tbl_map(function(item)
    return item.text
  end, (shown[buffer] or { items = {} }).items)
end

--- Reports the messages that were not sent when the chat is closed.
---@param buffer integer
function M.forget(buffer)
  local texts, named = M.texts(buffer), shown[buffer] and shown[buffer].named
  shown[buffer] = nil
  if #texts > 0 then
    local after = named and "They will be in its prompt when you open it again" or "They are"
    local message = "The chat was closed with unsent messages. %s: %s"
    notices.notify({ level = "warn", message = message:format(after, table.concat(texts, " … ")) })
  end
end

return M
