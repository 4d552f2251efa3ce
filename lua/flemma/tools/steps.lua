--- Tools made of steps, `cmds`: commands, which the host runs one after another, and
--- functions. Makes a definition of one; how the steps follow each other is in
--- |flemma.tools.stepper|.
---@class flemma.tools.steps
local M = {}

local example = require("flemma.tools.example")

---@class flemma.tools.Steps
---@field name? string
---@field description? string For the model, above `system_prompt`.
---@field cmds (string[]|{ cmd: string[] }|function)[] What is done, in this order.
---@field schema? table An example of a call, `{ action = { name = "value" } }`, or a JSON Schema.
---@field system_prompt? string|fun(schema: table, xml2lua: table): string
---@field env? fun(arguments: table): table? Values for `${name}` in commands.
---@field handlers? { setup?: fun(agent: table), on_exit?: fun(agent: table) }
---@field output? { success?: function, error?: function, prompt?: function, rejected?: function }
---@field opts? { requires_approval?: boolean }
---@field callback? flemma.tools.Steps The tool, when only its description and `opts` stand outside.

--- Above a prompt that asks for a block of XML.
local NATIVE = "Call this tool like any other. Where XML is described below, give what stands in `action` as the "
  .. "arguments of the call instead."

---@param value any
---@return boolean
local function is_command(value)
  value = type(value) == "table" and value.cmd or value
  if type(value) ~= "table" or not vim.islist(value) or #value == 0 then
    return false
  end
  return vim.iter(value):all(function(word)
    return type(word) == "string"
  end)
end

---@param tool flemma.tools.Steps
---@param group "handlers"|"output"
---@param names string[]
---@return string? problem
local function wrong_functions(tool, group, names)
  local given = tool[group]
  if given ~= nil and type(given) ~= "table" then
    return ("%s is a %s; it must be a table of functions"):format(group, type(given))
  end
  for _, name in ipairs(names) do
    local value = (given or {})[name]
    if value ~= nil and not vim.is_callable(value) then
      return ("%s.%s is a %s; it must be a function"):format(group, name, type(value))
    end
  end
end

---@param tool flemma.tools.Steps
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
  return wrong_functions(tool, "handlers", { "setup", "on_exit" })
    or wrong_functions(tool, "output", { "success", "error", "prompt", "rejected" })
end

--- What the model is told: the description, and the prompt in the tool's own words.
---@param given flemma.tools.Steps
---@param tool flemma.tools.Steps
---@return string
local function describe(given, tool)
  local prompt = tool.system_prompt
  if vim.is_callable(prompt) then
    prompt = prompt(vim.deepcopy(tool.schema or {}), require("flemma.tools.xml"))
  end
  local parts = { given.description or tool.description }
  if type(prompt) == "string" and prompt ~= "" then
    if not example.json(tool.schema or {}) then
      parts[#parts + 1] = NATIVE
    end
    parts[#parts + 1] = prompt
  end
  return table.concat(parts, "\n\n")
end

--- Whether a table that was given to `register` is a tool made of steps.
---@param given table
---@return boolean
function M.is(given)
  return given.cmds ~= nil or type(given.callback) == "table"
end

--- The definition of such a tool.
---@param name string?
---@param given flemma.tools.Steps
---@return flemma.tools.Definition? definition
---@return string? problem Without a definition.
function M.definition(name, given)
  local tool = given.callback or given
  local problem = wrong(tool)
  name = name or given.name or tool.name
  if problem then
    return nil, ('"%s": %s'):format(tostring(name), problem)
  end
  local json = example.json(tool.schema or {})
  local output, handlers = tool.output or {}, tool.handlers or {}
  local function stepper()
    return require("flemma.tools.stepper")
  end
  return {
    name = tool.name or given.name or name,
    description = given.description or tool.description or name,
    describe = (tool.system_prompt ~= nil) and function()
      return describe(given, tool)
    end or nil,
    input_schema = json or example.schema(tool.schema or {}),
    async = true,
    -- What commands print is read from its end.
    tail = not vim.iter(tool.cmds):all(vim.is_callable),
    enabled = given.enabled,
    timeout = given.timeout or tool.timeout,
    strict = given.strict or tool.strict,
    requires_approval = (given.opts or tool.opts or {}).requires_approval == true,
    execute = function(input, context, callback, run)
      return stepper().run(tool, json and input or example.texts(input), context, callback, run)
    end,
    -- Also what `setup` says has to come before the user decides.
    format_preview = (output.prompt or handlers.setup) and function(input)
      return stepper().prompt(tool, json and input or example.texts(input))
    end or nil,
    rejected = (output.rejected or handlers.setup or handlers.on_exit) and function(input, buffer)
      return stepper().rejected(tool, json and input or example.texts(input), buffer)
    end or nil,
  }
end

return M
