--- Runs the user's Lua functions for the host, which interprets their answers.
---@class flemma.functions
local M = {}

local callbacks = require("flemma.callbacks")
local host = require("flemma.host")

--- Types of answers that the host gets; of others it gets only the type.
local SCALARS = { "boolean", "string", "number" }

local function run(id, arguments)
  local callback = callbacks.get(id)
  if not callback then
    return { ok = false, value = vim.NIL, kind = "gone", message = "The function no longer exists." }
  end
  local ok, value = pcall(callback, unpack(arguments, 1, #arguments))
  if not ok then
    return { ok = false, value = vim.NIL, kind = "nil", message = tostring(value) }
  end
  local kind = type(value)
  if not vim.list_contains(SCALARS, kind) then
    value = vim.NIL
  end
  return { ok = true, value = value, kind = kind }
end

--- Calls functions one after another until one of them returns something.
local function run_until_answered(call)
  local answers = {}
  for index, id in ipairs(call.functions) do
    -- Each gets a copy, which it may change.
    answers[index] = run(id, vim.deepcopy(call.arguments))
    if answers[index].ok and answers[index].kind ~= "nil" then
      break
    end
  end
  return answers
end

--- Answers several questions in one message.
---@param message flemma.protocol.Ask
function M.ask(message)
  local values, asker = {}, host.channel()
  for index, call in ipairs(message.calls) do
    values[index] = run_until_answered(call)
  end
  host.answer(asker, "answered", { ask = message.ask, values = values })
end

return M
