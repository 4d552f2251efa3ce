--- Approval resolvers: functions of plugins and users that decide about tool calls. Their
--- functions live here; the host asks them, in order, and applies their decisions.
---@class flemma.tools.approval
local M = {}

local callbacks = require("flemma.callbacks")
local names = require("flemma.tools.names")

--- Prefix of the names of Flemma's own resolvers.
local OWN = "urn:flemma:approval:"
--- Of the resolvers that the options make, and the default of all others.
local CONFIG_PRIORITY, DEFAULT_PRIORITY = 100, 50

---@alias flemma.tools.approval.Decision "approve"|"require_approval"|"deny"

---@class flemma.tools.approval.Definition
---@field resolve fun(tool_name: string, input: table, context: { bufnr: integer, tool_id: string }): flemma.tools.approval.Decision? Nil passes to the next.
---@field priority? integer Higher is asked first. Default 50.
---@field description? string
---@field fail? "closed" Deny when `resolve` fails. Without it a failure is logged and passes.

---@class flemma.tools.approval.Resolver
---@field name string
---@field priority integer
---@field description string?
---@field resolve function? Absent if the host decides without Lua.
---@field fail "closed"?

---@class flemma.tools.approval.Entry: flemma.tools.approval.Resolver
---@field id integer Number of its function, see |flemma.callbacks|.

---@type table<string, flemma.tools.approval.Entry>
local registered = {}
---@type table<string, flemma.tools.approval.Entry> What the options name, by module path.
local modules = {}
---@type table<string, true> Names of Flemma's own resolvers that were unregistered.
local removed = {}
---@type table? The options that `modules` and `removed` belong to.
local seen

--- Tells the host, if there is one; a later host gets the whole list.
local function announce()
  local buffer = package.loaded["flemma.buffer"]
  if buffer then
    buffer.announce_resolvers()
  end
end

---@return table tools The option `tools`.
local function options()
  local tools = require("flemma").options.tools
  return type(tools) == "table" and tools or {}
end

local function is_module(name)
  return type(name) == "string" and name:find(".", 1, true) ~= nil and not vim.startswith(name, "urn:flemma:")
end

--- Reads the option `tools.auto_approve`.
---@return string[] paths Modules.
---@return boolean rest Whether it has anything else for the config resolver.
local function configured()
  local given = options().auto_approve
  if type(given) ~= "string" and type(given) ~= "table" then
    return {}, true
  end
  local paths = vim.tbl_filter(is_module, type(given) == "table" and given or { given })
  local items = type(given) == "table" and #given or 1
  return paths, #paths < items
end

--- Makes a resolver of a module, which is loaded when it is first asked. If it cannot be
--- loaded, the call waits.
local function resolve_by(path)
  return function(...)
    local ok, module = pcall(require, path)
    if not ok then
      require("flemma.host").log(
        ("tools.auto_approve: %s cannot be loaded, so calls need your approval: %s"):format(path, module)
      )
      return "require_approval"
    end
    local resolve = type(module) == "table" and module.resolve
    if type(resolve) == "function" then
      return resolve(...)
    end
  end
end

local function release(entry)
  if entry then
    callbacks.drop({ entry.id })
  end
end

--- Reads the options after a `setup()`, which restores Flemma's own resolvers.
local function follow_options()
  local now = require("flemma").options
  if seen == now then
    return
  end
  seen, removed = now, {}
  vim.tbl_map(release, modules)
  modules = {}
  for _, path in ipairs((configured())) do
    local resolve = resolve_by(path)
    modules[path] = {
      name = path,
      priority = CONFIG_PRIORITY,
      description = "The module in tools.auto_approve",
      resolve = resolve,
      id = callbacks.add(resolve),
    }
  end
end

--- Returns the resolvers that exist without being registered.
local function built_in()
  local found, tools = vim.tbl_extend("force", {}, modules), options()
  local function add(name, priority, description, resolve)
    found[OWN .. name] = { name = OWN .. name, priority = priority, description = description, resolve = resolve }
  end
  local given, _, rest = tools.auto_approve, configured()
  if rest then
    add("config", CONFIG_PRIORITY, "The option tools.auto_approve", type(given) == "function" and given or nil)
  end
  add("frontmatter", 90, "auto_approve in the frontmatter of a chat")
  if tools.require_approval == false then
    add("catch-all", 0, "The option tools.require_approval = false")
  end
  for name in pairs(removed) do
    found[name] = nil
  end
  return found
end

local function all()
  follow_options()
  -- A registered resolver replaces a built-in one of its name.
  return vim.tbl_extend("force", built_in(), registered)
end

---@return flemma.tools.approval.Resolver copy
local function public(entry)
  local copy = vim.deepcopy(entry) --[[@as table]]
  copy.id = nil
  return copy
end

---@return string? problem
local function wrong(name, definition)
  if type(name) ~= "string" or name == "" then
    return "the name must be a string"
  elseif is_module(name) then
    return ('the name "%s" has a dot, which only module paths have; try "%s"'):format(name, (name:gsub("%.", ":")))
  elseif type(definition) ~= "table" or not vim.is_callable(definition.resolve) then
    return ('"%s" needs a table with a function `resolve`'):format(name)
  end
  local problem = names.wrong(definition, "resolver", "")
  if problem then
    return ('"%s": %s'):format(name, problem)
  end
  local priority = definition.priority
  -- The host reads 32 bits.
  if priority ~= nil and (type(priority) ~= "number" or priority % 1 ~= 0 or math.abs(priority) > 2 ^ 31 - 1) then
    return ('"%s": priority is %s; it must be a whole number'):format(name, tostring(priority))
  elseif definition.fail ~= nil and definition.fail ~= "closed" then
    return ('"%s": fail is %s; it must be "closed" or absent'):format(name, vim.inspect(definition.fail))
  end
end

--- Registers a resolver. Replaces one of the same name.
---@param name string Without a dot, such as "my_plugin:security_policy".
---@param definition flemma.tools.approval.Definition
function M.register(name, definition)
  local problem = wrong(name, definition)
  if problem then
    error("Flemma: approval.register(): " .. problem .. ".", 2)
  end
  release(registered[name])
  registered[name] = {
    name = name,
    priority = definition.priority or DEFAULT_PRIORITY,
    description = definition.description,
    resolve = definition.resolve,
    fail = definition.fail,
    id = callbacks.add(definition.resolve),
  }
  announce()
end

--- Removes a resolver, also one of Flemma's own; `setup()` restores those.
---@param name string
---@return boolean found
function M.unregister(name)
  if all()[name] == nil then
    return false
  end
  release(registered[name])
  registered[name] = nil
  -- Without this, one of Flemma's own would be there again.
  if built_in()[name] then
    removed[name] = true
  end
  announce()
  return true
end

--- Removes all registered resolvers. Flemma's own stay.
function M.clear()
  vim.tbl_map(release, registered)
  registered = {}
  announce()
end

---@param name string
---@return flemma.tools.approval.Resolver? resolver A copy.
function M.get(name)
  local entry = all()[name]
  return entry and public(entry)
end

--- Returns all resolvers, in the order in which they are asked.
---@return flemma.tools.approval.Resolver[] resolvers Copies.
function M.get_all()
  local list = vim.tbl_map(public, vim.tbl_values(all()))
  table.sort(list, function(a, b)
    if a.priority ~= b.priority then
      return a.priority > b.priority
    end
    -- A fixed order, unlike that of `pairs()`.
    return a.name < b.name
  end)
  return list
end

--- Returns the number of resolvers.
---@return integer
function M.count()
  return vim.tbl_count(all())
end

--- Returns the resolvers as the host gets them.
---@return flemma.protocol.Resolvers
function M.wire()
  follow_options()
  local items, without = {}, vim.tbl_keys(removed)
  local function add(entry, from_options)
    items[#items + 1] = {
      name = entry.name,
      priority = entry.priority,
      ["function"] = entry.id,
      closed = entry.fail == "closed",
      from_options = from_options,
    }
  end
  for path, entry in pairs(modules) do
    if not removed[path] then
      add(entry, true)
    end
  end
  for name, entry in pairs(registered) do
    add(entry, false)
    -- It replaces one of Flemma's own.
    if vim.startswith(name, "urn:flemma:") then
      without[#without + 1] = name
    end
  end
  return { items = items, without = without }
end

--- Returns a message for each module that `tools.auto_approve` names and that is missing.
---@return string[]
function M.problems()
  local missing = vim.tbl_filter(function(path)
    return not require("flemma.modules").exists(path)
  end, (configured()))
  return vim.tbl_map(function(path)
    local message = "setup(): tools.auto_approve names the module \"%s\", which is not in 'runtimepath', "
      .. "so every call needs your approval. Install it or correct the name."
    return message:format(path)
  end, missing)
end

return M
