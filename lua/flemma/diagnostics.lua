--- Shows what the host found in a chat, through |vim.diagnostic|.
---@class flemma.diagnostics
local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("flemma")

---@type table<integer, boolean> Buffers that show any.
local shown = {}

--- Replaces the diagnostics of a buffer.
---@param message flemma.protocol.Diagnostics
function M.diagnostics(message)
  local buffer = message.buffer
  -- Loading vim.diagnostic takes time; most chats never need it.
  if not vim.api.nvim_buf_is_loaded(buffer) or (#message.items == 0 and not shown[buffer]) then
    return
  end
  shown[buffer] = #message.items > 0 or nil
  local count = vim.api.nvim_buf_line_count(buffer)
  local all = {}
  for _, item in ipairs(message.items) do
    local fix = item.fix
    all[#all + 1] = {
      lnum = math.min(item.line, count - 1),
      end_lnum = math.min(math.max(item.line, (item.end_line or item.line + 1) - 1), count - 1),
      col = 0,
      message = fix and fix ~= "" and ("%s %s"):format(item.message, fix) or item.message,
      severity = vim.diagnostic.severity[item.severity:upper():gsub("WARNING", "WARN")],
      source = "flemma",
      user_data = { fix = fix },
    }
  end
  vim.diagnostic.set(NAMESPACE, buffer, all)
end

---@param buffer integer
function M.forget(buffer)
  if shown[buffer] and vim.api.nvim_buf_is_valid(buffer) then
    vim.diagnostic.reset(NAMESPACE, buffer)
  end
  shown[buffer] = nil
end

return M
