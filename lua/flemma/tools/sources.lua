--- Sources of tools: modules, and functions that register tools and call back when they are
--- done. A source is started when the first chat is opened or the list of tools is read.
---@class flemma.tools.sources
local M = {}

local names = require("flemma.tools.names")

---@class flemma.tools.Source
---@field resolve fun(register: fun(name: string, definition: table), done: fun(problem: any)) Calls `register` for each tool and `done` once.
---@field timeout? number Seconds until it is given up; `tools.default_timeout` when absent.

---@class flemma.tools.Receiver The list of tools.
---@field add fun(first: any, second: any): string? Registers definitions, or returns the problem.
---@field changed fun() Called when a source is added or done.

---@class flemma.tools.Pending
---@field label string For messages.
---@field source flemma.tools.Source|string A string is the path of a module.
---@field asked boolean?
---@field over boolean? Whether it is done or was given up.
---@field cleared boolean? Whether its tools are no longer wanted.

---@type flemma.tools.Pending[] In the order in which they were added.
local pending = {}
---@type fun()[] Jobs to run when all sources are done.
local waiting = {}
---@type flemma.tools.Receiver
local receiver

--- Sets the list of tools that sources add to.
---@param to flemma.tools.Receiver
function M.connect(to)
  receiver = to
end

local function warn(message)
  require("flemma.notices").notify({ level = "warn", message = message })
end

--- Returns the number of sources that are not done.
---@return integer
function M.loading()
  return #vim.tbl_filter(function(item)
    return not item.over
  end, pending)
end

--- Marks a source as done; only the first call counts.
local function finish(item, problem)
  if item.over then
    return
  end
  item.over = true
  if problem ~= nil then
    warn(("%s failed: %s. Chats go on without what it did not register."):format(item.label, tostring(problem)))
  end
  receiver.changed()
  if M.loading() == 0 then
    vim.tbl_map(vim.schedule, waiting)
    waiting = {}
  end
end

---@return string? problem
local function wrong(source)
  if not vim.is_callable(source.resolve) then
    return ("resolve is a %s; it must be a function"):format(type(source.resolve))
  end
  local timeout = source.timeout
  if timeout ~= nil and (type(timeout) ~= "number" or timeout <= 0 or timeout > 86400) then
    return ("timeout is %s; it must be seconds, more than 0 and at most 86400"):format(vim.inspect(timeout))
  end
end

--- Starts a source.
local function ask(item, source)
  local seconds = source.timeout or require("flemma.config").get().default_timeout
  vim.defer_fn(function()
    finish(item, ("it was not done within %s seconds"):format(seconds))
  end, math.ceil(seconds * 1000))
  local ok, why = pcall(source.resolve, function(name, definition)
    local problem = not item.cleared and receiver.add(name, definition)
    -- An invalid tool must not keep the others of the source away.
    if problem then
      warn(("%s: %s. This tool was not registered."):format(item.label, problem))
    end
  end, function(problem)
    finish(item, problem)
  end)
  if not ok then
    finish(item, why)
  end
end

--- Loads a module, and registers its definitions or starts its `resolve`.
local function open(item, path)
  local ok, module = pcall(require, path)
  if not ok then
    return finish(item, module)
  elseif type(module) ~= "table" or (module.resolve == nil and module.definitions == nil) then
    return finish(item, "the module has neither `definitions` nor `resolve`")
  elseif module.resolve == nil then
    return finish(item, receiver.add(module))
  end
  local problem = wrong(module)
  if problem then
    return finish(item, problem)
  end
  ask(item, module)
end

--- Starts all sources that were not started yet.
function M.start()
  for _, item in ipairs(pending) do
    if not item.asked then
      item.asked = true
      local run = type(item.source) == "string" and open or ask
      run(item, item.source)
    end
  end
end

--- Adds a source.
---@param source flemma.tools.Source
---@return string? problem
function M.add(source)
  local problem = wrong(source) or names.wrong(source, "source", "")
  if not problem then
    -- A copy: the caller may change its table before the source is started.
    local copy = { resolve = source.resolve, timeout = source.timeout }
    pending[#pending + 1] = { label = "A tool source", source = copy }
    receiver.changed()
  end
  return problem
end

--- Adds a module that has `definitions` or `resolve`.
---@param path string
---@return string? problem
function M.add_module(path)
  if not require("flemma.modules").exists(path) then
    return ("there is no module \"%s\" in 'runtimepath'; a tool needs a definition as the second argument"):format(path)
  end
  pending[#pending + 1] = { label = ('The tool source "%s"'):format(path), source = path }
  receiver.changed()
end

--- Runs `job` once all sources are done.
---@param job fun()
function M.on_ready(job)
  waiting[#waiting + 1] = job
  M.start()
end

--- Removes all sources. Tools that they still register are dropped.
function M.clear()
  for _, item in ipairs(pending) do
    item.over, item.cleared = true, true
  end
  pending, waiting = {}, {}
end

return M
