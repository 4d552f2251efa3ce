--- Problems of changed files: syntax errors of texts, and diagnostics before and after a change.
-- luacheck: globals test same

local host = require("flemma.host")
local problems = require("flemma.problems")

local api = vim.api
local NAMESPACE = api.nvim_create_namespace("flemma.test.problems")

--- Asks about a file, and waits for the answer.
---@param message table
---@return table
local function find(message)
  local found
  local send = host.send
  host.send = function(name, payload)
    if name == "problems_found" then
      found = payload
    end
  end
  message.ask = 1
  local ok, why = pcall(problems.find_problems, message)
  vim.wait(5000, function()
    return found ~= nil
  end, 1)
  host.send = send
  assert(ok, why)
  return assert(found, "no answer")
end

test("an error in a text has its line, in the languages of the bundled parsers", function()
  for _, case in ipairs({
    { "/x/f.lua", "local a = 1\nlocal b = = 2\n", 1, "local b = = 2", "unexpected text" },
    { "/x/f.lua", "local t = {\n  1,\nprint(t)\n", 2, "print(t)", 'missing "}"' },
    { "/x/f.c", "int f(void)\n{\n  return 0\n}\n", 2, "  return 0", 'missing ";"' },
    { "/x/f.vim", "let x = 1\nlet y = = 2\n", 1, "let y = = 2", "unexpected text" },
  }) do
    local path, text, line, shown, message = unpack(case)
    local found = find({ path = path, after = text })
    same(found.before, {})
    same(found.after, { { kind = "syntax", line = line, text = shown, message = message } })
  end
end)

test("errors of both texts are found, for the host to compare", function()
  local found = find({ path = "/x/f.lua", before = "x = = 1\ny = 2\n", after = "x = = 1\ny = 3\n" })
  same(found.before, found.after)
  same(#found.before, 1)
end)

test("a text without errors, or without a parser, has none", function()
  same(find({ path = "/x/f.lua", before = "x = 1\n", after = "x = 2\n" }), { ask = 1, before = {}, after = {} })
  same(find({ path = "/x/f.unknown", before = "= =", after = "= = =" }), { ask = 1, before = {}, after = {} })
end)

test("errors that are nested deeply, or many, do not count as errors of the plugin", function()
  local deep = find({ path = "/x/f.lua", after = "x = " .. ("("):rep(20000) })
  same(deep.before, {})
  local many = find({ path = "/x/f.lua", after = ("x = = 1\n"):rep(3000) })
  same(many.after, {})
end)

test("a text is checked in short steps, and one that is too large is not", function()
  local line = "local function f(text) return #text > 0 and { a = text } or nil end\n"
  local schedule, steps = vim.schedule, 0
  vim.schedule = function(step)
    steps = steps + 1
    schedule(step)
  end
  local text = line:rep(3000) .. "x = = 1\n"
  local found = find({ path = "/x/f.lua", before = text, after = text })
  local taken = steps
  local none = find({ path = "/x/f.lua", after = text:rep(2) })
  vim.schedule = schedule
  assert(taken > 4, taken)
  same({ #found.before, #found.after }, { 1, 1 })
  same(found.after[1].line, 3000)
  same(none.after, {})
end)

--- Opens a file in a buffer of which a language server says something.
---@param body fun(path: string, buffer: integer, publish: fun(messages: string[]))
local function with_server(body)
  local path = vim.fn.tempname() .. ".txt"
  vim.fn.writefile({ "one", "two" }, path)
  vim.cmd.edit(path)
  local buffer = api.nvim_get_current_buf()
  local get_clients = vim.lsp.get_clients
  vim.lsp.get_clients = function(filter)
    return filter.bufnr == buffer and { {} } or {}
  end
  local ok, why = pcall(body, path, buffer, function(messages)
    vim.diagnostic.set(
      NAMESPACE,
      buffer,
      vim.tbl_map(function(message)
        return { lnum = 1, col = 0, message = message, severity = vim.diagnostic.severity.ERROR, source = "ls" }
      end, messages)
    )
  end)
  vim.lsp.get_clients = get_clients
  vim.cmd.bwipeout({ buffer, bang = true })
  assert(ok, why)
end

test("diagnostics are those before the change, and those that are published after it", function()
  with_server(function(path, buffer, publish)
    publish({ "old" })
    problems.before_change(buffer)
    api.nvim_buf_set_lines(buffer, 0, 0, true, { "zero" })
    vim.defer_fn(function()
      publish({ "old", "new" })
    end, 10)
    local found = find({ path = path, before = "one\ntwo\n", after = "zero\none\ntwo\n" })
    same(found.before, { { kind = "error", line = 1, text = "two", message = "old (ls)" } })
    same(#found.after, 2)
    same(found.after[2], { kind = "error", line = 1, text = "one", message = "new (ls)" })
  end)
end)

test("diagnostics that are published before the question count too", function()
  with_server(function(path, buffer, publish)
    problems.before_change(buffer)
    publish({ "new" })
    same(#find({ path = path, after = "" }).after, 1)
    -- Each change is compared once.
    same(#find({ path = path, after = "" }).after, 0)
  end)
end)

test("a server that publishes nothing says nothing", function()
  with_server(function(path, buffer, publish)
    publish({ "old" })
    problems.before_change(buffer)
    same(find({ path = path, after = "" }), { ask = 1, before = {}, after = {} })
  end)
end)
