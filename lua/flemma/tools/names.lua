--- The names of a registration's fields. A misspelled field must not be dropped in silence: it may be
--- the one that restricts a call.
---@class flemma.tools.names
local M = {}

--- Fields by the part of a registration that has them. Lists are sorted.
M.FIELDS = {
  definition = {
    "async",
    "describe",
    "description",
    "enabled",
    "execute",
    "format_preview",
    "input_schema",
    "name",
    "output_schema",
    "rejected",
    "requires_approval",
    "strict",
    "tail",
    "timeout",
  },
  steps = {
    "callback",
    "cmds",
    "description",
    "enabled",
    "env",
    "handlers",
    "name",
    "opts",
    "output",
    "requires_approval",
    "schema",
    "strict",
    "system_prompt",
    "timeout",
  },
  handlers = { "on_exit", "setup" },
  output = { "error", "prompt", "rejected", "success" },
  opts = { "requires_approval" },
  resolver = { "description", "fail", "name", "priority", "resolve" },
  source = { "resolve", "timeout" },
}

--- Returns true for a field that restricts calls, whoever's name for that it is.
local function restricts(field)
  return type(field) == "string" and field:lower():find("approv", 1, true) ~= nil
end

--- Looks for a field that is almost a known one. Others are reported, and have no effect.
---@param given any
---@param part "definition"|"steps"|"handlers"|"output"|"opts"|"resolver"|"source"
---@param path string Of the part in a message, such as `output.`.
---@return string? problem
function M.wrong(given, part, path)
  if type(given) ~= "table" then
    return nil
  end
  local known, unknown = M.FIELDS[part], {}
  for field in vim.spairs(given) do
    if type(field) == "string" and not vim.list_contains(known, field) and not restricts(field) then
      local meant = require("flemma.edit_distance").nearest(field, known)
      if meant then
        return ('there is no field %s%s; did you mean "%s"?'):format(path, field, meant)
      elseif part == "resolver" then
        return ("there is no field %s%s; a resolver has %s"):format(path, field, table.concat(known, ", "))
      end
      unknown[#unknown + 1] = path .. field
    end
  end
  if #unknown > 0 then
    local message = "tools.register(): %s of the tool %s: Flemma does not know this, so it has no effect."
    local name = type(given.name) == "string" and given.name or "with these fields"
    require("flemma.notices").notify({ level = "warn", message = message:format(table.concat(unknown, ", "), name) })
  end
end

--- Returns true if a registration says anywhere that its calls need an approval. What cannot be
--- decided here, such as a function, counts as yes.
---@param ... any Parts of the registration.
---@return boolean required
---@return string? problem A value that is neither.
function M.requires_approval(...)
  local required = false
  for index = 1, select("#", ...) do
    local part = select(index, ...)
    for field, value in vim.spairs(type(part) == "table" and part or {}) do
      if restricts(field) and value ~= false then
        if value ~= true and not vim.is_callable(value) then
          return true, ("%s is %s; it must be true or false"):format(field, vim.inspect(value))
        end
        required = true
      end
    end
  end
  return required
end

return M
