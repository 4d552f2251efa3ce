--- Questions of the host that Lua answers.
-- luacheck: globals test same

local callbacks = require("flemma.callbacks")
local chat = require("chat")
local config = require("flemma.config")
local host = require("flemma.host")

test("the user's functions answer in order, also if one of them fails", function()
  chat.new({ "" })
  local plain = config.wire({
    yes = function(name, input)
      return name == "bash" and input.limit == nil
    end,
    bad = function()
      error("boom", 0)
    end,
    odd = function()
      return {}
    end,
    none = function() end,
  })
  local calls = {}
  for index, name in ipairs({ "yes", "bad", "odd", "none" }) do
    calls[index] = { functions = { plain[name]["function"] }, arguments = { "bash", { limit = vim.NIL } } }
  end
  chat.host("ask", { ask = 5, calls = calls })
  same(chat.messages("answered"), {
    {
      ask = 5,
      values = {
        { { ok = true, value = true, kind = "boolean" } },
        { { ok = false, value = vim.NIL, kind = "nil", message = "boom" } },
        { { ok = true, value = vim.NIL, kind = "table" } },
        { { ok = true, value = vim.NIL, kind = "nil" } },
      },
    },
  })
end)

test("functions are called one after another until one returns something", function()
  chat.new({ "" })
  local asked = {}
  local function answering(name, answer)
    return callbacks.add(function(tool, input)
      asked[#asked + 1] = name .. " " .. tool .. " " .. (input.command or "nothing")
      input.command = nil
      return answer
    end)
  end
  local broken = callbacks.add(function()
    error("boom", 0)
  end)
  local functions = { answering("first"), broken, answering("second", "deny"), answering("third", "approve") }
  chat.host("ask", { ask = 1, calls = { { functions = functions, arguments = { "bash", { command = "ls" } } } } })
  same(asked, { "first bash ls", "second bash ls" })
  same(chat.messages("answered")[1].values, {
    {
      { ok = true, value = vim.NIL, kind = "nil" },
      { ok = false, value = vim.NIL, kind = "nil", message = "boom" },
      { ok = true, value = "deny", kind = "string" },
    },
  })
end)

test("a number without a function is answered as gone", function()
  chat.new({ "" })
  local id = callbacks.add(function() end)
  callbacks.drop({ id })
  chat.host("ask", { ask = 1, calls = { { functions = { id }, arguments = { "bash", {} } } } })
  same(chat.messages("answered")[1].values[1][1].kind, "gone")
end)

--- Runs `body` with pickers that stay open, and a host with this channel.
---@param body fun(open: fun(...)[], to: fun(channel: integer))
local function with_open_pickers(body)
  local select, input, channel = vim.ui.select, vim.ui.input, host.channel
  local open = {}
  vim.ui.select = function(items, _, choose)
    open[#open + 1] = function(at)
      choose(items[at], at)
    end
  end
  vim.ui.input = function(_, enter)
    open[#open + 1] = enter
  end
  local ok, why = pcall(body, open, function(id)
    host.channel = function()
      return id
    end
  end)
  vim.ui.select, vim.ui.input, host.channel = select, input, channel
  assert(ok, why)
end

test("an answer goes only to the host that asked", function()
  with_open_pickers(function(open, to)
    chat.new({ "" })
    to(3)
    chat.host("prompt", { ask = 1, title = "Which?", items = { "one", "two" } })
    chat.host("prompt", { ask = 2, title = "Name?", initial = "" })
    vim.wait(1000, function()
      return #open == 2
    end)
    open[1](2)
    same(chat.messages("prompted"), { { ask = 1, item = 1 } })
    -- Another host, whose questions reuse the same numbers.
    to(4)
    open[2]("Ann")
    open[1](1)
    same(#chat.messages("prompted"), 1)
  end)
end)

test("a question of a host that has exited is not shown", function()
  with_open_pickers(function(open, to)
    chat.new({ "" })
    to(3)
    chat.host("prompt", { ask = 1, title = "Which?", items = { "one", "two" } })
    to(4)
    chat.host("prompt", { ask = 1, title = "Name?", initial = "" })
    vim.wait(1000, function()
      return #open > 0
    end)
    open[1]("Ann")
    same(chat.messages("prompted"), { { ask = 1, text = "Ann" } })
  end)
end)

test("a late answer of a function goes to no other host", function()
  with_open_pickers(function(_, to)
    chat.new({ "" })
    to(3)
    local id = callbacks.add(function()
      to(4)
      return true
    end)
    chat.host("ask", { ask = 1, calls = { { functions = { id }, arguments = { "bash", {} } } } })
    same(chat.messages("answered"), {})
    callbacks.drop({ id })
  end)
end)

test("a file is replaced through its buffer, and saved only if the buffer was unmodified", function()
  local path = vim.fn.tempname()
  vim.fn.writefile({ "one", "two", "three" }, path)
  vim.cmd.edit(vim.fn.fnameescape(path))
  chat.sent = {}
  chat.host("open_text", { ask = 1, path = path })
  same(chat.messages("buffers_answered")[1].text, "one\ntwo\nthree\n")
  local stat = assert(vim.uv.fs_stat(path))
  local file = { device = stat.dev, inode = stat.ino }
  local new = "one\n2\nthree\n4\n"
  chat.host("replace_text", { ask = 2, path = path, file = file, expected = "one\ntwo\nthree\n", text = new })
  same(chat.messages("buffers_answered")[2], { ask = 2, ok = true, saved = true, bytes = #new })
  same(vim.fn.readfile(path), { "one", "2", "three", "4" })
  chat.host("replace_text", { ask = 3, path = path, file = file, expected = "something else", text = "" })
  same(chat.messages("buffers_answered")[3].ok, false)
  vim.cmd("silent undo")
  same(chat.lines(0), { "one", "two", "three" })
  vim.cmd.bwipeout({ bang = true })
  os.remove(path)
end)

test("an unknown message is logged and has no effect", function()
  local log = vim.fn.tempname()
  config.load({ host = { log = log } })
  chat.host("frobnicate", {})
  assert(table.concat(vim.fn.readfile(log)):find("frobnicate", 1, true))
  os.remove(log)
  config.load({})
end)

test("what is shown is shown again if a Ctrl-C interrupts it, and an edit is not made twice", function()
  local notices, log = require("flemma.notices"), host.log
  local notify = notices.notify
  local reported = {}
  notices.notify = function(message)
    reported[#reported + 1] = message.message
  end
  host.log = function() end
  -- As Neovim fails a command and a call.
  for _, why in ipairs({ "Keyboard interrupt", "a.lua:0: Keyboard interrupt" }) do
    for method, expected in pairs({ statusline = 2, marks = 2, report = 1 }) do
      local module = require(require("flemma.protocol").RECEIVERS[method])
      local receive, calls = module[method], 0
      module[method] = function()
        calls = calls + 1
        if calls == 1 then
          error(why, 0)
        end
      end
      reported = {}
      chat.host(method, { buffer = vim.api.nvim_get_current_buf() })
      module[method] = receive
      same({ method, calls, #reported }, { method, expected, 2 - expected })
    end
  end
  notices.notify, host.log = notify, log
end)
