--- Runs registered tools for the host: starts them, passes a cancel on, and says how
--- they ended, once for each. How long one may take is known to the host alone.
---@class flemma.tools.calls
local M = {}

local callbacks = require("flemma.callbacks")
local host = require("flemma.host")
local queue = require("flemma.queue")

--- A message is at most this long, in bytes: reading a longer one holds up others.
local CHUNK = 48 * 1024
--- A tool returns no more than this.
local MOST = 16 * 1024 * 1024

---@class flemma.tools.Run
---@field call integer
---@field over boolean Whether it has ended or was stopped.
---@field stopped boolean
---@field cancel fun()? Stops it.
---@field commands table<integer, fun(ended: flemma.protocol.CommandEnded)> What waits for commands.
---@field command fun(argv: string[], done: fun(ended: flemma.protocol.CommandEnded)) Has the host run one.

---@type table<integer, flemma.tools.Run> By the host's number of the call.
local running = {}

--- Tells the host what a call came to.
---@param run flemma.tools.Run
---@param ok boolean
---@param output any A string, or what the model gets as JSON.
local function answer(run, ok, output)
  if type(output) ~= "string" then
    host.send("tool_returned", { call = run.call, ok = ok, value = output })
    return
  end
  for at = 1, math.max(#output, 1), CHUNK do
    local more = at + CHUNK <= #output
    host.send("tool_returned", { call = run.call, ok = ok, text = output:sub(at, at + CHUNK - 1), more = more })
  end
end

--- A value as text. Lua itself writes a large whole number with an exponent, without
--- its last digits.
---@param value any
---@return string
local function text_of(value)
  if type(value) == "number" and value % 1 == 0 and math.abs(value) < 2 ^ 63 then
    return ("%d"):format(value)
  end
  return tostring(value)
end

--- Whether a table, or one in it, is a list and has names as well. On the way to the
--- host its numbers could be no names.
---@param value any
---@return boolean
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

--- What a tool returned, as far as it can be sent.
---@param result any
---@return boolean ok
---@return any output
local function read(result)
  if type(result) ~= "table" then
    return false,
      ("The tool returned a %s; it must return { success = true, output = … } or { success = false, error = … }."):format(
        type(result)
      )
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
  -- What is no JSON would be lost on the way.
  local fits, why = pcall(vim.json.encode, output)
  if type(output) == "table" and not fits then
    return false, ("The tool returned a table that is no JSON: %s"):format(why)
  end
  -- JSON writes such numbers as names.
  return true, is_mixed(output) and vim.json.decode(why) or output
end

--- Tells the host how a call ended, whatever the tool returned.
---@param run flemma.tools.Run
---@param result any
local function report(run, result)
  local is_read, ok, output = pcall(read, result)
  if not is_read then
    ok, output = false, ("The tool returned a table that cannot be read: %s"):format(tostring(ok))
  end
  answer(run, ok, output)
end

--- A call has ended; a second end is none.
---@param run flemma.tools.Run
---@param result any
local function finish(run, result)
  if run.over then
    return
  end
  run.over, running[run.call] = true, nil
  if vim.in_fast_event() then
    vim.schedule(function()
      report(run, result)
    end)
    return
  end
  report(run, result)
end

---@param tool string
---@param why any
---@return flemma.tools.Result
local function failure(tool, why)
  local text = type(why) == "table" and vim.inspect(why) or tostring(why)
  return { success = false, error = ("The tool %s raised an error: %s"):format(tool, text) }
end

--- Whether a tool that returned nothing means to call back.
---@param message flemma.protocol.ToolCall
---@param execute function
---@return boolean
local function calls_back(message, execute)
  local async = message.async
  if async ~= nil or type(execute) ~= "function" then
    return async ~= false
  end
  local shape = debug.getinfo(execute, "u")
  return shape.isvararg or shape.nparams >= 3
end

---@param run flemma.tools.Run
---@param message flemma.protocol.ToolCall
local function start(run, message)
  if run.over then
    return
  end
  local execute = callbacks.get(message["function"])
  if not execute then
    return finish(run, { success = false, error = ("The tool %s is registered no more."):format(message.tool) })
  end
  local context = require("flemma.tools.context").new(message)
  local trace
  local ok, result = xpcall(
    execute,
    function(why)
      trace = debug.traceback(type(why) == "table" and vim.inspect(why) or tostring(why), 2)
      return why
    end,
    message.input,
    context,
    function(result)
      finish(run, result)
    end,
    run
  )
  if not ok then
    host.log(("the tool %s: %s"):format(message.tool, trace or result))
    return finish(run, failure(message.tool, result))
  end
  if type(result) == "function" then
    run.cancel = result
    if run.over and run.stopped then
      pcall(result)
    end
  elseif result ~= nil then
    finish(run, result)
  elseif not run.over and not calls_back(message, execute) then
    finish(run, {
      success = false,
      error = (
        "The tool %s returned nothing; it must return { success = true, output = … }, or say `async = true` and "
        .. "call its callback."
      ):format(message.tool),
    })
  end
end

--- The host wants a call to run. It starts when Neovim can take it, as a change of
--- the chat would.
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

--- A command of a call has ended.
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

--- The host waits for a call no more.
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

--- Stops everything: the host is gone.
function M.stop_all()
  for call in pairs(running) do
    M.tool_stop({ call = call })
  end
end

return M
