--- Definitions of tools made of steps (`cmds`): commands, which the host runs, and
--- functions. |flemma.tools.stepper| runs their calls.
---@class flemma.tools.steps
local M = {}

local example = require("flemma.tools.example")
local names = require("flemma.tools.names")

---@class flemma.tools.Steps
---@field name? string
---@field description? string For the model, above `system_prompt`.
---@field cmds (string[]|{ cmd: string[] }|function)[] The steps, in order.
---@field schema? table An example of a call, `{ action = { name = "value" } }`, or a JSON Schema.
---@field system_prompt? string|fun(schema: table, xml2lua: table): string
---@field env? fun(arguments: table): table? Values for `${name}` in commands.
---@field handlers? { setup?: fun(agent: table), on_exit?: fun(agent: table) }
---@field output? { success?: function, error?: function, prompt?: function, rejected?: function }
---@field opts? { requires_approval?: boolean }
---@field callback? flemma.tools.Steps The tool, if only its description and `opts` are outside.

--- Added above a prompt that asks for a block of XML.
local NATIVE = "Call this tool like any other. Where XML is described below, give the contents of `action` as "
  .. "the arguments of the call."

local function is_command(value)
  value = type(value) == "table" and value.cmd or value
  return type(value) == "table"
    and vim.islist(value)
    and #value > 0
    and vim.iter(value):all(function(word)
      return type(word) == "string"
    end)
end

---@return string? problem
local function wrong_functions(tool, group)
  local given = tool[group] or {}
  if type(given) ~= "table" then
    return ("%s is a %s; it must be a table of functions"):format(group, type(given))
  end
  for _, name in ipairs(names.FIELDS[group]) do
    local value = given[name]
    if value ~= nil and not vim.is_callable(value) then
      return ("%s.%s is a %s; it must be a function"):format(group, name, type(value))
    end
  end
  return names.wrong(given, group, group .. ".")
end

---@return string? problem
local function wrong(tool)
  if type(tool.cmds) ~= "table" or not vim.islist(tool.cmds) then
    return "cmds must be a list of commands and functions"
  end
  for index, step in ipairs(tool.cmds) do
    if not vim.is_callable(step) and not is_command(step) then
      return ('cmds[%d] must be a function or a list of strings such as { "make", "test" }'):format(index)
    end
  end
  if tool.env ~= nil and not vim.is_callable(tool.env) then
    return ("env is a %s; it must be a function"):format(type(tool.env))
  elseif tool.schema ~= nil and type(tool.schema) ~= "table" then
    return ("schema is a %s; it must be a table"):format(type(tool.schema))
  end
  return wrong_functions(tool, "handlers") or wrong_functions(tool, "output")
end

--- Returns the description and the tool's own prompt.
local function describe(given, tool)
  local prompt, schema = tool.system_prompt, tool.schema or {}
  if vim.is_callable(prompt) then
    prompt = prompt(vim.deepcopy(schema), require("flemma.tools.xml"))
  end
  local parts = { given.description or tool.description }
  if type(prompt) == "string" and prompt ~= "" then
    vim.list_extend(parts, example.json(schema) and { prompt } or { NATIVE, prompt })
  end
  return table.concat(parts, "\n\n")
end

--- Turns such a tool into a definition.
---@param name string?
---@param given flemma.tools.Steps
---@return flemma.tools.Definition? definition
---@return string? problem If there is no definition.
function M.definition(name, given)
  local tool = given.callback or given
  local problem = wrong(tool)
  for _, part in ipairs({ given, given ~= tool and tool or nil }) do
    problem = problem or names.wrong(part, "steps", "") or names.wrong(part.opts, "opts", "opts.")
  end
  local required, wrong_approval = names.requires_approval(given, tool, given.opts, tool.opts)
  problem = problem or wrong_approval
  name = name or given.name or tool.name
  if problem then
    return nil, ('"%s": %s'):format(tostring(name), problem)
  end
  local json = example.json(tool.schema or {})
  local output, handlers = tool.output or {}, tool.handlers or {}
  --- Calls a function of the stepper with the arguments that the tool expects.
  local function stepper(action)
    return function(input, ...)
      return require("flemma.tools.stepper")[action](tool, json and input or example.texts(input), ...)
    end
  end
  return {
    name = tool.name or given.name or name,
    description = given.description or tool.description or name,
    describe = (tool.system_prompt ~= nil) and function()
      return describe(given, tool)
    end or nil,
    input_schema = json or example.schema(tool.schema or {}),
    async = true,
    -- The end of a command's output says more than its start.
    tail = not vim.iter(tool.cmds):all(vim.is_callable),
    enabled = given.enabled,
    timeout = given.timeout or tool.timeout,
    strict = given.strict or tool.strict,
    requires_approval = required,
    execute = stepper("run"),
    -- `setup` may have something to say before the user decides.
    format_preview = (output.prompt or handlers.setup) and stepper("prompt") or nil,
    rejected = (output.rejected or handlers.setup or handlers.on_exit) and stepper("rejected") or nil,
  }
end

return M
