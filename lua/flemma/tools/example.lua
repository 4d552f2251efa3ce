--- JSON Schemas from examples: tables that show the arguments of a call, with sample texts
--- as values.
---@class flemma.tools.example
local M = {}

--- Precedes the sample in a description.
local SAMPLE = "For example: "

---@return table schema
local function schema_of(value)
  if type(value) == "table" then
    if vim.islist(value) and #value > 0 then
      return { type = "array", items = schema_of(value[1]) }
    end
    return { type = "object", properties = vim.tbl_extend("force", vim.empty_dict(), vim.tbl_map(schema_of, value)) }
  end
  local text = tostring(value):gsub("^<!%[CDATA%[(.*)%]%]>$", "%1")
  local kind = tonumber(text) and { "number", "string" }
    or (text == "true" or text == "false") and { "boolean", "string" }
    or "string"
  return { type = kind, description = SAMPLE .. text }
end

--- Returns the arguments that an example shows.
local function action_of(example)
  example = type(example.tool) == "table" and example.tool or example
  if type(example.action) == "table" then
    return example.action
  end
  local arguments = vim.tbl_extend("force", {}, example)
  arguments._attr = nil
  return arguments
end

--- Returns the JSON Schema if the table is one already, also in a function as OpenAI
--- writes it.
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

--- Returns the JSON Schema of an example, or of a list of them. No argument is required,
--- because an example does not say which are.
---@param schema table
---@return table
function M.schema(schema)
  local examples = vim.islist(schema) and #schema > 0 and schema or { schema }
  local properties = vim.empty_dict()
  for _, example in ipairs(examples) do
    for name, value in pairs(action_of(example)) do
      local found, known = schema_of(value), properties[name]
      if known and known.description and found.description then
        found.description = known.description .. ", " .. found.description:sub(#SAMPLE + 1)
      end
      properties[name] = found
    end
  end
  return { type = "object", properties = properties }
end

--- Turns all arguments into texts, as an example means them.
---@param value any
---@return any
function M.texts(value)
  if type(value) == "table" then
    return vim.tbl_map(M.texts, value)
  end
  return tostring(value)
end

return M
