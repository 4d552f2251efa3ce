--- What references name in Neovim.
-- luacheck: globals test same

local host = require("flemma.host")
local references = require("flemma.references")

local api = vim.api

--- Passes a question of the host and returns the reply.
local function ask(kind, name)
  local answered
  local answer = host.answer
  host.answer = function(_, method, payload)
    same(method, "reference_answered")
    answered = payload
  end
  local ok, why = pcall(references.reference, {
    ask = 3,
    buffer = 0,
    kind = kind,
    name = name or "",
    folder = vim.fn.getcwd(),
  })
  host.answer = answer
  assert(ok, why)
  same(answered.ask, 3)
  return answered
end

--- Opens a buffer with this name and text.
local function open(name, lines)
  local buffer = api.nvim_create_buf(true, false)
  api.nvim_buf_set_name(buffer, name)
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  return buffer
end

test("a buffer is named by its path from the working directory, the end of it, or its number", function()
  local one, two = open("refs/a/x.txt", { "one" }), open("refs/b/x.txt", { "two" })
  same(ask("buffer", "refs/a/x.txt").text, "one\n")
  same(ask("buffer", "b/x.txt").text, "two\n")
  same(ask("buffer", tostring(one)).text, "one\n")
  same(ask("buffer", api.nvim_buf_get_name(two)).text, "two\n")
  same(ask("buffer", "x.txt").problem, "fits several open buffers: refs/a/x.txt, refs/b/x.txt. Write more of the path.")
  assert(ask("buffer", "ext").problem:find("is not an open buffer"))
  api.nvim_buf_delete(one, { force = true })
  same(ask("buffer", "x.txt").text, "two\n")
  api.nvim_buf_delete(two, { force = true })
end)

test("a buffer may have a name that is a pattern, a command, or looks like a number", function()
  for _, name in ipairs({ "refs/a b[1]*.txt", "refs/%d|q.txt", "refs/é\\x.txt", "99999" }) do
    local buffer = open(name, { name })
    same(ask("buffer", name).text, name .. "\n")
    api.nvim_buf_delete(buffer, { force = true })
    assert(ask("buffer", name).problem:find("is not an open buffer"), name)
  end
end)

test("the text of a buffer has no NUL, which a message cannot hold", function()
  local buffer = open("refs/bytes.txt", { "a\0b", "é" })
  local answer = ask("buffer", "refs/bytes.txt")
  same(answer.text, "a␀b\né\n")
  same({ answer.modified, answer.path }, { true, api.nvim_buf_get_name(buffer) })
  api.nvim_buf_delete(buffer, { force = true })
end)

test("a buffer without a name has its number in the list", function()
  local buffer = api.nvim_create_buf(true, true)
  local names = vim.tbl_map(function(item)
    return item.name
  end, ask("buffers").items)
  assert(vim.list_contains(names, tostring(buffer)))
  api.nvim_buf_delete(buffer, { force = true })
end)

--- Returns the symbols in the reply, as `line kind name`.
local function symbols_of(path)
  local answered
  local answer = host.answer
  host.answer = function(_, _, payload)
    answered = payload
  end
  references.reference({ ask = 3, buffer = 0, kind = "symbols", name = "" })
  assert(vim.wait(5000, function()
    return answered ~= nil
  end))
  host.answer = answer
  local found = {}
  for _, item in ipairs(answered.items) do
    if vim.endswith(item.path or "", path) then
      found[#found + 1] = ("%d %s %s"):format(item.line, item.kind, item.text)
    end
  end
  return found
end

test("without a language server, symbols come from tree-sitter", function()
  local lua = open(
    "refs/m.lua",
    { "local M = {}", "function M.one() local function inner() end end", "local function two() end" }
  )
  vim.bo[lua].filetype = "lua"
  local c = open("refs/m.c", { "struct point { int x; };", "int *sum(int a) { return 0; }" })
  vim.bo[c].filetype = "c"
  same(symbols_of("refs/m.lua"), { "2 function M.one", "3 function two" })
  same(symbols_of("refs/m.c"), { "1 struct point", "2 function sum" })
  local other = open("refs/m.none", { "x" })
  same(symbols_of("refs/m.none"), {})
  for _, buffer in ipairs({ lua, c, other }) do
    api.nvim_buf_delete(buffer, { force = true })
  end
end)

--- Starts a language server whose answer about symbols is this, or that never answers.
local function serve(buffer, symbols)
  local id = vim.lsp.start({
    name = "symbols",
    cmd = function(dispatchers)
      local is_closed = false
      return {
        request = function(method, _, callback)
          if method == "initialize" then
            callback(nil, { capabilities = { documentSymbolProvider = true } })
          elseif method == "textDocument/documentSymbol" and symbols then
            callback(nil, symbols)
          end
          return true, 1
        end,
        notify = function() end,
        is_closing = function()
          return is_closed
        end,
        terminate = function()
          is_closed = true
          dispatchers.on_exit(0, 0)
        end,
      }
    end,
  }, {
    bufnr = buffer,
    reuse_client = function()
      return false
    end,
  })
  assert(vim.wait(5000, function()
    return #vim.lsp.get_clients({ bufnr = buffer, method = "textDocument/documentSymbol" }) == 1
  end))
  return id
end

--- Ends a language server.
local function stop(id)
  vim.lsp.stop_client(id, true)
  assert(vim.wait(5000, function()
    return #vim.lsp.get_clients({ name = "symbols" }) == 0
  end))
end

local function range(line)
  return { start = { line = line, character = 0 }, ["end"] = { line = line, character = 1 } }
end

test("symbols of a language server have the names of those that contain them, and no variables of functions", function()
  local buffer = open("refs/s.txt", { "a", "b", "c" })
  local field = { name = "x", kind = 13, range = range(2), selectionRange = range(2) }
  local method = { name = "next", kind = 6, range = range(1), selectionRange = range(1), children = { field } }
  local class = { name = "Lexer", kind = 5, range = range(0), selectionRange = range(0), children = { method } }
  local id = serve(buffer, { class })
  same(symbols_of("refs/s.txt"), { "1 class Lexer", "2 method Lexer.next" })
  stop(id)
  -- The flat form of older servers.
  local flat = { name = "run", kind = 12, containerName = "app", location = { uri = "", range = range(2) } }
  id = serve(buffer, { flat })
  same(symbols_of("refs/s.txt"), { "3 function app.run" })
  stop(id)
  api.nvim_buf_delete(buffer, { force = true })
end)

test("a language server that does not answer is not waited for", function()
  local buffer = open("refs/w.lua", { "function f() end" })
  vim.bo[buffer].filetype = "lua"
  local id = serve(buffer, nil)
  same(symbols_of("refs/w.lua"), { "1 function f" })
  stop(id)
  api.nvim_buf_delete(buffer, { force = true })
end)

test("only the first thousand diagnostics and quickfix entries are sent", function()
  local buffer = open("refs/many.txt", { "x" })
  local found, entries = {}, {}
  for at = 1, 1500 do
    found[at] = { lnum = 0, col = at, message = "m" .. at, severity = 1 }
    entries[at] = { text = "t" .. at, bufnr = buffer, lnum = at }
  end
  vim.diagnostic.set(api.nvim_create_namespace("refs"), buffer, found)
  vim.fn.setqflist(entries)
  for _, kind in ipairs({ "diagnostics", "quickfix" }) do
    local answer = ask(kind)
    same({ #answer.items, answer.total }, { 1000, 1500 })
  end
  vim.fn.setqflist({})
  same(ask("quickfix").items, {})
  api.nvim_buf_delete(buffer, { force = true })
end)
