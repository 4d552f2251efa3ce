--- Tools of your own: `require("flemma.tools").register(...)`. Keeps what was
--- registered and tells the host of it. Whether the model is offered a tool and
--- whether a call may run is decided there; nothing is loaded or run from here until
--- a chat is open.
---@class flemma.tools
local M = {}

local callbacks = require("flemma.callbacks")

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
---@field format_preview? fun(input: table, max_length: integer): string One line that stands beside a call that waits.
---@field tail? boolean Whether the end of a long output says more than its start.
---@field requires_approval? boolean Whether a call waits unless a rule approves this tool by its name.
---@field rejected? fun(input: table, buffer: integer): string? What the model is told when the user refuses a call without a word.
---@field execute? fun(input: table, context: flemma.tools.Context, callback: fun(result: flemma.tools.Result)): flemma.tools.Result|fun()|nil Does it. Returns a result, or a function that cancels it and calls back later.

---@class flemma.tools.Entry
---@field definition flemma.tools.Definition
---@field execute integer? Number of its function.
---@field preview integer? Likewise.
---@field rejected integer? Likewise.

---@type table<string, flemma.tools.Entry>
local registered = {}
--- Whether the host has to be told.
local changed = false

--- Tells the host, which may not be there yet, what there is now.
function M.flush()
  if changed then
    changed = false
    require("flemma.host").send("tools", M.wire())
  end
end

--- Lets the host know soon: many registrations are one message.
local function announce()
  if not changed and package.loaded["flemma.buffer"] then
    vim.schedule(M.flush)
  end
  changed = true
end

M.announce = announce

---@param entry flemma.tools.Entry?
local function release(entry)
  if entry then
    for _, id in pairs({ entry.execute, entry.preview, entry.rejected }) do
      callbacks.drop({ id })
    end
  end
end

--- Takes a definition that was looked at into the list.
---@param definition flemma.tools.Definition
local function add(definition)
  release(registered[definition.name])
  registered[definition.name] = {
    definition = definition,
    execute = definition.execute and callbacks.add(definition.execute),
    preview = definition.format_preview and callbacks.add(definition.format_preview),
    rejected = definition.rejected and callbacks.add(definition.rejected),
  }
  announce()
end

--- Registers one tool.
---@param name string
---@param definition table
---@return string? problem
function M.add(name, definition)
  local checked, problem = require("flemma.tools.definition").read(name, definition)
  if checked then
    add(checked)
  end
  return problem
end

--- Registers all of a list, or none.
---@param list table[]
---@return string? problem
function M.add_all(list)
  local all = {}
  for index, item in ipairs(list) do
    local checked, problem = require("flemma.tools.definition").read(nil, item)
    if not checked then
      return ("the tool at %d: %s"):format(index, problem)
    end
    all[index] = checked
  end
  vim.tbl_map(add, all)
end

--- Registers a table of definitions by their names, all or none.
---@param named table<string, table>
---@return string? problem
local function add_named(named)
  local list = {}
  for name, given in vim.spairs(named) do
    local definition, problem = require("flemma.tools.definition").read(name, given)
    if not definition then
      return problem
    end
    list[#list + 1] = definition
  end
  vim.tbl_map(add, list)
end

---@param first any
---@param second any
---@return string? problem
local function register(first, second)
  local kind = type(first)
  if kind == "string" and second ~= nil then
    return M.add(first, second)
  elseif kind == "string" then
    return require("flemma.tools.sources").add_module(first)
  elseif kind == "function" then
    return require("flemma.tools.sources").add({ resolve = first })
  elseif kind ~= "table" then
    return "give it a name and a definition, a list of definitions, a module or a function"
  elseif first.resolve ~= nil then
    return require("flemma.tools.sources").add(first)
  elseif first.definitions ~= nil then
    return M.add_all(first.definitions)
  elseif first.name ~= nil or first.cmds ~= nil or type(first.callback) == "table" then
    return M.add(first.name, first)
  elseif vim.islist(first) then
    return M.add_all(first)
  end
  return add_named(first)
end

--- Registers tools: `register(name, definition)`, `register(definition)`,
--- `register({ definition, … })`, `register("path.of.a.module")`,
--- `register(function(register, done) … end)` or
--- `register({ resolve = function(register, done) … end, timeout = seconds })`, or
--- `register({ name = definition, … })`. One of the same name is replaced, also one that is built in.
---@param first string|table|function
---@param second table?
function M.register(first, second)
  local problem = register(first, second)
  if problem then
    error("Flemma: tools.register(): " .. problem .. ".", 2)
  end
end

--- Takes a tool away; a built-in one of that name is there again.
---@param name string
---@return boolean found
function M.unregister(name)
  local entry = registered[name]
  if not entry then
    return false
  end
  release(entry)
  registered[name] = nil
  announce()
  return true
end

--- Takes all registered tools and sources away.
function M.clear()
  for _, entry in pairs(registered) do
    release(entry)
  end
  registered = {}
  local sources = package.loaded["flemma.tools.sources"]
  if sources then
    sources.clear()
  end
  announce()
end

--- Finds what sources have that were not needed so far.
local function load_sources()
  local sources = package.loaded["flemma.tools.sources"]
  if sources then
    sources.start()
  end
end

--- A registered tool. Built-in ones are not in this list.
---@param name string
---@return flemma.tools.Definition? definition A copy.
function M.get(name)
  load_sources()
  local entry = registered[name]
  return entry and vim.deepcopy(entry.definition)
end

--- All registered tools that models are offered.
---@param options? { include_disabled?: boolean }
---@return table<string, flemma.tools.Definition> definitions Copies, by name.
function M.get_all(options)
  load_sources()
  local all = {}
  for name, entry in pairs(registered) do
    if (options or {}).include_disabled or require("flemma.tools.definition").enabled(entry.definition) then
      all[name] = vim.deepcopy(entry.definition)
    end
  end
  return all
end

--- How many tools are registered.
---@return integer
function M.count()
  load_sources()
  return vim.tbl_count(registered)
end

--- Whether all sources have said what they have.
---@return boolean
function M.is_ready()
  local sources = package.loaded["flemma.tools.sources"]
  return not sources or sources.loading() == 0
end

--- Runs `job` once all sources have said what they have; at the next moment when
--- they have already.
---@param job fun()
function M.on_ready(job)
  if M.is_ready() then
    vim.schedule(job)
  else
    require("flemma.tools.sources").on_ready(job)
  end
end

--- What the host has to know of all this.
---@return flemma.protocol.Tools
function M.wire()
  load_sources()
  changed = false
  local items = {}
  for _, entry in pairs(registered) do
    items[#items + 1] = require("flemma.tools.definition").wire(entry)
  end
  return { items = items, loading = not M.is_ready() }
end

return M
