--- Schemas given by an example: what a call's arguments look like, as a table whose
--- values are sample texts. Makes a JSON Schema of it.
---@class flemma.tools.example
local M = {}

---@param value any
---@return table schema
local function schema_of(value)
  if type(value) == "table" then
    if vim.islist(value) and #value > 0 then
      return { type = "array", items = schema_of(value[1]) }
    end
    local properties = vim.empty_dict()
    for name, item in pairs(value) do
      properties[name] = schema_of(item)
    end
    return { type = "object", properties = properties }
  end
  local text = tostring(value):gsub("^<!%[CDATA%[(.*)%]%]>$", "%1")
  local kind = tonumber(text) and { "number", "string" }
    or (text == "true" or text == "false") and { "boolean", "string" }
    or "string"
  return { type = kind, description = "For example: " .. text }
end

--- The arguments that one example shows.
---@param example table
---@return table
local function action_of(example)
  example = type(example.tool) == "table" and example.tool or example
  if type(example.action) == "table" then
    return example.action
  end
  local arguments = {}
  for name, value in pairs(example) do
    if name ~= "_attr" then
      arguments[name] = value
    end
  end
  return arguments
end

--- Whether a schema is one already: a JSON Schema, or a function as OpenAI spells it.
---@param schema table
---@return table? json
function M.json(schema)
  local spelled = schema["function"]
  if type(spelled) == "table" and type(spelled.parameters) == "table" then
    return spelled.parameters
  elseif schema.type == "object" and type(schema.properties) == "table" then
    return schema
  end
end

--- The JSON Schema of an example, or of a list of them. Which arguments there must be
--- an example does not say.
---@param schema table
---@return table
function M.schema(schema)
  local examples = vim.islist(schema) and #schema > 0 and schema or { schema }
  local properties = vim.empty_dict()
  for _, example in ipairs(examples) do
    for name, value in pairs(action_of(example)) do
      local found, known = schema_of(value), properties[name]
      if known and known.description and found.description then
        found.description = known.description .. ", " .. found.description:sub(#"For example: " + 1)
      end
      properties[name] = found
    end
  end
  return { type = "object", properties = properties }
end

--- Arguments as an example means them: all that is no table is text.
---@param value any
---@return any
function M.texts(value)
  if type(value) == "table" then
    return vim.tbl_map(M.texts, value)
  end
  return tostring(value)
end

return M
