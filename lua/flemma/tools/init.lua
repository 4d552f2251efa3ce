--- Tools written in Lua: the public functions of `require("flemma.tools")`, and the list of
--- registered tools that the host gets. The host decides which tools models are offered and
--- which calls run.
---@class flemma.tools
local M = {}

local callbacks = require("flemma.callbacks")
local definitions = require("flemma.tools.definition")
local sources = require("flemma.tools.sources")

---@class flemma.tools.Entry
---@field definition flemma.tools.Definition
---@field execute integer? Number of its function, see |flemma.callbacks|.
---@field preview integer?
---@field rejected integer?

---@type table<string, flemma.tools.Entry>
local registered = {}
--- Whether the host has an older list.
local changed = false

--- Sends the list to the host, if it has an older one.
function M.flush()
  if changed then
    changed = false
    require("flemma.host").send("tools", M.wire())
  end
end

--- Sends the list soon, so that many registrations are one message.
local function announce()
  -- Without that module no host runs yet, and a new host gets the list.
  if not changed and package.loaded["flemma.buffer"] then
    vim.schedule(M.flush)
  end
  changed = true
end

local function remove(name)
  local entry = registered[name]
  if entry then
    callbacks.drop({ entry.execute, entry.preview, entry.rejected })
    registered[name] = nil
  end
end

---@param definition flemma.tools.Definition One that was validated.
local function add(definition)
  remove(definition.name)
  registered[definition.name] = {
    definition = definition,
    execute = definition.execute and callbacks.add(definition.execute),
    preview = definition.format_preview and callbacks.add(definition.format_preview),
    rejected = definition.rejected and callbacks.add(definition.rejected),
  }
  announce()
end

--- Registers one definition.
---@return string? problem
local function add_one(name, given)
  local definition, problem = definitions.read(name, given)
  if definition then
    add(definition)
  end
  return problem
end

--- Registers all definitions, or none.
---@param given table<string|integer, table> A list, or definitions by their names.
---@return string? problem
local function add_all(given)
  local all = {}
  for key, item in vim.spairs(given) do
    local is_name = type(key) == "string"
    local definition, problem = definitions.read(is_name and key or nil, item)
    if not definition then
      return is_name and problem or ("the tool at %d: %s"):format(key, problem)
    end
    all[#all + 1] = definition
  end
  vim.tbl_map(add, all)
end

--- Registers definitions in any form that |flemma.tools.register()| lists.
---@return string? problem
local function add_given(first, second)
  if type(first) ~= "table" then
    return add_one(first, second)
  elseif first.definitions ~= nil then
    return add_all(first.definitions)
  elseif first.name ~= nil or definitions.has_steps(first) then
    return add_one(first.name, first)
  end
  return add_all(first)
end
sources.connect({ add = add_given, changed = announce })

---@return string? problem
local function register(first, second)
  local kind = type(first)
  if kind == "string" and second == nil then
    return sources.add_module(first)
  elseif kind == "function" then
    return sources.add({ resolve = first })
  elseif kind == "table" and first.resolve ~= nil then
    return sources.add(first)
  elseif kind == "string" or kind == "table" then
    return add_given(first, second)
  end
  return "give it a name and a definition, a list of definitions, a module or a function"
end

--- Registers tools: `register(name, definition)`, `register(definition)`,
--- `register({ definition, … })`, `register({ name = definition, … })`,
--- `register("path.of.a.module")`, `register(function(register, done) … end)`, or
--- `register({ resolve = function(register, done) … end, timeout = seconds })`. Replaces a
--- tool of the same name, also a built-in one.
---@param first string|table|function
---@param second table?
function M.register(first, second)
  local problem = register(first, second)
  if problem then
    error("Flemma: tools.register(): " .. problem .. ".", 2)
  end
end

--- Removes a registered tool. A built-in tool of that name is available again.
---@param name string
---@return boolean found
function M.unregister(name)
  local found = registered[name] ~= nil
  if found then
    remove(name)
    announce()
  end
  return found
end

--- Removes all registered tools and sources.
function M.clear()
  vim.tbl_map(remove, vim.tbl_keys(registered))
  sources.clear()
  announce()
end

--- Returns a registered tool; built-in tools are not in the list.
---@param name string
---@return flemma.tools.Definition? definition A copy.
function M.get(name)
  sources.start()
  local entry = registered[name]
  return entry and vim.deepcopy(entry.definition)
end

--- Returns all registered tools that models are offered.
---@param options? { include_disabled?: boolean }
---@return table<string, flemma.tools.Definition> definitions Copies, by name.
function M.get_all(options)
  sources.start()
  local all = {}
  for name, entry in pairs(registered) do
    if (options or {}).include_disabled or definitions.enabled(entry.definition) then
      all[name] = vim.deepcopy(entry.definition)
    end
  end
  return all
end

--- Returns the number of registered tools.
---@return integer
function M.count()
  sources.start()
  return vim.tbl_count(registered)
end

--- Returns true once all sources are done.
---@return boolean
function M.is_ready()
  return sources.loading() == 0
end

--- Runs `job` once all sources are done, but never before this function returns.
---@param job fun()
function M.on_ready(job)
  if M.is_ready() then
    vim.schedule(job)
  else
    sources.on_ready(job)
  end
end

--- Returns the list as the host gets it.
---@return flemma.protocol.Tools
function M.wire()
  sources.start()
  changed = false
  return { items = vim.tbl_map(definitions.wire, vim.tbl_values(registered)), loading = not M.is_ready() }
end

return M
