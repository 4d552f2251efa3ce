--- Tools that are found: by a function that calls back, or in a module. A source is
--- asked when the first chat is opened, or when somebody wants to see the list. What
--- waits until all have answered is the host's business.
---@class flemma.tools.sources
local M = {}

local tools = require("flemma.tools")

---@class flemma.tools.Source
---@field resolve fun(register: fun(name: string, definition: table), done: fun(problem: any)) Calls `register` for each tool and `done` once.
---@field timeout? number Seconds until it is given up; `tools.default_timeout` when absent.

---@class flemma.tools.Pending
---@field source flemma.tools.Source?
---@field module string? Where the source is still to be looked for.
---@field over boolean Whether it has said all it has.

---@type flemma.tools.Pending[] In the order of their registration.
local pending = {}
---@type fun()[]
local waiting = {}

---@param message string
local function warn(message)
  require("flemma.notices").notify({ level = "warn", message = message })
end

---@param item flemma.tools.Pending
---@return string name For messages.
local function name_of(item)
  return item.module and ('The tool source "%s"'):format(item.module) or "A tool source"
end

---@return integer count Of sources that have not said all they have.
function M.loading()
  local count = 0
  for _, item in ipairs(pending) do
    count = count + (item.over and 0 or 1)
  end
  return count
end

--- A source has ended, one way or another; a second end is none.
---@param item flemma.tools.Pending
---@param problem any
local function finish(item, problem)
  if item.over then
    return
  end
  item.over = true
  if problem ~= nil then
    warn(("%s failed: %s. Chats go on without what it did not register."):format(name_of(item), tostring(problem)))
  end
  tools.announce()
  if M.loading() == 0 then
    local jobs = waiting
    waiting = {}
    for _, job in ipairs(jobs) do
      vim.schedule(job)
    end
  end
end

--- Registers a tool that a source found. A wrong one is told and costs no other.
---@param item flemma.tools.Pending
---@return fun(name: string, definition: table)
local function registrar(item)
  return function(name, definition)
    local problem
    if item.gone then
      problem = nil
    elseif type(name) == "table" then
      problem = vim.islist(name) and tools.add_all(name) or tools.add(name.name, name)
    else
      problem = tools.add(name, definition)
    end
    if problem then
      warn(("%s: %s. It is left out."):format(name_of(item), problem))
    end
  end
end

--- Asks a source for its tools.
---@param item flemma.tools.Pending
local function ask(item)
  local source = item.source
  local seconds = source.timeout or require("flemma.config").get().default_timeout
  vim.defer_fn(function()
    finish(item, ("it was not done within %s seconds"):format(seconds))
  end, math.ceil(seconds * 1000))
  local ok, why = pcall(source.resolve, registrar(item), function(problem)
    finish(item, problem)
  end)
  if not ok then
    finish(item, why)
  end
end

---@param source any
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

--- Looks into a module, which is loaded by that.
---@param item flemma.tools.Pending
local function open(item)
  local ok, module = pcall(require, item.module)
  if not ok then
    return finish(item, module)
  elseif type(module) ~= "table" or (module.resolve == nil and module.definitions == nil) then
    return finish(item, "the module has neither `definitions` nor `resolve`")
  elseif module.resolve == nil then
    return finish(item, tools.add_all(module.definitions))
  end
  local problem = wrong(module)
  if problem then
    return finish(item, problem)
  end
  item.source = { resolve = module.resolve, timeout = module.timeout }
  ask(item)
end

--- Asks all sources that were not asked yet.
function M.start()
  for _, item in ipairs(pending) do
    if not item.asked then
      item.asked = true
      if item.source then
        ask(item)
      else
        open(item)
      end
    end
  end
end

---@param item flemma.tools.Pending
local function add(item)
  item.over, item.asked, item.gone = false, false, false
  pending[#pending + 1] = item
  tools.announce()
end

--- Adds a source.
---@param source flemma.tools.Source
---@return string? problem
function M.add(source)
  local problem = wrong(source)
  if not problem then
    add({ source = { resolve = source.resolve, timeout = source.timeout } })
  end
  return problem
end

--- Adds a module that has `definitions` or a `resolve`.
---@param path string
---@return string? problem
function M.add_module(path)
  if not require("flemma.modules").exists(path) then
    return ("there is no module \"%s\" in 'runtimepath'; a tool needs a definition as the second argument"):format(path)
  end
  add({ module = path })
end

--- Runs `job` once all have answered.
---@param job fun()
function M.on_ready(job)
  waiting[#waiting + 1] = job
  M.start()
end

--- Forgets all sources; what they still find is dropped.
function M.clear()
  for _, item in ipairs(pending) do
    item.over, item.gone = true, true
  end
  pending, waiting = {}, {}
end

return M
