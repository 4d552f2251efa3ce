--- Diagnostics of the host in |vim.diagnostic|, each with its wrapped text below its line.
---@class flemma.diagnostics
local M = {}

local api = vim.api

local NAMESPACE = api.nvim_create_namespace("flemma")
local TEXTS = api.nvim_create_namespace("flemma.diagnostic_texts")
--- The name of the handler and of its option in |vim.diagnostic.config()|.
local HANDLER = "flemma/text"
--- Most diagnostics whose text is shown, as a file may have thousands.
local MOST = 50
local SEVERITIES = {
  error = vim.diagnostic.severity.ERROR,
  warning = vim.diagnostic.severity.WARN,
  info = vim.diagnostic.severity.INFO,
}
local LEVELS = {
  [vim.diagnostic.severity.ERROR] = "error",
  [vim.diagnostic.severity.WARN] = "warn",
  [vim.diagnostic.severity.INFO] = "info",
}

---@type table<integer, vim.Diagnostic[]> The diagnostics whose texts are drawn, by buffer.
local drawn = {}
---@type table<integer, boolean> Buffers that show any.
local shown = {}
---@type table<integer, integer> The width that the texts of a buffer are wrapped to.
local widths = {}
local started = false

--- Draws the texts, unless the user's configuration shows them.
local function draw(buffer, items, options)
  api.nvim_buf_clear_namespace(buffer, TEXTS, 0, -1)
  drawn[buffer] = nil
  if options.virtual_lines or options.virtual_text then
    return
  end
  local wrap, width = require("flemma.wrap"), require("flemma.viewport").width(buffer)
  widths[buffer] = width
  local last = api.nvim_buf_line_count(buffer) - 1
  drawn[buffer] = vim.list_slice(items, 1, MOST)
  -- Neovim draws the lines of several marks at one place in any order.
  local below = {} ---@type table<integer, table[]>
  for _, item in ipairs(drawn[buffer]) do
    local line = math.min(item.lnum, last)
    local text = require("flemma.notices").escape(item.message)
    below[line] = vim.list_extend(below[line] or {}, wrap.virtual_lines(text, LEVELS[item.severity], width))
  end
  for line, lines in pairs(below) do
    api.nvim_buf_set_extmark(buffer, TEXTS, line, 0, { virt_lines = lines, undo_restore = false })
  end
end

--- Adds the handler, with the first diagnostic: most chats never load |vim.diagnostic|.
local function start()
  if started then
    return
  end
  vim.diagnostic.handlers[HANDLER] = {
    show = function(_, buffer, items, options)
      draw(buffer, items, options)
    end,
    hide = function(_, buffer)
      drawn[buffer] = nil
      if api.nvim_buf_is_loaded(buffer) then
        api.nvim_buf_clear_namespace(buffer, TEXTS, 0, -1)
      end
    end,
  }
  vim.diagnostic.config({ [HANDLER] = true }, NAMESPACE)
  started = true
end

--- Replaces the diagnostics of a buffer.
---@param message flemma.protocol.Diagnostics
function M.diagnostics(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) or (#message.items == 0 and not shown[buffer]) then
    return
  end
  start()
  shown[buffer] = #message.items > 0 or nil
  local count = api.nvim_buf_line_count(buffer)
  local all = {}
  for _, item in ipairs(message.items) do
    local fix = item.fix
    all[#all + 1] = {
      lnum = math.min(item.line, count - 1),
      end_lnum = math.min(math.max(item.line, item.end_line - 1), count - 1),
      col = 0,
      message = fix and fix ~= "" and ("%s %s"):format(item.message, fix) or item.message,
      severity = SEVERITIES[item.severity],
      source = "flemma",
      user_data = { fix = fix },
    }
  end
  vim.diagnostic.set(NAMESPACE, buffer, all)
  local remarks = package.loaded["flemma.remarks"]
  if remarks then
    remarks.shorten(buffer)
  end
end

--- Returns a message without the diagnostics in it, with their lines, that are drawn in the chat.
---@param buffer integer
---@param text string
---@return string
function M.unsaid(buffer, text)
  for _, item in ipairs(drawn[buffer] or {}) do
    local said = ("Line %d: %s"):format(item.lnum + 1, item.message)
    local first, last = text:find(said, 1, true)
    if first then
      text = text:sub(1, first - 1) .. vim.trim(text:sub(last + 1))
    end
  end
  return text
end

--- Wraps the texts again if the windows of the buffer have another width.
---@param buffer integer
function M.resized(buffer)
  local known = shown[buffer] and api.nvim_buf_is_loaded(buffer) and widths[buffer]
  if known and known ~= require("flemma.viewport").width(buffer) then
    vim.diagnostic.show(NAMESPACE, buffer)
  end
end

---@param buffer integer
function M.forget(buffer)
  if shown[buffer] and api.nvim_buf_is_valid(buffer) then
    vim.diagnostic.reset(NAMESPACE, buffer)
  end
  shown[buffer], widths[buffer], drawn[buffer] = nil, nil, nil
end

return M
