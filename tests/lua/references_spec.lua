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
  local ok, why = pcall(references.reference, { ask = 3, buffer = 0, kind = kind, name = name or "" })
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

test("the text of a buffer has no bytes that a message cannot hold", function()
  local buffer = open("refs/bytes.txt", { "a\0b", "\255", "é" })
  local answer = ask("buffer", "refs/bytes.txt")
  same(answer.text, "a␀b\n�\né\n")
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
