--- The host process and its channel: starts the process, restarts it when it dies, and
--- passes messages on without waiting for an answer. Of the messages in |flemma.protocol|
--- it reads only `welcome`.
---@class flemma.host
local M = {}

local config = require("flemma.config")
local neovim = require("flemma.neovim")
local notices = require("flemma.notices")
local protocol = require("flemma.protocol")
local queue = require("flemma.queue")

--- Most restarts within WINDOW_MS.
local MAX_RESTARTS = 3
local WINDOW_MS = 60 * 1000
--- Longest wait for `welcome`. A host answers within 30 ms.
local HELLO_TIMEOUT_MS = 5000
--- Longest time that a key waits for `welcome`.
local AWAIT_MS = 1000
local INSTALL = "Run :Flemma install and try again."

---@class flemma.host.Listener
---@field ready fun(reason: "open"|"restart") The host answered `hello`; it knows no buffer yet.
---@field lost fun() The host has exited.

---@type integer? RPC channel of the running host.
local channel
---@type flemma.protocol.Welcome? Set once the host is ready.
local welcome
---@type uv.uv_timer_t?
local watchdog
---@type flemma.host.Listener?
local listener
---@type fun()[] Jobs to run once the host is ready.
local waiting = {}
---@type number[] When the host died, in milliseconds of `vim.uv.now()`.
local deaths = {}
---@type string? Why no host is running, as a message with its fix.
local problem
local restarts = 0
--- Whether the next key installs the program, because it is missing or of another version, and
--- the user has not named it.
local installs_at_key = false

local function report(level, message)
  notices.notify({ level = level, message = message })
end

local function stop_watchdog()
  if watchdog then
    watchdog:close()
    watchdog = nil
  end
end

--- Forgets the running host, and with it what it wanted to change.
---@return integer? channel Its channel.
local function disconnect()
  local id = channel
  channel, welcome = nil, nil
  stop_watchdog()
  queue.clear()
  return id
end

--- Stops the host without a restart.
---@param why string The message for the user, which is also the answer to later keys.
local function give_up(why)
  problem, waiting = why, {}
  local id = disconnect()
  -- It is disconnected already, so `on_exit` does not restart it.
  if id then
    vim.fn.jobstop(id)
  end
  report("error", why)
end

--- Returns the plugin's folder.
---@return string
function M.root()
  return vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))))
end

--- Returns the host binary that the user names.
local function named_binary()
  local path = config.get().host.path or vim.env.FLEMMA_HOST
  return path ~= "" and path or nil
end

--- Stops the host because of its program, and says how to install another.
local function give_up_program(why)
  local keymaps = config.get().keymaps
  local key = keymaps.enabled and keymaps.normal.send or ""
  -- What is installed would not be used instead of a program that the user names.
  installs_at_key = key and key ~= "" and not named_binary() or false
  local hint = "Press %s in a chat to install the one of this version, or run :Flemma install."
  hint = installs_at_key and hint:format(require("flemma.hint").name(key)) or INSTALL
  give_up(("%s, so nothing can be sent. %s"):format(why, hint))
end

--- Returns whether a key should install the program. The key after it tries to start it again.
---@return boolean
function M.take_install()
  local installs = installs_at_key
  installs_at_key = false
  return installs
end

--- Finds the host binary: the option, $FLEMMA_HOST, the newest of the installed program and
--- the builds in the plugin's folder, then PATH. A wrong value of the first two is reported,
--- not replaced.
---@return string path Which need not exist.
function M.binary()
  local named = named_binary()
  if named then
    return vim.fs.normalize(named)
  end
  local root, program = M.root(), vim.fn.has("win32") == 1 and "flemma.exe" or "flemma"
  local newest, time
  for _, folder in ipairs({ "bin", "target/release", "target/debug" }) do
    local path = vim.fs.joinpath(root, folder, program)
    local built = vim.fn.getftime(path)
    if built > (time or -1) and vim.fn.executable(path) == 1 then
      newest, time = path, built
    end
  end
  if newest then
    return newest
  end
  local found = vim.fn.exepath("flemma")
  return found ~= "" and found or vim.fs.joinpath(root, "bin", program)
end

--- Counts the host's deaths within WINDOW_MS, and forgets older ones.
local function recent_deaths()
  local now = vim.uv.now()
  deaths = vim.tbl_filter(function(at)
    return now - at < WINDOW_MS
  end, deaths)
  return #deaths
end

local start

--- Restarts the host after it exited. Its work is in the buffers, so nothing is lost.
---@param code integer Exit code, 128 + signal when it was killed.
local function on_exit(id, code)
  -- A host that was stopped on purpose has exited.
  if id ~= channel then
    return
  end
  disconnect()
  -- Neovim ends, and with it all jobs.
  if vim.v.exiting ~= vim.NIL then
    return
  end
  if listener then
    listener.lost()
  end
  local count = recent_deaths() + 1
  deaths[count] = vim.uv.now()
  if count > MAX_RESTARTS then
    local why = "The host stopped %d times within a minute (last exit code %d), so it stays off; the text is unchanged. "
      .. "See :checkhealth flemma, then try :Flemma restart."
    give_up(why:format(count, code))
    return
  end
  restarts = restarts + 1
  report("warn", ("The host stopped (exit code %d) and is starting again; the text is unchanged."):format(code))
  start()
end

--- Starts the process and says hello; `on_welcome` continues.
function start()
  local path = M.binary()
  local install = package.loaded["flemma.install"]
  if vim.fn.executable(path) == 0 and install and install.is_running() and not named_binary() then
    -- The installation starts it.
    problem, waiting = "The host program is being installed.", {}
    return report("info", problem)
  end
  if vim.fn.executable(path) == 0 then
    give_up_program(("There is no host program at %s"):format(path))
    return
  end
  problem, installs_at_key = nil, false
  local ok, id = pcall(vim.fn.jobstart, { path, "host" }, { rpc = true, on_exit = on_exit })
  if not ok or id <= 0 then
    give_up_program(("The host program %s does not start"):format(path))
    return
  end
  channel = id
  watchdog = vim.uv.new_timer()
  local function give_up_waiting()
    -- Another host may run by then.
    if channel == id and not welcome then
      give_up(("The host program %s gives no answer, so it was stopped. %s"):format(path, INSTALL))
    end
  end
  watchdog:start(HELLO_TIMEOUT_MS, 0, vim.schedule_wrap(give_up_waiting))
  -- If the host has exited already, `on_exit` reports that.
  pcall(vim.rpcnotify, id, "hello", {
    protocol = protocol.VERSION,
    version = tostring(vim.version()),
    log = config.get().host.log,
  })
end

local function on_welcome(answer)
  stop_watchdog()
  if answer.protocol ~= protocol.VERSION then
    give_up_program(("The host speaks protocol %s, the plugin %d"):format(answer.protocol, protocol.VERSION))
    return
  end
  welcome = answer
  if listener then
    listener.ready(restarts > 0 and "restart" or "open")
  end
  local jobs = waiting
  waiting = {}
  for _, job in ipairs(jobs) do
    job()
  end
end

--- Sets what is called when the host is ready and when it has exited.
---@param to flemma.host.Listener
function M.listen(to)
  listener = to
end

--- Starts the host unless it runs or could not be started before. Returns at once.
function M.ensure()
  if not channel and not problem then
    start()
  end
end

--- Waits until the host is ready, which is started if there is none.
---@return boolean ready
function M.await()
  M.ensure()
  vim.wait(AWAIT_MS, function()
    return welcome ~= nil or not channel
  end, 10)
  return welcome ~= nil
end

--- Runs `job` now, or as soon as the host is ready. Without a host it tries to start one,
--- because what was missing may be there by now. If that fails, `job` is dropped with a
--- message.
---@param job fun()
function M.when_ready(job)
  -- A host that stopped too often is not started again at once.
  if not channel and recent_deaths() > MAX_RESTARTS and problem then
    report("error", problem)
    return
  end
  if not channel then
    start()
  end
  if welcome then
    job()
  elseif channel then
    waiting[#waiting + 1] = job
  end
end

---@type fun()?
local before_send

--- Sets what is called before each message but "changed".
---@param job fun()
function M.on_send(job)
  before_send = job
end

--- Sends a message. Does nothing before the host is ready: it then gets the state of
--- all buffers.
---@param method string
---@param payload table
---@return boolean sent
function M.send(method, payload)
  if before_send and method ~= "changed" then
    before_send()
  end
  if not welcome or not channel then
    return false
  end
  local ok, why = pcall(vim.rpcnotify, channel, method, payload)
  if not ok and method == "configure" then
    report("error", ("setup(): the options cannot be sent to the host, so the defaults apply. %s"):format(why))
  end
  return ok
end

--- Sends the answer to a question, unless the host that asked has exited: the next one
--- numbers its questions anew.
---@param asker integer? The channel of the host that asked.
---@param method string
---@param payload table
---@return boolean sent
function M.answer(asker, method, payload)
  return M.channel() == asker and M.send(method, payload)
end

--- Replaces `vim.NIL`, the wire's nil, which is a value in a table, by nil.
---@param value table Changed in place.
local function prune(value)
  for key, item in pairs(value) do
    if item == vim.NIL then
      value[key] = nil
    elseif type(item) == "table" then
      prune(item)
    end
  end
end

--- Handles one message. An error is logged and reported, because it must end neither
--- the channel nor the messages after it.
local function deliver(receive, method, payload)
  local ok, result = xpcall(receive, debug.traceback, payload)
  -- A Ctrl-C just now failed it; what is only shown is shown again.
  if not ok and protocol.SHOWN[method] and result:find(neovim.INTERRUPTED, 1, true) then
    ok, result = xpcall(receive, debug.traceback, payload)
  end
  if ok then
    return result
  end
  M.log(("%s: %s"):format(method, result))
  local message = "The plugin could not handle a message from the host (%s). See the log: %s"
  report("error", message:format(method, config.get().host.log))
end

--- Passes one message of the host to its module.
---@param method string
---@param payload table
function M.receive(method, payload)
  if method == "welcome" then
    return deliver(on_welcome, method, payload)
  end
  local module = protocol.RECEIVERS[method]
  if not module then
    M.log(("unknown message %s from the host"):format(method))
    return
  end
  prune(payload)
  local receive = require(module)[method]
  if vim.list_contains(protocol.IN_ORDER, method) then
    queue.push(payload.buffer, function()
      return deliver(receive, method, payload)
    end)
  else
    deliver(receive, method, payload)
  end
end

--- Receives all messages that the host sent at once. The host calls this.
---@param messages { [1]: string, [2]: table }[]
function M.receive_all(messages)
  for _, message in ipairs(messages) do
    M.receive(message[1], message[2])
  end
end

--- Adds a line to the log.
---@param line string
function M.log(line)
  local path = config.get().host.log
  pcall(vim.fn.mkdir, vim.fs.dirname(path), "p")
  local text = ("%s neovim: %s"):format(os.date("!%Y-%m-%dT%H:%M:%SZ"), line)
  pcall(vim.fn.writefile, vim.split(text, "\n"), path, "a")
end

--- Restarts the host, also after it was given up.
function M.restart()
  -- The user asks for it, so earlier deaths don't count.
  deaths = {}
  local id = disconnect()
  if id then
    vim.fn.jobstop(id)
    if listener then
      listener.lost()
    end
  end
  restarts = restarts + 1
  start()
end

---@return integer? channel Of the running host.
function M.channel()
  return channel
end

---@class flemma.host.State
---@field channel integer?
---@field welcome flemma.protocol.Welcome?
---@field restarts integer Since Neovim started.
---@field problem string? Why no host runs.

--- The state that `:checkhealth flemma` shows.
---@return flemma.host.State
function M.state()
  return { channel = channel, welcome = welcome, restarts = restarts, problem = problem }
end

return M
