--- Who has a say about tool calls, next to the options: resolvers that plugins
--- and users register. Kept here, because their functions live here; in which
--- order they are asked, and what their words mean, only the host knows.
---@class flemma.tools.approval
local M = {}

local callbacks = require("flemma.callbacks")

local CONFIG = "urn:flemma:approval:config"
local FRONTMATTER = "urn:flemma:approval:frontmatter"
local CATCH_ALL = "urn:flemma:approval:catch-all"
--- Of the resolvers that the options make, and of those that others register.
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
---@field resolve function? Absent in what is decided without Lua.
---@field fail "closed"?

---@class flemma.tools.approval.Entry: flemma.tools.approval.Resolver
---@field id integer Of its function.

---@type table<string, flemma.tools.approval.Entry>
local registered = {}
---@type table<string, flemma.tools.approval.Entry> What the options name, by module path.
local modules = {}
---@type table<string, true> Resolvers of ours that the user took away.
local removed = {}
---@type table? The options that `modules` and `removed` belong to.
local seen

--- Lets the host know, if there is one: before that nobody needs to.
local function announce()
  local buffer = package.loaded["flemma.buffer"]
  if buffer then
    buffer.announce_resolvers()
  end
end

---@param name any
---@return boolean
local function is_module(name)
  return type(name) == "string" and name:find(".", 1, true) ~= nil and not vim.startswith(name, "urn:flemma:")
end

--- What `tools.auto_approve` consists of.
---@return string[] paths Modules.
---@return string? rest What the config resolver goes by: "list", "function", or nothing.
local function configured()
  local tools = require("flemma").options.tools
  local given = type(tools) == "table" and tools.auto_approve
  if given == nil or given == false then
    return {}, "list"
  elseif type(given) == "function" then
    return {}, "function"
  end
  local paths, rest = {}, nil
  for _, name in ipairs(type(given) == "table" and given or { given }) do
    if is_module(name) then
      paths[#paths + 1] = name
    else
      rest = "list"
    end
  end
  return paths, rest
end

--- Asks a module, which is loaded by its first question. Rules that cannot be
--- loaded are not passed over: the call waits.
---@param path string
---@return fun(...): any
local function resolve_by(path)
  return function(...)
    local ok, module = pcall(require, path)
    if not ok then
      require("flemma.host").log(("tools.auto_approve: %s cannot be loaded, so calls wait: %s"):format(path, module))
      return "require_approval"
    end
    local resolve = type(module) == "table" and module.resolve
    if type(resolve) ~= "function" then
      return nil
    end
    return resolve(...)
  end
end

--- Follows `setup()`: new options bring all resolvers of ours back.
local function follow_options()
  local options = require("flemma").options
  if seen == options then
    return
  end
  seen, removed = options, {}
  for _, entry in pairs(modules) do
    callbacks.drop({ entry.id })
  end
  modules = {}
  for _, path in ipairs(configured()) do
    local resolve = resolve_by(path)
    modules[path] = {
      name = path,
      priority = CONFIG_PRIORITY,
      description = "The module that tools.auto_approve names",
      resolve = resolve,
      id = callbacks.add(resolve),
    }
  end
end

--- The resolvers that are there without being registered.
---@return table<string, flemma.tools.approval.Resolver>
local function built_in()
  local found = vim.tbl_extend("force", {}, modules)
  local tools = require("flemma").options.tools
  tools = type(tools) == "table" and tools or {}
  local _, rest = configured()
  if rest then
    local resolve = rest == "function" and tools.auto_approve or nil
    found[CONFIG] =
      { name = CONFIG, priority = CONFIG_PRIORITY, description = "The option tools.auto_approve", resolve = resolve }
  end
  found[FRONTMATTER] = { name = FRONTMATTER, priority = 90, description = "auto_approve in the frontmatter of a chat" }
  if tools.require_approval == false then
    found[CATCH_ALL] = { name = CATCH_ALL, priority = 0, description = "The option tools.require_approval = false" }
  end
  for name in pairs(removed) do
    found[name] = nil
  end
  return found
end

---@return table<string, flemma.tools.approval.Resolver>
local function all()
  follow_options()
  return vim.tbl_extend("force", built_in(), registered)
end

---@param entry flemma.tools.approval.Resolver
---@return flemma.tools.approval.Resolver
local function public(entry)
  local copy = vim.deepcopy(entry) --[[@as table]]
  copy.id = nil
  return copy
end

---@param name any
---@param definition any
---@return string? problem
local function wrong(name, definition)
  if type(name) ~= "string" or name == "" then
    return "the name must be a string"
  elseif is_module(name) then
    return ('the name "%s" has a dot, which only module paths have; try "%s"'):format(name, (name:gsub("%.", ":")))
  elseif type(definition) ~= "table" or not vim.is_callable(definition.resolve) then
    return ('"%s" needs a table with a function `resolve`'):format(name)
  end
  local priority = definition.priority
  if priority ~= nil and (type(priority) ~= "number" or priority % 1 ~= 0 or math.abs(priority) > 2 ^ 31 - 1) then
    return ('"%s": priority is %s; it must be a whole number'):format(name, tostring(priority))
  elseif definition.fail ~= nil and definition.fail ~= "closed" then
    return ('"%s": fail is %s; it must be "closed" or absent'):format(name, vim.inspect(definition.fail))
  end
end

--- Registers a resolver; one of the same name is replaced.
---@param name string Without a dot, such as "my_plugin:security_policy".
---@param definition flemma.tools.approval.Definition
function M.register(name, definition)
  local problem = wrong(name, definition)
  if problem then
    error("Flemma: approval.register(): " .. problem .. ".", 2)
  end
  local resolve = definition.resolve
  if registered[name] then
    callbacks.drop({ registered[name].id })
  end
  registered[name] = {
    name = name,
    priority = definition.priority or DEFAULT_PRIORITY,
    description = definition.description,
    resolve = resolve,
    fail = definition.fail,
    id = callbacks.add(function(...)
      return resolve(...)
    end),
  }
  announce()
end

--- Takes a resolver away, also one of Flemma's own; `setup()` brings those back.
---@param name string
---@return boolean found
function M.unregister(name)
  if all()[name] == nil then
    return false
  end
  if registered[name] then
    callbacks.drop({ registered[name].id })
    registered[name] = nil
  end
  if built_in()[name] then
    removed[name] = true
  end
  announce()
  return true
end

--- Takes all registered resolvers away; Flemma's own stay.
function M.clear()
  for _, entry in pairs(registered) do
    callbacks.drop({ entry.id })
  end
  registered = {}
  announce()
end

---@param name string
---@return flemma.tools.approval.Resolver? resolver A copy.
function M.get(name)
  local entry = all()[name]
  return entry and public(entry)
end

--- All resolvers, in the order in which they are asked.
---@return flemma.tools.approval.Resolver[] resolvers Copies.
function M.get_all()
  local list = vim.tbl_map(public, vim.tbl_values(all()))
  table.sort(list, function(a, b)
    if a.priority ~= b.priority then
      return a.priority > b.priority
    end
    return a.name < b.name
  end)
  return list
end

---@return integer
function M.count()
  return vim.tbl_count(all())
end

--- What the host has to know of all this.
---@return flemma.protocol.Resolvers
function M.wire()
  follow_options()
  local items, without = {}, vim.tbl_keys(removed)
  for path, entry in pairs(modules) do
    if not removed[path] then
      items[#items + 1] =
        { name = path, priority = entry.priority, ["function"] = entry.id, closed = false, from_options = true }
    end
  end
  for name, entry in pairs(registered) do
    items[#items + 1] = {
      name = name,
      priority = entry.priority,
      ["function"] = entry.id,
      closed = entry.fail == "closed",
      from_options = false,
    }
    -- One of ours of that name is replaced.
    if vim.startswith(name, "urn:flemma:") then
      without[#without + 1] = name
    end
  end
  return { items = items, without = without }
end

--- Modules that `tools.auto_approve` names and that are nowhere, a sentence each.
---@return string[]
function M.problems()
  local problems = {}
  for _, path in ipairs((configured())) do
    if not require("flemma.modules").exists(path) then
      problems[#problems + 1] = (
        "setup(): tools.auto_approve names the module \"%s\", which is nowhere in 'runtimepath', "
        .. "so every call waits for you. Install it or correct the name."
      ):format(path)
    end
  end
  return problems
end

return M
