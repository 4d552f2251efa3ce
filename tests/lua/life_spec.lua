--- Start, death, and absence of the host process. Starts are recorded, messages go through
--- `receive()`, and a death calls the callback that Neovim would call.
-- luacheck: globals test same

local host = require("flemma.host")
local mirror = require("flemma.mirror")
local protocol = require("flemma.protocol")

local starts = 0
local command ---@type string[] Of the last start.
local exit ---@type fun(code: integer) Ends the host that was started last.
local said = {} ---@type { method: string, payload: table }[]
local stopped = {} ---@type integer[]
local reported = {} ---@type string[]

local real = { jobstart = vim.fn.jobstart, jobstop = vim.fn.jobstop, rpcnotify = vim.rpcnotify, notify = vim.notify }

vim.fn.jobstart = function(words, options)
  starts = starts + 1
  local id = starts
  command = words
  exit = function(code)
    options.on_exit(id, code)
  end
  return id
end
vim.fn.jobstop = function(id)
  stopped[#stopped + 1] = id
end
vim.rpcnotify = function(_, method, payload)
  said[#said + 1] = { method = method, payload = payload }
end
vim.notify = function(message)
  reported[#reported + 1] = message
end

local function forget()
  said, stopped, reported = {}, {}, {}
end

---@return string[]
local function methods()
  return vim.tbl_map(function(message)
    return message.method
  end, said)
end

--- Opens a chat with this text.
---@param lines string[]
---@return integer buffer
local function open(lines)
  local buffer = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_set_current_buf(buffer)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  require("flemma.buffer").open(buffer)
  return buffer
end

local function welcome(version)
  host.receive("welcome", { protocol = version or protocol.VERSION, version = "0.1.0" })
end

test("if a part of the plugin fails to start, the next chat starts all of it", function()
  vim.env.FLEMMA_HOST = "/nonexistent/flemma"
  local hidden = require("flemma.hidden")
  local start, paste = hidden.start, vim.paste
  hidden.start = function()
    error("fails")
  end
  local ok, why = pcall(open, { "@You:" })
  hidden.start = start
  same({ ok, tostring(why):find("fails", 1, true) ~= nil }, { false, true })
  vim.cmd.bwipeout({ bang = true })
  same({ mirror.attached(open({ "@You:" })), vim.paste ~= paste }, { true, true })
  vim.cmd.bwipeout({ bang = true })
  forget()
end)

test("without a host program a chat is an ordinary buffer, and a key shows what to do", function()
  vim.env.FLEMMA_HOST = "/nonexistent/flemma"
  local buffer = open({ "@You:" })
  require("flemma.buffer").command("advance")
  same(starts, 0)
  assert(reported[1]:find("no host program at /nonexistent/flemma", 1, true), reported[1])
  assert(reported[1]:find(":Flemma install", 1, true), reported[1])
  vim.api.nvim_buf_set_lines(buffer, 1, 1, false, { "still editable" })
  same(said, {})
  vim.cmd.bwipeout({ bang = true })
end)

test("a host gets nothing before it answers hello, and then everything, in order", function()
  forget()
  vim.env.FLEMMA_HOST = vim.v.progpath
  open({ "@You:", "hello" })
  require("flemma.buffer").command("advance")
  same(command, { vim.v.progpath, "host" })
  same(methods(), { "hello" })
  welcome()
  same(methods(), { "hello", "configure", "attach", "snapshot", "open_files", "command" })
  same(said[3].payload.reason, "open")
  same(said[4].payload.text, "@You:\nhello")
  same(reported, {})
end)

test("changes of 'modified' are followed with and without an event of their own", function()
  local exists, buffer = vim.fn.exists, vim.api.nvim_get_current_buf()
  local followed = {}
  for name, has_event in pairs({ BufModifiedSet = 1, OptionSet = 0 }) do
    vim.fn.exists = function()
      return has_event
    end
    -- Neovim 0.13 lacks the first event.
    local ok = pcall(require("flemma.buffer.autocommands").on_modified, "test " .. name, function(changed)
      followed[#followed + 1] = { name, changed }
    end)
    vim.fn.exists = exists
    same({ name, ok }, { name, exists("##" .. name) == 1 })
  end
  vim.cmd("set modified")
  vim.wait(1000, function()
    return #followed > 0
  end, 1)
  same(followed[1], { "OptionSet", buffer })
  same(#vim.api.nvim_get_autocmds({ group = "flemma.buffer", event = "OptionSet", pattern = "modified" }) > 0, true)
end)

test("a host that dies is restarted and learns what ran", function()
  forget()
  local buffer = vim.api.nvim_get_current_buf()
  host.receive("lock", { buffer = buffer, locked = true })
  local at = { anchor = 1, line = 0, column = 0 }
  host.receive("apply", { buffer = buffer, edit = 1, seq = mirror.seq(buffer), changes = {}, anchor = at })
  host.receive(
    "marks",
    { buffer = buffer, items = { { id = "toolu_1", line = 0, header_line = 0, state = "running" } } }
  )
  local item = { text = "then this", when = "later" }
  host.receive("queued", { buffer = buffer, line = 0, items = { item }, tasks = {} })
  exit(137)
  welcome()
  same(vim.bo[buffer].modifiable, true)
  local attach = vim.tbl_filter(function(message)
    return message.method == "attach"
  end, said)[1].payload
  same({ attach.reason, attach.interrupted, attach.streaming }, { "restart", { "toolu_1" }, true })
  -- The message is kept until the new host responds.
  same({ attach.queued, require("flemma.queued").texts(buffer) }, { { "then this" }, { "then this" } })
  host.receive("queued", { buffer = buffer, line = 0, items = {}, tasks = {} })
  same(require("flemma.queued").texts(buffer), {})
end)

test("a host that keeps dying is restarted three times, then off with a hint", function()
  host.restart()
  forget()
  local before = starts
  for _ = 1, 4 do
    exit(1)
  end
  same(starts, before + 3)
  assert(reported[#reported]:find("stopped 4 times", 1, true), reported[#reported])
  require("flemma.buffer").command("advance")
  same(starts, before + 3)
  assert(reported[#reported]:find(":Flemma restart", 1, true), reported[#reported])
end)

test("while the program is being installed, its absence is not an error", function()
  local named, binary = vim.env.FLEMMA_HOST, host.binary
  local install = require("flemma.install")
  local is_running = install.is_running
  vim.env.FLEMMA_HOST = nil
  host.binary = function()
    return "/nonexistent/flemma"
  end
  install.is_running = function()
    return true
  end
  forget()
  host.restart()
  same(reported, { "Flemma: The host program is being installed." })
  install.is_running = is_running
  forget()
  host.restart()
  assert(reported[1]:find("There is no host program", 1, true), reported[1])
  vim.env.FLEMMA_HOST, host.binary = named, binary
end)

test("a host of another protocol is stopped with a message that names the key that installs the fitting one", function()
  local named, binary = vim.env.FLEMMA_HOST, host.binary
  vim.env.FLEMMA_HOST = nil
  host.binary = function()
    return vim.v.progpath
  end
  host.restart()
  forget()
  welcome(99)
  same(#stopped, 1)
  assert(reported[1]:find("The host speaks protocol 99, the plugin 2", 1, true), reported[1])
  assert(reported[1]:find("Press Ctrl-] in a chat to install", 1, true), reported[1])
  same(host.channel(), nil)
  local install, installed, before = require("flemma.install"), 0, starts
  local real_start = install.start
  install.start = function()
    installed = installed + 1
  end
  require("flemma.buffer").command("status")
  same({ installed, starts }, { 0, before + 1 })
  welcome(99)
  require("flemma.buffer").command("advance")
  same({ installed, starts }, { 1, before + 1 })
  -- The next key tries again to start it.
  require("flemma.buffer").command("advance")
  same({ installed, starts }, { 1, before + 2 })
  -- A program that the user names is not replaced.
  vim.env.FLEMMA_HOST = vim.v.progpath
  welcome(99)
  assert(reported[#reported]:find("Run :Flemma install", 1, true), reported[#reported])
  require("flemma.buffer").command("advance")
  same(installed, 1)
  welcome(99)
  vim.env.FLEMMA_HOST, host.binary, install.start = named, binary, real_start
  vim.cmd.bwipeout({ bang = true })
end)

vim.fn.jobstart, vim.fn.jobstop = real.jobstart, real.jobstop
vim.rpcnotify, vim.notify = real.rpcnotify, real.notify
