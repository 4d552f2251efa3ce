--- Questions to the host, and its answers. Every question ends: without a result if there is no host.
---@class flemma.lookup
local M = {}

local host = require("flemma.host")
local mirror = require("flemma.mirror")

--- Longest time that a key waits for an answer. The host gives it within a millisecond.
local PATIENCE_MS = 1000

---@type table<integer, { buffer: integer?, done: fun(result: any) }> Questions without an answer.
local waiting = {}
local last_number = 0

--- Ends a question.
---@param number integer
---@param result any
function M.answer(number, result)
  local question = waiting[number]
  waiting[number] = nil
  if question then
    question.done(result)
  end
end

--- Returns a number that no other question has.
---@return integer
function M.number()
  last_number = last_number + 1
  return last_number
end

--- Asks the host.
---@param method "lookup"|"query"
---@param payload table
---@param done fun(result: any) Never called before this function has returned.
---@return integer number
function M.ask(method, payload, done)
  local number = M.number()
  payload.lookup = number
  waiting[number] = { buffer = payload.buffer, done = done }
  if not host.send(method, payload) then
    vim.schedule(function()
      M.answer(number, nil)
    end)
  end
  return number
end

--- Returns a question about a place in a chat, for |M.ask| or |M.wait|.
---@param buffer integer
---@param kind string
---@param line integer From zero.
---@param more? table
---@return table
function M.at(buffer, kind, line, more)
  local place = { buffer = buffer, seq = mirror.seq(buffer), kind = kind, line = line, column = 0, last = line }
  return vim.tbl_extend("force", place, more or {})
end

--- Asks the host, and waits for its answer. Starts a host if there is none.
---@param method "lookup"|"query"
---@param payload table
---@return any result
function M.wait(method, payload)
  require("flemma.buffer").start()
  if not host.await() then
    return nil
  end
  local is_answered, answer = false, nil
  local number = M.ask(method, payload, function(result)
    is_answered, answer = true, result
  end)
  vim.wait(PATIENCE_MS, function()
    return is_answered
  end, 10)
  waiting[number] = nil
  return answer
end

--- Forgets a question that was cancelled, and returns what it waits with.
---@param number integer
---@return fun(result: any)?
function M.cancel(number)
  local question = waiting[number]
  waiting[number] = nil
  return question and question.done
end

--- Ends the questions about a chat that was closed, or all of them when the host has exited.
---@param buffer integer?
function M.forget(buffer)
  for number, question in pairs(waiting) do
    if not buffer or question.buffer == buffer then
      M.answer(number, nil)
    end
  end
end

--- Receives an answer.
---@param message flemma.protocol.LookedUp
function M.looked_up(message)
  M.answer(message.lookup, message.result)
end

return M
