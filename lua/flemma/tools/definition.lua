--- Definitions of tools: their validation, and the form in which the host gets them.
---@class flemma.tools.definition
local M = {}

local names = require("flemma.tools.names")

---@class flemma.tools.Result What a tool returns, or gives to its callback.
---@field success boolean
---@field output? any What the model reads: a string, or a table that it gets as JSON.
---@field error? any Why it failed, when `success` is false.

---@class flemma.tools.Definition
---@field name? string What the model calls; the first argument of `register` when absent.
---@field description string What the tool does, for the model.
---@field input_schema? table JSON Schema of the arguments, an object schema.
---@field output_schema? table JSON Schema of the output; added to the description.
---@field strict? boolean Sent to OpenAI as `strict: true`; the schema must meet its rules.
---@field async? boolean Whether `execute` answers through its callback alone.
---@field enabled? boolean|fun(config: table?): boolean Whether the model is offered it; `config` is `tools.<name>` of the options.
---@field timeout? number Seconds a call may take; `tools.default_timeout` when absent.
---@field format_preview? fun(input: table, max_length: integer): string One line that is shown beside a pending call.
---@field tail? boolean Whether a long output is truncated at its start.
---@field requires_approval? boolean Whether a call waits unless a rule approves this tool by its name.
---@field rejected? fun(input: table, buffer: integer): string? What the model reads when the user rejects a call without a reason.
---@field describe? fun(): string Returns a description that is made when the host gets the tool.
---@field execute? fun(input: table, context: flemma.tools.Context, callback: fun(result: flemma.tools.Result)): flemma.tools.Result|fun()|nil Returns a result, or a function that cancels the call, which calls back later.

--- What every provider accepts as a name.
local NAME, LONGEST = "^[%w_-]+$", 64
--- Most levels of a schema, which may also contain itself.
local DEEPEST = 64

---@return string? problem
local function wrong_name(name)
  if type(name) ~= "string" or name == "" then
    return "a tool needs a name, a string"
  elseif not name:match(NAME) or #name > LONGEST then
    return ('the name %s cannot be sent to models; use letters, digits, "_" and "-", at most %d of them'):format(
      vim.inspect(name:sub(1, 100)),
      LONGEST
    )
  end
end

--- Looks for what JSON cannot hold.
---@return string? problem
local function wrong_value(value, path, depth)
  local kind = type(value)
  if kind == "table" then
    if depth > DEEPEST then
      return path .. " contains itself, or is nested too deeply"
    end
    for key, item in pairs(value) do
      local problem = wrong_value(item, ("%s.%s"):format(path, tostring(key)), depth + 1)
      if problem then
        return problem
      end
    end
  elseif kind ~= "string" and kind ~= "number" and kind ~= "boolean" and value ~= vim.NIL then
    return ("%s is a %s, which JSON cannot hold"):format(path, kind)
  end
end

--- Types of the fields.
local KINDS = {
  description = { "string" },
  strict = { "boolean" },
  async = { "boolean" },
  enabled = { "boolean", "function" },
  timeout = { "number" },
  format_preview = { "function" },
  input_schema = { "table" },
  output_schema = { "table" },
}

---@return string? problem
local function wrong_field(definition)
  local required, problem = names.requires_approval(definition)
  problem = problem or names.wrong(definition, "definition", "")
  if problem then
    return problem
  end
  definition.requires_approval = required
  for field, kinds in vim.spairs(KINDS) do
    local value = definition[field]
    local fits = value == nil or vim.tbl_contains(kinds, type(value))
    -- A table with `__call` is as good as a function.
    if not fits and not (vim.tbl_contains(kinds, "function") and vim.is_callable(value)) then
      return ("%s is a %s; it must be a %s"):format(field, type(value), table.concat(kinds, " or a "))
    end
  end
  if type(definition.description) ~= "string" or definition.description == "" then
    return "it needs a description, which tells the model what it does"
  elseif definition.execute ~= nil and not vim.is_callable(definition.execute) then
    return ("execute is a %s; it must be a function"):format(type(definition.execute))
  elseif definition.timeout and (definition.timeout <= 0 or definition.timeout > 86400) then
    return "timeout is in seconds, more than 0 and at most 86400"
  end
  for _, field in ipairs({ "input_schema", "output_schema" }) do
    problem = wrong_value(definition[field] or {}, field, 0)
    if problem then
      return problem
    end
  end
end

--- Returns true for a table that is a tool made of steps, see |flemma.tools.steps|.
---@param given table
---@return boolean
function M.has_steps(given)
  return given.cmds ~= nil or type(given.callback) == "table"
end

--- Validates a definition.
---@param name string? The name that `register` got.
---@param given any
---@return flemma.tools.Definition? definition A copy that has its name.
---@return string? problem If there is no definition.
function M.read(name, given)
  if type(given) ~= "table" then
    local of = name and ('"%s"'):format(tostring(name)) or "it"
    return nil, ("%s is a %s; a definition is a table"):format(of, type(given))
  end
  local problem
  if M.has_steps(given) then
    given, problem = require("flemma.tools.steps").definition(name, given)
    if problem then
      return nil, problem
    end
  end
  name = name or given.name
  problem = wrong_name(name)
  if problem then
    return nil, problem
  elseif given.name ~= nil and given.name ~= name then
    return nil,
      ('"%s" is registered with the name %s inside; they must be the same'):format(name, vim.inspect(given.name))
  end
  local definition = vim.tbl_extend("force", given, { name = name })
  problem = wrong_field(definition)
  if problem then
    return nil, ('"%s": %s'):format(name, problem)
  end
  return definition
end

--- Returns the options of a tool: `tools.<name>`.
---@param name string
---@return table? config A copy.
function M.config(name)
  local config = vim.tbl_get(require("flemma").options, "tools", name)
  return type(config) == "table" and vim.deepcopy(config) or nil
end

--- Returns true if models are offered a tool by default.
---@param definition flemma.tools.Definition
---@return boolean
function M.enabled(definition)
  local enabled = definition.enabled
  if vim.is_callable(enabled) then
    local ok, result = pcall(enabled, M.config(definition.name))
    -- After an error, the tool is not offered.
    return ok and result ~= false and result ~= nil
  end
  return enabled ~= false
end

--- Returns the description that the model reads.
local function description(definition)
  if not definition.describe then
    return definition.description
  end
  local ok, text = pcall(definition.describe)
  if ok then
    return text
  end
  local why = "The system_prompt of the tool %s raised an error, so the model sees its description alone: %s"
  require("flemma.notices").notify({ level = "warn", message = why:format(definition.name, tostring(text)) })
  return definition.description
end

--- Returns a registered tool as the host gets it.
---@param entry flemma.tools.Entry
---@return flemma.protocol.Tool
function M.wire(entry)
  local definition = entry.definition
  return {
    name = definition.name,
    description = description(definition),
    input_schema = definition.input_schema or vim.empty_dict(),
    output_schema = definition.output_schema,
    strict = definition.strict == true,
    enabled = M.enabled(definition),
    async = definition.async,
    timeout = definition.timeout,
    execute = entry.execute,
    preview = entry.preview,
    rejected = entry.rejected,
    tail = definition.tail == true,
    requires_approval = definition.requires_approval == true,
  }
end

return M
