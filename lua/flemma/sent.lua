--- Says at references what was sent of them: the model sees that content, whatever the file
--- holds now.
---@class flemma.sent
local M = {}

local api = vim.api

local NAMESPACE = api.nvim_create_namespace("flemma.sent")
local UNITS = { "B", "KB", "MB" }
local DAY = 24 * 60 * 60

---@return string As in "2.3 KB".
local function size(bytes)
  local unit = 1
  while bytes >= 1000 and unit < #UNITS do
    bytes, unit = bytes / 1000, unit + 1
  end
  return (unit > 1 and bytes < 10 and "%.1f %s" or "%.0f %s"):format(bytes, UNITS[unit])
end

---@param at integer Seconds since 1970.
---@return string time With the date if it is not from the last 24 hours.
local function time(at)
  return tostring(os.date(os.time() - at < DAY and "%H:%M" or "%Y-%m-%d %H:%M", at))
end

--- Replaces what is shown in a buffer.
---@param message flemma.protocol.Sent
function M.sent(message)
  local buffer = message.buffer
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  local last = api.nvim_buf_line_count(buffer) - 1
  for _, item in ipairs(message.items) do
    local text = item.at and ("sent: %s, %s"):format(size(item.bytes), time(item.at))
      or ("sent shortened: %s"):format(size(item.bytes))
    api.nvim_buf_set_extmark(buffer, NAMESPACE, math.min(item.line, last), 0, {
      virt_text = { { "  " .. text, "FlemmaSent" } },
      invalidate = true,
      undo_restore = false,
    })
  end
end

return M
