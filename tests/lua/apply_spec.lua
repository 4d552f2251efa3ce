--- Edits of the host and streamed text.
-- luacheck: globals test same

local chat = require("chat")
local follow = require("flemma.follow")
local mirror = require("flemma.mirror")

---@param buffer integer
---@param changes table[] { first, last, lines }
---@param more? table
local function apply(buffer, changes, more)
  local edit = { buffer = buffer, edit = 1, seq = mirror.seq(buffer), join = false, changes = {} }
  for _, change in ipairs(changes) do
    edit.changes[#edit.changes + 1] = { first = change[1], last = change[2], lines = change[3] }
  end
  chat.host("apply", vim.tbl_extend("force", edit, more or {}))
end

--- Sets an anchor.
---@param buffer integer
---@param number integer
---@param line integer
---@param column integer
local function anchor(buffer, number, line, column)
  apply(buffer, {}, { anchor = { anchor = number, line = line, column = column } })
  chat.sent = {}
end

---@return string outcome Of the last edit.
local function outcome()
  local applied = chat.messages("applied")
  return applied[#applied] and applied[#applied].outcome
end

test("all changes of an edit are one undo step and are not sent back", function()
  local buffer = chat.new({ "a", "b", "c" })
  apply(buffer, { { 0, 1, { "A", "AA" } }, { 2, 3, { "C" } } })
  same(chat.lines(buffer), { "A", "AA", "b", "C" })
  same(outcome(), "applied")
  same(chat.messages("changed"), {})
  same(chat.messages("applied")[1].seq, mirror.seq(buffer))
  vim.cmd("silent undo")
  same(chat.lines(buffer), { "a", "b", "c" })
end)

test("an edit for an older text changes nothing", function()
  local buffer = chat.new({ "a" })
  local seq = mirror.seq(buffer)
  chat.keys("Ab<Esc>")
  apply(buffer, { { 0, 1, { "lost" } } }, { seq = seq })
  same(chat.lines(buffer), { "ab" })
  same(outcome(), "stale")
end)

test("an edit with one invalid line changes nothing at all", function()
  local buffer = chat.new({ "a", "b" })
  apply(buffer, { { 0, 1, { "A" } }, { 7, 8, { "Z" } } })
  same(chat.lines(buffer), { "a", "b" })
  same(outcome(), "failed")
end)

test("one undo reverts one change of the host and never the typing before it", function()
  local buffer = chat.new({ "" })
  chat.keys("ityped<Esc>")
  apply(buffer, { { 1, 1, { "host" } } }, { join = true })
  vim.cmd("silent undo")
  same(chat.lines(buffer), { "typed" })
end)

test("joined changes of the host are one undo step", function()
  local buffer = chat.new({ "a" })
  apply(buffer, { { 1, 1, { "one" } } })
  apply(buffer, { { 2, 2, { "two" } } }, { join = true })
  vim.cmd("silent undo")
  same(chat.lines(buffer), { "a" })
end)

test("a hidden and locked buffer is written and stays locked", function()
  local buffer = chat.new({ "a" })
  chat.host("lock", { buffer = buffer, locked = true })
  vim.api.nvim_set_current_buf(vim.api.nvim_create_buf(true, false))
  apply(buffer, { { 1, 1, { "b" } } })
  same(chat.lines(buffer), { "a", "b" })
  same(vim.bo[buffer].modifiable, false)
end)

test("the host moves the cursor only in a window that follows or asked for it", function()
  local buffer = chat.new({ "a", "b", "c" })
  local window = vim.api.nvim_get_current_win()
  local function cursor(line, more)
    local message = { buffer = buffer, line = line, column = 0, window = window }
    chat.host("cursor", vim.tbl_extend("force", message, more or {}))
    return vim.api.nvim_win_get_cursor(window)[1] - 1
  end
  same(cursor(2), 0)
  same(cursor(2, { asked = true }), 0)
  follow.key(window, buffer)
  same(cursor(2, { asked = true }), 2)
  -- First at the end, then where the host has moved the anchor.
  same(cursor(1), 1)
  same(cursor(0), 0)
  vim.api.nvim_win_set_cursor(window, { 2, 0 })
  same(cursor(0), 1)
  same(cursor(0, { from = 2 }), 1)
  same(cursor(0, { from = 1 }), 0)
  vim.api.nvim_set_current_buf(vim.api.nvim_create_buf(true, false))
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "x", "y" })
  chat.host("cursor", { buffer = buffer, line = 1, column = 0, window = window })
  same(vim.api.nvim_win_get_cursor(window), { 1, 0 })
end)

test("streamed text is inserted at its anchor while the user types above it", function()
  local buffer = chat.new({ "@Assistant:", "", "below" })
  anchor(buffer, 7, 1, 0)
  chat.host("append", { buffer = buffer, edit = 2, anchor = 7, lines = { "one ", "tw" }, join = false })
  chat.keys("ggOtyped<Esc>")
  local expect = { column = 2, tail = "tw" }
  chat.host("append", { buffer = buffer, edit = 3, anchor = 7, lines = { "o" }, join = true, expect = expect })
  same(chat.lines(buffer), { "typed", "@Assistant:", "one ", "two", "below" })
  local applied = chat.messages("applied")[2]
  same({ applied.at_row, applied.at_column }, { 3, 2 })
end)

test("text is not added where the user rewrote the line before the anchor", function()
  local buffer = chat.new({ "abc" })
  anchor(buffer, 1, 0, 3)
  chat.keys("0rX")
  local expect = { column = 3, tail = "abc" }
  chat.host("append", { buffer = buffer, edit = 1, anchor = 1, lines = { "d" }, join = false, expect = expect })
  same(chat.lines(buffer), { "Xbc" })
  same(outcome(), "moved")
end)

test("an anchor whose line was deleted is lost", function()
  local buffer = chat.new({ "a", "gone", "c" })
  anchor(buffer, 1, 1, 4)
  chat.keys("2Gdd")
  chat.host("append", { buffer = buffer, edit = 1, anchor = 1, lines = { "d" }, join = false })
  same(chat.lines(buffer), { "a", "c" })
  same(outcome(), "lost")
end)

test("an anchor for an older text is not set, and nothing is written there", function()
  local buffer = chat.new({ "a", "bc" })
  local seq = mirror.seq(buffer)
  chat.keys("ggOabove<Esc>")
  apply(buffer, {}, { seq = seq, anchor = { anchor = 1, line = 1, column = 2 } })
  same(outcome(), "stale")
  chat.host("append", { buffer = buffer, edit = 2, anchor = 1, lines = { "d" }, join = false })
  same(outcome(), "lost")
  same(chat.lines(buffer), { "above", "a", "bc" })
end)

test("an anchor is set together with the marker before it", function()
  local buffer = chat.new({ "@You:", "Go." })
  apply(buffer, { { 2, 2, { "", "@Assistant:" } } }, { anchor = { anchor = 1, line = 3, column = 11 } })
  chat.keys("ggOabove<Esc>")
  chat.host("append", { buffer = buffer, edit = 2, anchor = 1, lines = { "", "d" }, join = false })
  same(chat.lines(buffer), { "above", "@You:", "Go.", "", "@Assistant:", "d" })
end)

test("a window whose cursor is on the last line follows the stream", function()
  local buffer = chat.new({ "@Assistant:", "" })
  anchor(buffer, 1, 1, 0)
  chat.keys("G")
  chat.host("append", { buffer = buffer, edit = 1, anchor = 1, lines = { "a", "b" }, join = false })
  same(vim.api.nvim_win_get_cursor(0)[1], 3)
  chat.keys("gg")
  chat.host("append", { buffer = buffer, edit = 2, anchor = 1, lines = { "", "c" }, join = true })
  same(vim.api.nvim_win_get_cursor(0)[1], 1)
end)

test("writes that a textlock refuses are made afterwards, in order", function()
  local buffer = chat.new({ "a" })
  anchor(buffer, 1, 0, 1)
  local during
  vim.keymap.set("n", "<F5>", function()
    chat.host("append", { buffer = buffer, edit = 1, anchor = 1, lines = { "b" }, join = false })
    chat.host("append", { buffer = buffer, edit = 2, anchor = 1, lines = { "c" }, join = true })
    during = chat.lines(buffer)
    return ""
  end, { expr = true, buffer = buffer })
  chat.keys("<F5>")
  same(during, { "a" })
  vim.api.nvim_exec_autocmds("SafeState", {})
  vim.wait(1000, function()
    return #chat.messages("applied") == 2
  end)
  same(chat.lines(buffer), { "abc" })
end)

--- Runs `action` while a function of Neovim's API is replaced.
---@param name string
---@param other fun(real: function, ...: any): any
---@param action fun()
local function with_api(name, other, action)
  local real = vim.api[name]
  vim.api[name] = function(...)
    return other(real, ...)
  end
  local ok, why = pcall(action)
  vim.api[name] = real
  assert(ok, why)
end

test("an interrupt that Neovim reports after a change is ignored", function()
  local buffer = chat.new({ "a", "b" })
  local function interrupted(real, ...)
    real(...)
    error("Keyboard interrupt", 0)
  end
  with_api("nvim_buf_set_lines", interrupted, function()
    apply(buffer, { { 0, 1, { "A" } }, { 1, 2, { "B" } } })
  end)
  same(chat.lines(buffer), { "A", "B" })
  same(outcome(), "applied")
  anchor(buffer, 1, 1, 1)
  with_api("nvim_buf_set_text", interrupted, function()
    chat.host("append", { buffer = buffer, edit = 2, anchor = 1, lines = { "C" }, join = true })
  end)
  same(chat.lines(buffer), { "A", "BC" })
  same(outcome(), "applied")
  same(chat.messages("snapshot"), {})
end)

test("an interrupt before a change leaves the text and is reported", function()
  local buffer = chat.new({ "a" })
  with_api("nvim_buf_set_lines", function()
    error("Keyboard interrupt", 0)
  end, function()
    apply(buffer, { { 0, 1, { "A" } } })
  end)
  same(chat.lines(buffer), { "a" })
  same(outcome(), "failed")
end)

test("an edit that raises an error is answered with the current text", function()
  local buffer = chat.new({ "a" })
  with_api("nvim_win_set_cursor", function()
    error("no such window", 0)
  end, function()
    apply(buffer, { { 1, 1, { "b" } } })
  end)
  same(outcome(), "failed")
  same(#chat.messages("snapshot"), 1)
end)

--- A chat with two pieces of an answer, and typed text between them.
---@return integer buffer
local function half_answered()
  local buffer = chat.new({ "@You:", "Go.", "", "@Assistant:" })
  anchor(buffer, 7, 3, 11)
  chat.host("append", { buffer = buffer, edit = 2, anchor = 7, lines = { "", "one" }, join = true })
  chat.keys("2GA typed<Esc>")
  chat.host("append", { buffer = buffer, edit = 3, anchor = 7, lines = { ",", "two" }, join = true })
  return buffer
end

---@param buffer integer
local function append_last(buffer)
  local expect = { column = 3, tail = "two" }
  chat.host("append", { buffer = buffer, edit = 4, anchor = 7, lines = { ", three" }, join = true, expect = expect })
end

test("an undo that would remove part of an arriving answer is reverted", function()
  for _, keys in ipairs({ "u", "uu", "u<C-r>", "9u", ":undo 0<CR>", "g-" }) do
    local buffer = half_answered()
    chat.keys(keys)
    append_last(buffer)
    same({ keys, unpack(chat.lines(buffer)) }, { keys, "@You:", "Go. typed", "", "@Assistant:", "one,", "two, three" })
  end
end)

test("the user's own last change can be undone while an answer arrives", function()
  local buffer = half_answered()
  chat.keys("2GA more<Esc>u")
  append_last(buffer)
  same(chat.lines(buffer), { "@You:", "Go. typed", "", "@Assistant:", "one,", "two, three" })
end)

test("an answer that was undone and overwritten is lost", function()
  local buffer = half_answered()
  chat.keys("uGAx<Esc>")
  append_last(buffer)
  same(outcome(), "lost")
end)

test("trimmed blanks before an anchor do not count as a change", function()
  local buffer = chat.new({ "abc " })
  anchor(buffer, 1, 0, 4)
  chat.keys(":s/ $//<CR>")
  local expect = { column = 4, tail = "abc " }
  chat.host("append", { buffer = buffer, edit = 1, anchor = 1, lines = { "d" }, join = false, expect = expect })
  same(chat.lines(buffer), { "abcd" })
end)
