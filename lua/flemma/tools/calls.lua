--- Calls of registered tools: starts and cancels them for the host, and sends each result
--- once. The host measures their time.
---@class flemma.tools.calls
local M = {}

local callbacks = require("flemma.callbacks")
local host = require("flemma.host")
local queue = require("flemma.queue")

--- Most bytes of a message, so that reading it delays no others.
local CHUNK = 48 * 1024
--- Most bytes that a tool may return.
local MOST = 16 * 1024 * 1024

---@class flemma.tools.Run
---@field call integer
---@field over boolean Whether it has ended or was stopped.
---@field stopped boolean
---@field cancel fun()? The tool's function that cancels it.
---@field commands table<integer, fun(ended: flemma.protocol.CommandEnded)> Callbacks of running commands.
---@field command fun(argv: string[], done: fun(ended: flemma.protocol.CommandEnded)) Runs a command in the host.

---@type table<integer, flemma.tools.Run> By the host's number of the call.
local running = {}

--- Sends the result of a call.
---@param output any A string, or a value that the model gets as JSON.
local function answer(run, ok, output)
  if type(output) ~= "string" then
    host.send("tool_returned", { call = run.call, ok = ok, value = output })
    return
  end
  -- An empty output is a message, too.
  for at = 1, math.max(#output, 1), CHUNK do
    local more = at + CHUNK <= #output
    host.send("tool_returned", { call = run.call, ok = ok, text = output:sub(at, at + CHUNK - 1), more = more })
  end
end

--- Converts a value to text, a large integer with all its digits.
local function text_of(value)
  if type(value) == "number" and value % 1 == 0 and math.abs(value) < 2 ^ 63 then
    return ("%d"):format(value)
  end
  return tostring(value)
end

--- Returns true if a table, or one in it, has both numbers and strings as keys, which the
--- channel cannot carry.
local function is_mixed(value)
  if type(value) ~= "table" then
    return false
  end
  local names, numbers = false, false
  for key, item in pairs(value) do
    names, numbers = names or type(key) == "string", numbers or type(key) == "number"
    if names and numbers or is_mixed(item) then
      return true
    end
  end
  return false
end

--- Converts what a tool returned to what can be sent.
---@return boolean ok
---@return any output
local function read(result)
  if type(result) ~= "table" then
    local why =
      "The tool returned a %s; it must return { success = true, output = … } or { success = false, error = … }."
    return false, why:format(type(result))
  elseif not result.success then
    local why = result.error
    if why == nil then
      why = "The tool failed and gave no reason."
    end
    return false, type(why) == "table" and vim.inspect(why) or tostring(why)
  end
  local output = result.output
  if output == nil or output == vim.NIL then
    return true, ""
  elseif type(output) ~= "table" then
    output = text_of(output)
  end
  if #output > MOST and type(output) == "string" then
    return false, ("The tool returned %.1f MB; it may return at most %d MB."):format(#output / 2 ^ 20, MOST / 2 ^ 20)
  end
  -- Values that JSON cannot hold would be lost on the way.
  local fits, why = pcall(vim.json.encode, output)
  if type(output) == "table" and not fits then
    return false, ("The tool returned a table that JSON cannot hold: %s"):format(why)
  end
  -- JSON turns the numbers into strings.
  return true, is_mixed(output) and vim.json.decode(why) or output
end

--- Sends a result for whatever the tool returned.
local function report(run, result)
  -- The metatable of a result may raise an error.
  local is_read, ok, output = pcall(read, result)
  if not is_read then
    ok, output = false, ("The tool returned a table that cannot be read: %s"):format(tostring(ok))
  end
  answer(run, ok, output)
end

--- Ends a call; only the first end counts.
local function finish(run, result)
  if run.over then
    return
  end
  run.over, running[run.call] = true, nil
  -- In a fast event, most of the API is not allowed.
  if vim.in_fast_event() then
    return vim.schedule_wrap(report)(run, result)
  end
  report(run, result)
end

--- Ends a call with an error.
---@param why string A format.
local function fail(run, why, ...)
  finish(run, { success = false, error = why:format(...) })
end

--- Returns true if a tool that returned nothing will call back.
local function calls_back(message, execute)
  local async = message.async
  if async ~= nil or type(execute) ~= "function" then
    return async ~= false
  end
  -- A function with fewer parameters does not get the callback.
  local shape = debug.getinfo(execute, "u")
  return shape.isvararg or shape.nparams >= 3
end

local function start(run, message)
  -- It may have been stopped while it waited.
  if run.over then
    return
  end
  local execute = callbacks.get(message["function"])
  if not execute then
    return fail(run, "The tool %s is no longer registered.", message.tool)
  end
  local context = require("flemma.tools.context").new(message)
  local function callback(result)
    finish(run, result)
  end
  local trace ---@type string?
  local ok, result = xpcall(execute, function(why)
    why = type(why) == "table" and vim.inspect(why) or tostring(why)
    trace = debug.traceback(why, 2)
    return why
  end, message.input, context, callback, run)
  if not ok then
    host.log(("the tool %s: %s"):format(message.tool, trace or result))
    return fail(run, "The tool %s raised an error: %s", message.tool, tostring(result))
  end
  if type(result) == "function" then
    run.cancel = result
    -- It was stopped while `execute` ran, before there was a function to cancel it.
    if run.over and run.stopped then
      pcall(result)
    end
  elseif result ~= nil then
    finish(run, result)
  elseif not run.over and not calls_back(message, execute) then
    local why = "The tool %s returned nothing; it must return { success = true, output = … }, or say `async = true` and "
      .. "call its callback."
    fail(run, why, message.tool)
  end
end

--- Runs a call as soon as Neovim can take it.
---@param message flemma.protocol.ToolCall
function M.tool_call(message)
  local run = { call = message.call, over = false, stopped = false, commands = {} }
  function run.command(argv, done)
    local number = #run.commands + 1
    run.commands[number] = done
    host.send("tool_command", { call = run.call, command = number, argv = argv })
  end
  running[message.call] = run
  queue.push(message.buffer, function()
    start(run, message)
  end)
end

--- Passes the result of a command to its call.
---@param message flemma.protocol.CommandEnded
function M.command_ended(message)
  local run = running[message.call]
  local done = run and run.commands[message.command]
  if done then
    queue.push(message.buffer, function()
      if not run.over then
        done(message)
      end
    end)
  end
end

--- Cancels a call, for whose result the host no longer waits.
---@param message flemma.protocol.ToolStop
function M.tool_stop(message)
  local run = running[message.call]
  if not run then
    return
  end
  running[message.call] = nil
  run.over, run.stopped = true, true
  if run.cancel then
    local ok, why = pcall(run.cancel)
    if not ok then
      host.log(("a tool's cancel function: %s"):format(why))
    end
  end
end

--- Cancels all calls after the host has exited.
function M.stop_all()
  for call in pairs(running) do
    M.tool_stop({ call = call })
  end
end

return M
