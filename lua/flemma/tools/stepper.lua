--- One call of a tool that is made of steps: from `setup` over its commands and
--- functions to `on_exit`, which comes once, however the call ends. A command is the
--- host's to run.
---@class flemma.tools.stepper
local M = {}

--- What tools of this shape ask CodeCompanion for, where that is not installed.
local FOREIGN = "codecompanion.config"
local CONSTANTS = { constants = { USER_ROLE = "user", LLM_ROLE = "llm", SYSTEM_ROLE = "system" } }

---@class flemma.tools.Agent What `handlers` and `output` get.
---@field chat table `add_buf_message` and `add_message` add to what the model reads.
---@field tool table The tool, with the call's arguments in `request.action`.
---@field stdout any[] What the steps that worked have said, in order.
---@field stderr any[]
---@field status "success"|"error"
---@field bufnr integer?

---@class flemma.tools.StepCall
---@field agent flemma.tools.Agent
---@field self table
---@field actions table
---@field said string[] What the tool's own functions tell the model.
---@field over boolean
---@field callback fun(result: flemma.tools.Result)
---@field run flemma.tools.Run?
---@field env table

--- Calls a function of the tool's.
---@param call function?
---@return boolean ok
---@return any result
local function protected(call, ...)
  if not call then
    return true
  end
  local shim = not package.loaded[FOREIGN]
    and not package.preload[FOREIGN]
    and not require("flemma.modules").exists(FOREIGN)
  if shim then
    package.preload[FOREIGN] = function()
      return CONSTANTS
    end
  end
  local arguments = vim.F.pack_len(...)
  local ok, result = require("flemma.notices").quietly(function()
    return call(vim.F.unpack_len(arguments))
  end)
  if shim then
    package.preload[FOREIGN], package.loaded[FOREIGN] = nil, nil
  end
  return ok, result
end

--- A fresh call: what one does to its tool is its own affair.
---@param tool flemma.tools.Steps
---@param actions table
---@param buffer integer?
---@return flemma.tools.StepCall
local function begin(tool, actions, buffer)
  local call = { said = {}, actions = actions, over = false, env = {} }
  local function add(_, message)
    local content = type(message) == "table" and message.content or message
    if not call.over and content ~= nil then
      call.said[#call.said + 1] = tostring(content)
    end
  end
  local chat = { bufnr = buffer, add_buf_message = add, add_message = add }
  local self = vim.deepcopy(tool) --[[@as table]]
  self.request = { _attr = { name = tool.name }, action = vim.deepcopy(actions) }
  self.chat = chat
  call.self = self
  call.agent = { chat = chat, tool = self, stdout = {}, stderr = {}, status = "success", bufnr = buffer }
  return call
end

---@param list any[]
---@return string
local function text_of(list)
  return table.concat(
    vim.tbl_map(function(item)
      return type(item) == "table" and vim.json.encode(item) or tostring(item)
    end, list),
    "\n"
  )
end

--- Ends a call, once.
---@param call flemma.tools.StepCall
---@param result flemma.tools.Result?
local function finish(call, result)
  if call.over then
    return
  end
  call.over = true
  local ok, why = protected((call.self.handlers or {}).on_exit, call.agent)
  if not ok then
    require("flemma.host").log(("handlers.on_exit of %s: %s"):format(tostring(call.self.name), why))
  end
  if result then
    call.callback(result)
  end
end

---@param call flemma.tools.StepCall
---@param why any
local function fail(call, why)
  finish(call, { success = false, error = type(why) == "table" and vim.inspect(why) or tostring(why) })
end

--- A step did not work: no other follows.
---@param call flemma.tools.StepCall
---@param step any
---@param stderr any[]
---@param stdout any[]
---@param default string What the model reads, unless the tool has words of its own.
local function on_error(call, step, stderr, stdout, default)
  call.agent.status = "error"
  vim.list_extend(call.agent.stderr, stderr)
  local ok, why = protected((call.self.output or {}).error, call.agent, step, stderr, stdout)
  if not ok then
    return fail(call, ("output.error raised an error: %s"):format(why))
  end
  fail(call, #call.said > 0 and table.concat(call.said, "\n") or default)
end

--- Calls that were shown and not decided on yet: `setup` has run for them.
---@type table<flemma.tools.Steps, flemma.tools.StepCall[]>
local prepared = setmetatable({}, { __mode = "k" })
--- Most of them for one tool; of a call that is never decided on nothing else is heard.
local MOST_PREPARED = 32

--- Has the tool set a call up and makes the values for its commands.
---@param call flemma.tools.StepCall
---@return string? problem
local function set_up(call)
  local ok, why = protected((call.self.handlers or {}).setup, call.agent)
  if not ok then
    return ("handlers.setup raised an error: %s"):format(why)
  elseif call.self.env then
    local made, values = protected(call.self.env, vim.deepcopy(call.self.request.action))
    if not made then
      return ("env raised an error: %s"):format(values)
    end
    call.env = type(values) == "table" and values or {}
  end
end

--- The call with these arguments that was set up when it was shown.
---@param tool flemma.tools.Steps
---@param actions table
---@param take boolean Whether it is decided on now.
---@return flemma.tools.StepCall?
local function find(tool, actions, take)
  for index, call in ipairs(prepared[tool] or {}) do
    if vim.deep_equal(call.actions, actions) then
      return take and table.remove(prepared[tool], index) or call
    end
  end
end

--- A call that is set up: the one that was shown, or a fresh one.
---@param tool flemma.tools.Steps
---@param actions table
---@param buffer integer?
---@return flemma.tools.StepCall
---@return string? problem
local function begun(tool, actions, buffer)
  local call = find(tool, actions, true)
  if call then
    call.agent.bufnr, call.agent.chat.bufnr = buffer, buffer
    return call
  end
  call = begin(tool, actions, buffer)
  return call, set_up(call)
end

local next_step

--- A step worked.
---@param call flemma.tools.StepCall
---@param index integer
---@param step any
---@param stdout any[] What it said.
---@param result any What the next step gets.
local function on_success(call, index, step, stdout, result)
  vim.list_extend(call.agent.stdout, stdout)
  local ok, why = protected((call.self.output or {}).success, call.agent, step, stdout)
  if not ok then
    return fail(call, ("output.success raised an error: %s"):format(why))
  end
  next_step(call, index + 1, result)
end

--- Takes what a function said, the first time it says anything.
---@param call flemma.tools.StepCall
---@param index integer
---@param step function
---@return fun(result: any)
local function handler(call, index, step)
  local answered = false
  local function take(result)
    if call.over then
      return
    end
    local status = type(result) == "table" and result.status
    if status == "success" then
      local data = result.data
      on_success(call, index, step, data == nil and {} or { data }, data)
    elseif status == "error" then
      local data = result.data == nil and "The tool failed and gave no reason." or result.data
      on_error(call, step, { data }, {}, text_of({ data }))
    else
      fail(
        call,
        ('Step %d must give { status = "success" or "error", data = … }, and gave %s.'):format(
          index,
          vim.inspect(result)
        )
      )
    end
  end
  return function(result)
    if answered then
      return
    end
    answered = true
    if vim.in_fast_event() then
      vim.schedule(function()
        take(result)
      end)
    else
      take(result)
    end
  end
end

---@param call flemma.tools.StepCall
---@param index integer
---@param step function
---@param input any
local function run_function(call, index, step, input)
  local take = handler(call, index, step)
  local ok, result = protected(step, call.self, call.actions, input, take)
  if not ok then
    return on_error(call, step, { result }, {}, ("Step %d raised an error: %s"):format(index, tostring(result)))
  end
  local shape = type(step) == "function" and debug.getinfo(step, "u")
  if result ~= nil then
    take(result)
  elseif shape and shape.nparams < 4 and not shape.isvararg then
    take(nil)
  end
end

--- Puts values in the place of `${name}`. Each stays the one word that it is in.
---@param word string
---@param values table
---@return string
local function filled(word, values)
  return (
    word:gsub("%${([%w_]+)}", function(name)
      local value = values[name]
      return value ~= nil and tostring(value) or nil
    end)
  )
end

---@param call flemma.tools.StepCall
---@param index integer
---@param step string[]|{ cmd: string[] }
local function run_command(call, index, step)
  local argv = vim.tbl_map(function(word)
    return filled(word, call.env)
  end, step.cmd or step)
  call.run.command(argv, function(ended)
    if call.over then
      return
    elseif ended.problem then
      return on_error(call, argv, { ended.problem }, {}, ended.problem)
    elseif ended.code == 0 then
      return on_success(call, index, argv, ended.stdout, table.concat(ended.stdout, "\n"))
    end
    local all = vim.list_extend(vim.list_extend({}, ended.stdout), ended.stderr)
    all[#all + 1] = ("The command %s ended with %s."):format(
      vim.inspect(argv[1]),
      ended.code and ("code %d"):format(ended.code) or "a signal"
    )
    on_error(call, argv, ended.stderr, ended.stdout, table.concat(all, "\n"))
  end)
end

--- Takes the next step, or ends the call behind the last.
---@param call flemma.tools.StepCall
---@param index integer
---@param input any What the step before gave.
function next_step(call, index, input)
  local step = call.self.cmds[index]
  if call.over then
    return
  elseif step == nil then
    local said = #call.said > 0 and call.said or call.agent.stdout
    return finish(call, { success = true, output = text_of(said) })
  elseif vim.is_callable(step) then
    return run_function(call, index, step, input)
  elseif type(step) == "table" then
    return run_command(call, index, step)
  end
  fail(call, ("Step %d is a %s, neither a command nor a function."):format(index, type(step)))
end

--- Runs a call.
---@param tool flemma.tools.Steps
---@param actions table Its arguments.
---@param context flemma.tools.Context
---@param callback fun(result: flemma.tools.Result)
---@param run flemma.tools.Run
---@return fun() cancel
function M.run(tool, actions, context, callback, run)
  local call, problem = begun(tool, actions, context.bufnr)
  call.callback, call.run = callback, run
  if problem then
    fail(call, problem)
  end
  next_step(call, 1, nil)
  return function()
    finish(call)
  end
end

--- What stands beside a call that waits, in the tool's words. Sets the call up, once.
---@param tool flemma.tools.Steps
---@param actions table
---@return string? text Without one the general words are shown.
function M.prompt(tool, actions)
  local call = find(tool, actions, false)
  if not call then
    call = begin(tool, actions)
    local problem = set_up(call)
    -- It is set up anew, and fails, when it runs.
    assert(not problem, problem)
    local list = prepared[tool] or {}
    prepared[tool] = list
    list[#list + 1] = call
    if #list > MOST_PREPARED then
      table.remove(list, 1)
    end
  end
  local prompt = (call.self.output or {}).prompt
  if not prompt then
    return nil
  end
  local ok, text = protected(prompt, call.agent, call.self)
  return assert(ok and type(text) == "string" and text, text)
end

--- The words of the first command, or nothing when a function comes first.
---@param call flemma.tools.StepCall
---@return string[]
local function first_command(call)
  local step = (call.self.cmds or {})[1]
  if type(step) ~= "table" or vim.is_callable(step) then
    return {}
  end
  return vim.tbl_map(function(word)
    return filled(word, call.env)
  end, step.cmd or step)
end

--- The user refused a call: what the model is told of it, in the tool's words.
---@param tool flemma.tools.Steps
---@param actions table
---@param buffer integer
---@return string?
function M.rejected(tool, actions, buffer)
  local call, problem = begun(tool, actions, buffer)
  local ok, why = not problem, problem
  if ok then
    ok, why = protected((call.self.output or {}).rejected, call.agent, first_command(call))
  end
  finish(call)
  if not ok then
    error(why, 0)
  end
  return #call.said > 0 and table.concat(call.said, "\n") or nil
end

return M
