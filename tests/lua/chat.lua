--- A chat for tests: a watched buffer, a host that records messages, and the real entry
--- point for messages from it.
local M = {}

local host = require("flemma.host")
local mirror = require("flemma.mirror")

---@type { method: string, payload: table }[]
M.sent = {}

--- Answers of the host to questions, by name or kind.
---@type table<string, fun(question: table): any>
M.answers = {}

host.send = function(method, payload)
  M.sent[#M.sent + 1] = { method = method, payload = payload }
  local answer = (method == "query" or method == "lookup") and M.answers[payload.name or payload.kind]
  if answer then
    vim.schedule(function()
      host.receive("looked_up", { lookup = payload.lookup, result = answer(payload.arguments or payload) })
    end)
  end
  return true
end
host.await = function()
  return true
end

--- Fills the current buffer with these lines and watches it.
---@param lines string[]
---@return integer buffer
function M.new(lines)
  local buffer = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_set_current_buf(buffer)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  mirror.attach(buffer, function() end, function() end)
  M.sent = {}
  return buffer
end

--- Passes a message of the host to the plugin.
---@param method string
---@param payload table
function M.host(method, payload)
  host.receive(method, payload)
end

---@param buffer integer
---@return string[]
function M.lines(buffer)
  return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
end

--- The payloads of one kind of message, oldest first.
---@param method string
---@return table[]
function M.messages(method)
  local found = {}
  for _, message in ipairs(M.sent) do
    if message.method == method then
      found[#found + 1] = message.payload
    end
  end
  return found
end

--- Types keys and waits until Neovim has handled them.
---@param keys string As in a mapping.
function M.keys(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), "xt", false)
end

return M
