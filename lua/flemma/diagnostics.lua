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

---@type table<integer, boolean> Buffers that show any.
local shown = {}
---@type table<integer, integer> The width that the texts of a buffer are wrapped to.
local widths = {}
local started = false

--- Draws the texts, unless the user's configuration shows them.
---@param buffer integer
---@param items vim.Diagnostic[]
---@param options table
local function draw(buffer, items, options)
  api.nvim_buf_clear_namespace(buffer, TEXTS, 0, -1)
  if options.virtual_lines or options.virtual_text then
    return
  end
  local wrap, width = require("flemma.wrap"), require("flemma.viewport").width(buffer)
  widths[buffer] = width
  local last = api.nvim_buf_line_count(buffer) - 1
  for _, item in ipairs(vim.list_slice(items, 1, MOST)) do
    local level = item.severity == vim.diagnostic.severity.ERROR and "error" or "warn"
    api.nvim_buf_set_extmark(buffer, TEXTS, math.min(item.lnum, last), 0, {
      virt_lines = wrap.virtual_lines(require("flemma.notices").escape(item.message), level, width),
      undo_restore = false,
    })
  end
end

--- Adds the handler, with the first diagnostic: most chats never load |vim.diagnostic|.
local function start()
  if started then
    return
  end
  started = true
  vim.diagnostic.handlers[HANDLER] = {
    show = function(_, buffer, items, options)
      draw(buffer, items, options)
    end,
    hide = function(_, buffer)
      if api.nvim_buf_is_loaded(buffer) then
        api.nvim_buf_clear_namespace(buffer, TEXTS, 0, -1)
      end
    end,
  }
  vim.diagnostic.config({ [HANDLER] = true }, NAMESPACE)
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
      severity = vim.diagnostic.severity[item.severity == "error" and "ERROR" or "WARN"],
      source = "flemma",
      user_data = { fix = fix },
    }
  end
  vim.diagnostic.set(NAMESPACE, buffer, all)
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
  shown[buffer], widths[buffer] = nil, nil
end

return M
