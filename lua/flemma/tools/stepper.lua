--- Calls of tools made of steps: `setup`, the commands and functions, and `on_exit`, which
--- runs once, however the call ends. The host runs the commands.
---@class flemma.tools.stepper
local M = {}

--- Where such tools expect the names of roles. Provided if CodeCompanion is not installed.
local FOREIGN = "codecompanion.config"
local CONSTANTS = { constants = { USER_ROLE = "user", LLM_ROLE = "llm", SYSTEM_ROLE = "system" } }
--- Most calls of one tool that are kept from their preview until the user decides.
local MOST_PREPARED = 32

---@class flemma.tools.Agent What `handlers` and `output` get.
---@field chat table `add_buf_message` and `add_message` add to what the model reads.
---@field tool table The tool, with the call's arguments in `request.action`.
---@field stdout any[] Output of the steps that succeeded, in order.
---@field stderr any[]
---@field status "success"|"error"
---@field bufnr integer?

---@class flemma.tools.StepCall
---@field agent flemma.tools.Agent
---@field self table A copy of the tool.
---@field actions table The arguments.
---@field said string[] Messages of the tool's functions to the model.
---@field shown any[] Output of the steps that succeeded, for the model if nothing was said.
---@field over boolean
---@field callback fun(result: flemma.tools.Result)
---@field run flemma.tools.Run?
---@field env table

--- Calls that were set up for their preview and not decided on yet.
---@type table<flemma.tools.Steps, flemma.tools.StepCall[]>
local prepared = setmetatable({}, { __mode = "k" })

--- Calls a function of a tool.
---@return boolean ok
---@return any result
local function protected(call, ...)
  if not call then
    return true
  end
  local shim = not require("flemma.modules").exists(FOREIGN)
  if shim then
    package.preload[FOREIGN] = function()
      return CONSTANTS
    end
  end
  local arguments, count = { ... }, select("#", ...)
  local ok, result = require("flemma.notices").quietly(function()
    return call(unpack(arguments, 1, count))
  end)
  -- Other plugins must not mistake the shim for the module.
  if shim then
    package.preload[FOREIGN], package.loaded[FOREIGN] = nil, nil
  end
  return ok, result
end

local function describe(value)
  return type(value) == "table" and vim.inspect(value) or tostring(value)
end

local function text_of(list)
  local function text(item)
    return type(item) == "table" and vim.json.encode(item) or tostring(item)
  end
  return table.concat(vim.tbl_map(text, list), "\n")
end

--- Makes a call with a copy of its tool, which it may change.
local function new(tool, actions, buffer)
  local call = { said = {}, shown = {}, actions = actions, over = false, env = {} }
  local function add(_, message)
    local content = type(message) == "table" and message.content or message
    -- After the end, the model reads nothing more.
    if not call.over and content ~= nil then
      call.said[#call.said + 1] = tostring(content)
    end
  end
  local self = vim.deepcopy(tool) --[[@as table]]
  self.request = { _attr = { name = tool.name }, action = vim.deepcopy(actions) }
  self.chat = { bufnr = buffer, add_buf_message = add, add_message = add }
  call.self = self
  call.agent = { chat = self.chat, tool = self, stdout = {}, stderr = {}, status = "success", bufnr = buffer }
  return call
end

--- Calls one of `output`.
---@return boolean ok
---@return any result
local function output(call, name, ...)
  return protected((call.self.output or {})[name], call.agent, ...)
end

--- Ends a call; only the first end counts.
local function finish(call, result)
  if call.over then
    return
  end
  call.over = true
  local ok, why = protected((call.self.handlers or {}).on_exit, call.agent)
  -- The result is decided already.
  if not ok then
    require("flemma.host").log(("handlers.on_exit of %s: %s"):format(tostring(call.self.name), why))
  end
  if result then
    call.callback(result)
  end
end

local function fail(call, why)
  finish(call, { success = false, error = describe(why) })
end

--- Ends a call after a step that failed.
---@param default string What the model reads, unless the tool has a message.
local function on_error(call, step, stderr, stdout, default)
  call.agent.status = "error"
  vim.list_extend(call.agent.stderr, stderr)
  local ok, why = output(call, "error", step, stderr, stdout)
  if not ok then
    return fail(call, ("output.error raised an error: %s"):format(why))
  end
  fail(call, #call.said > 0 and table.concat(call.said, "\n") or default)
end

--- Runs `setup`, and makes the values for commands.
---@return string? problem
local function set_up(call)
  local ok, why = protected((call.self.handlers or {}).setup, call.agent)
  if not ok then
    return ("handlers.setup raised an error: %s"):format(why)
  end
  local made, values = protected(call.self.env, vim.deepcopy(call.self.request.action))
  if not made then
    return ("env raised an error: %s"):format(values)
  end
  call.env = type(values) == "table" and values or {}
end

--- Finds the call with these arguments that was set up for its preview.
---@return integer? index
local function find(tool, actions)
  for index, call in ipairs(prepared[tool] or {}) do
    if vim.deep_equal(call.actions, actions) then
      return call, index
    end
  end
end

--- Returns a call that is set up: the one that was shown, or a new one.
---@return string? problem
local function take(tool, actions, buffer)
  local call, index = find(tool, actions)
  if call then
    table.remove(prepared[tool], index)
    -- The preview was made without a buffer.
    call.agent.bufnr, call.agent.chat.bufnr = buffer, buffer
    return call
  end
  call = new(tool, actions, buffer)
  return call, set_up(call)
end

local next_step

--- Continues after a step that succeeded.
---@param stderr any[] Warnings of a command, for example.
---@param result any The input of the next step.
local function on_success(call, index, step, stdout, stderr, result)
  vim.list_extend(call.agent.stdout, stdout)
  vim.list_extend(call.agent.stderr, stderr)
  vim.list_extend(vim.list_extend(call.shown, stdout), stderr)
  local ok, why = output(call, "success", step, stdout)
  if not ok then
    return fail(call, ("output.success raised an error: %s"):format(why))
  end
  next_step(call, index + 1, result)
end

--- Reads what a function returned or passed to its handler.
local function on_result(call, index, step, result)
  local status = type(result) == "table" and result.status
  -- The call may have been cancelled in the meantime.
  if call.over then
    return
  elseif status == "success" then
    on_success(call, index, step, { result.data }, {}, result.data)
  elseif status == "error" then
    local data = result.data == nil and "The tool failed and gave no reason." or result.data
    on_error(call, step, { data }, {}, text_of({ data }))
  else
    local why = 'Step %d must give { status = "success" or "error", data = … }, and gave %s.'
    fail(call, why:format(index, vim.inspect(result)))
  end
end

local function run_function(call, index, step, input)
  local answered = false
  local function answer(result)
    -- A function may both return a result and call the handler.
    if answered then
      return
    end
    answered = true
    -- In a fast event, most of the API is not allowed.
    if vim.in_fast_event() then
      vim.schedule_wrap(on_result)(call, index, step, result)
    else
      on_result(call, index, step, result)
    end
  end
  local ok, result = protected(step, call.self, call.actions, input, answer)
  if not ok then
    return on_error(call, step, { result }, {}, ("Step %d raised an error: %s"):format(index, tostring(result)))
  end
  -- A function that cannot call the handler has to return something.
  local shape = type(step) == "function" and debug.getinfo(step, "u")
  if result ~= nil or shape and shape.nparams < 4 and not shape.isvararg then
    answer(result)
  end
end

--- Returns the words of a command, with values in place of `${name}`. Each stays one word.
local function words_of(step, values)
  return vim.tbl_map(function(word)
    return (
      word:gsub("%${([%w_]+)}", function(name)
        local value = values[name]
        -- A word without a value stays as it is.
        return value ~= nil and tostring(value) or nil
      end)
    )
  end, step.cmd or step)
end

local function run_command(call, index, step)
  local argv = words_of(step, call.env)
  call.run.command(argv, function(ended)
    if call.over then
      return
    elseif ended.problem then
      return on_error(call, argv, { ended.problem }, {}, ended.problem)
    elseif ended.code == 0 then
      return on_success(call, index, argv, ended.stdout, ended.stderr, table.concat(ended.stdout, "\n"))
    end
    local how = ended.code and ("exited with code %d"):format(ended.code) or "was ended by a signal"
    local last = ("The command %s %s."):format(vim.inspect(argv[1]), how)
    local all = vim.iter({ ended.stdout, ended.stderr, last }):flatten():join("\n")
    on_error(call, argv, ended.stderr, ended.stdout, all)
  end)
end

--- Runs a step, or ends the call after the last one.
---@param call flemma.tools.StepCall
---@param index integer
---@param input any Result of the step before.
function next_step(call, index, input)
  local step = call.self.cmds[index]
  if call.over then
    return
  elseif step == nil then
    finish(call, { success = true, output = text_of(#call.said > 0 and call.said or call.shown) })
  elseif vim.is_callable(step) then
    run_function(call, index, step, input)
  elseif type(step) == "table" then
    run_command(call, index, step)
  else
    fail(call, ("Step %d is a %s, neither a command nor a function."):format(index, type(step)))
  end
end

--- Runs a call.
---@param tool flemma.tools.Steps
---@param actions table The arguments.
---@param context flemma.tools.Context
---@param callback fun(result: flemma.tools.Result)
---@param run flemma.tools.Run
---@return fun() cancel
function M.run(tool, actions, context, callback, run)
  local call, problem = take(tool, actions, context.bufnr)
  call.callback, call.run = callback, run
  if problem then
    fail(call, problem)
  end
  -- Does nothing after a failed setup, which ended the call.
  next_step(call, 1, nil)
  return function()
    finish(call)
  end
end

--- Returns the tool's own preview of a call, and sets the call up, once.
---@param tool flemma.tools.Steps
---@param actions table
---@return string? text Nil: the host makes one.
function M.prompt(tool, actions)
  local call = find(tool, actions)
  if not call then
    call = new(tool, actions)
    -- A call whose `setup` fails is set up again, and fails, when it runs.
    local problem = set_up(call)
    assert(not problem, problem)
    local list = prepared[tool] or {}
    prepared[tool] = list
    list[#list + 1] = call
    -- The oldest call is set up again if it runs.
    if #list > MOST_PREPARED then
      table.remove(list, 1)
    end
  end
  if (call.self.output or {}).prompt then
    local ok, text = output(call, "prompt", call.self)
    return assert(ok and type(text) == "string" and text, text)
  end
end

--- Returns what the model reads of a call that the user rejected.
---@param tool flemma.tools.Steps
---@param actions table
---@param buffer integer
---@return string? text Nil: the host's general text.
function M.rejected(tool, actions, buffer)
  local call, problem = take(tool, actions, buffer)
  local ok, why = not problem, problem
  if ok then
    local first = (call.self.cmds or {})[1]
    local words = type(first) == "table" and not vim.is_callable(first) and words_of(first, call.env) or {}
    ok, why = output(call, "rejected", words)
  end
  finish(call)
  if not ok then
    error(why, 0)
  end
  return #call.said > 0 and table.concat(call.said, "\n") or nil
end

return M
