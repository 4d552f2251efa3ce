--- What the host says to the user outside the text: messages, events, the
--- status line.
---@class flemma.notices
local M = {}

---@type table<integer, string> Status line text by buffer.
local texts = {}

--- Makes control characters visible, so that no byte from outside can move the
--- cursor or recolour the terminal.
---@param text string
---@return string
function M.escape(text)
  return (
    text:gsub("%c", function(char)
      return char == "\127" and "^?" or "^" .. string.char(char:byte() + 64)
    end)
  )
end

--- Shows one line to the user.
---@param message flemma.protocol.Notify
function M.notify(message)
  local level = vim.log.levels[(message.level or "info"):upper()] or vim.log.levels.INFO
  vim.notify("Flemma: " .. M.escape(message.message), level)
end

--- Runs the user's autocommands.
---@param event flemma.protocol.Event
function M.event(event)
  vim.api.nvim_exec_autocmds("User", { pattern = event.name, modeline = false, data = event.data })
end

---@param message flemma.protocol.Statusline
function M.statusline(message)
  texts[message.buffer] = message.text ~= "" and M.escape(message.text):gsub("%%", "%%%%") or nil
  vim.cmd.redrawstatus()
end

--- What stands in the status line of a buffer.
---@param buffer integer
---@return string
function M.text(buffer)
  return texts[buffer] or ""
end

--- Forgets a buffer, or all when the host is gone.
---@param buffer? integer
function M.forget(buffer)
  if buffer then
    texts[buffer] = nil
  else
    texts = {}
  end
end

return M
