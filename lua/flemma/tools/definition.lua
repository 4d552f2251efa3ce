--- What a tool's definition must be, and the form in which it travels to the host.
--- Tools made of commands and functions become such definitions in |flemma.tools.steps|.
---@class flemma.tools.definition
local M = {}

--- What every provider takes as a name.
local NAME, LONGEST = "^[%w_-]+$", 64
--- A schema is no deeper than this; one that holds itself is deeper than anything.
local DEEPEST = 64

---@param name any
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

--- Whether a value can travel as JSON.
---@param value any
---@param path string
---@param depth integer
---@return string? problem
local function wrong_value(value, path, depth)
  local kind = type(value)
  if kind == "table" then
    if depth > DEEPEST then
      return path .. " holds itself, or is nested too deeply"
    end
    for key, item in pairs(value) do
      local problem = wrong_value(item, ("%s.%s"):format(path, tostring(key)), depth + 1)
      if problem then
        return problem
      end
    end
  elseif kind ~= "string" and kind ~= "number" and kind ~= "boolean" and value ~= vim.NIL then
    return ("%s is a %s, which is no JSON"):format(path, kind)
  end
end

--- The kinds of the optional fields, beside the schemas.
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

---@param definition table
---@return string? problem
local function wrong_field(definition)
  for field, kinds in vim.spairs(KINDS) do
    local value = definition[field]
    local fits = value == nil or vim.tbl_contains(kinds, type(value))
    if not fits and not (vim.tbl_contains(kinds, "function") and vim.is_callable(value)) then
      return ("%s is a %s; it must be a %s"):format(field, type(value), table.concat(kinds, " or a "))
    end
  end
  if type(definition.description) ~= "string" or definition.description == "" then
    return "it needs a description, which is how the model knows what it does"
  elseif definition.execute ~= nil and not vim.is_callable(definition.execute) then
    return ("execute is a %s; it must be a function"):format(type(definition.execute))
  elseif definition.timeout and (definition.timeout <= 0 or definition.timeout > 86400) then
    return "timeout is in seconds, more than 0 and at most 86400"
  end
  for _, field in ipairs({ "input_schema", "output_schema" }) do
    local problem = wrong_value(definition[field] or {}, field, 0)
    if problem then
      return problem
    end
  end
end

--- Looks at a definition.
---@param name string? As `register` got it.
---@param given any
---@return flemma.tools.Definition? definition A copy that has its name.
---@return string? problem Without a definition.
function M.read(name, given)
  if type(given) ~= "table" then
    local of = name and ('"%s"'):format(tostring(name)) or "it"
    return nil, ("%s is a %s; a definition is a table"):format(of, type(given))
  end
  local problem
  if given.cmds ~= nil or type(given.callback) == "table" then
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
  local definition = {}
  for field, value in pairs(given) do
    definition[field] = value
  end
  definition.name = name
  problem = wrong_field(definition)
  if problem then
    return nil, ('"%s": %s'):format(name, problem)
  end
  return definition
end

--- What the options say of a tool: `tools.<name>`.
---@param name string
---@return table? config A copy.
function M.config(name)
  local tools = require("flemma").options.tools
  local config = type(tools) == "table" and tools[name]
  return type(config) == "table" and vim.deepcopy(config) or nil
end

--- Whether models are offered a tool by default.
---@param definition flemma.tools.Definition
---@return boolean
function M.enabled(definition)
  local enabled = definition.enabled
  if vim.is_callable(enabled) then
    local ok, said = pcall(enabled, M.config(definition.name))
    return ok and said ~= false and said ~= nil
  end
  return enabled ~= false
end

--- What the model is told of a tool; one made of steps may have a prompt of its own.
---@param definition flemma.tools.Definition
---@return string
local function description(definition)
  if not definition.describe then
    return definition.description
  end
  local ok, text = pcall(definition.describe)
  if ok then
    return text
  end
  require("flemma.notices").notify({
    level = "warn",
    message = ("The system_prompt of the tool %s raised an error, so the model sees its description alone: %s"):format(
      definition.name,
      tostring(text)
    ),
  })
  return definition.description
end

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
