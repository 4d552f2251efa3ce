--- Runs the user's own Lua functions for the host. What their answers mean is
--- decided there.
---@class flemma.functions
local M = {}

local config = require("flemma.config")
local host = require("flemma.host")

--- Turns the wire's nil, which is a value in a table, into no value.
---@param value any
---@return any
local function without_nil(value)
  if value == vim.NIL then
    return nil
  end
  if type(value) == "table" then
    for key, item in pairs(value) do
      value[key] = without_nil(item)
    end
  end
  return value
end

---@param value any
---@return any value As it travels: what is not a scalar becomes nil; its kind says what it was.
local function scalar(value)
  local kind = type(value)
  return (kind == "boolean" or kind == "string" or kind == "number") and value or vim.NIL
end

---@param call { ["function"]: integer, arguments: any[] }
---@return flemma.protocol.Answer
local function run(call)
  local callback = config.function_at(call["function"])
  if not callback then
    return { ok = false, value = vim.NIL, kind = "nil", message = "The function is gone; setup() was called again." }
  end
  local count, arguments = #call.arguments, {}
  for index = 1, count do
    arguments[index] = without_nil(call.arguments[index])
  end
  local ok, value = pcall(callback, unpack(arguments, 1, count))
  if not ok then
    return { ok = false, value = vim.NIL, kind = "nil", message = tostring(value) }
  end
  if value == false then
    return { ok = true, value = false, kind = "boolean" }
  end
  return { ok = true, value = scalar(value), kind = type(value) }
end

--- Answers a batch of questions in one message.
---@param message flemma.protocol.Ask
function M.ask(message)
  local values = {}
  for index, call in ipairs(message.calls) do
    values[index] = run(call)
  end
  host.send("answered", { ask = message.ask, values = values })
end

return M
