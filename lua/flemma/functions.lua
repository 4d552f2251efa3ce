--- Runs the user's own Lua functions for the host. What their answers mean is
--- decided there.
---@class flemma.functions
local M = {}

local callbacks = require("flemma.callbacks")
local host = require("flemma.host")

---@param value any
---@return any value As it travels: what is not a scalar becomes nil; its kind says what it was.
local function scalar(value)
  local kind = type(value)
  return (kind == "boolean" or kind == "string" or kind == "number") and value or vim.NIL
end

---@param id integer
---@param arguments any[]
---@return flemma.protocol.Answer
local function run(id, arguments)
  local callback = callbacks.get(id)
  if not callback then
    return { ok = false, value = vim.NIL, kind = "gone", message = "The function is gone." }
  end
  local ok, value = pcall(callback, unpack(arguments, 1, #arguments))
  if not ok then
    return { ok = false, value = vim.NIL, kind = "nil", message = tostring(value) }
  end
  if value == false then
    return { ok = true, value = false, kind = "boolean" }
  end
  return { ok = true, value = scalar(value), kind = type(value) }
end

--- Asks functions one after another until one of them returns something.
---@param call flemma.protocol.FunctionCall
---@return flemma.protocol.Answer[]
local function run_until_answered(call)
  local answers = {}
  for index, id in ipairs(call.functions) do
    -- Each gets arguments of its own: what one does to them is its own affair.
    answers[index] = run(id, vim.deepcopy(call.arguments))
    if answers[index].ok and answers[index].kind ~= "nil" then
      break
    end
  end
  return answers
end

--- Answers a batch of questions in one message.
---@param message flemma.protocol.Ask
function M.ask(message)
  local values, asker = {}, host.channel()
  for index, call in ipairs(message.calls) do
    values[index] = run_until_answered(call)
  end
  host.answer(asker, "answered", { ask = message.ask, values = values })
end

return M
