--- Virtual text of calls, requests, diagnostics, and queued messages.
-- luacheck: globals test same

local chat = require("chat")
local render = require("flemma.render")

local NAMESPACE = vim.api.nvim_create_namespace("flemma.marks")

---@param buffer integer
---@return table[] { line, text } of all virtual text, in order.
local function drawn(buffer)
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, NAMESPACE, 0, -1, { details = true })) do
    for _, line in ipairs(mark[4].virt_lines or {}) do
      found[#found + 1] = { mark[2], line[1][1] }
    end
    if mark[4].virt_text then
      found[#found + 1] = { mark[2], mark[4].virt_text[1][1] }
    end
  end
  return found
end

test("a pending call shows its preview above the fence, which may be concealed, and loses it when it runs", function()
  local buffer = chat.new({ "**Tool Result:** `t`", "", "```flemma:tool status=pending", "```" })
  chat.host("marks", { buffer = buffer, items = { { id = "t", line = 2, preview = "bash: $ ls" } } })
  same(drawn(buffer), { { 1, "bash: $ ls" } })
  chat.host("marks", { buffer = buffer, items = {} })
  same(drawn(buffer), {})
  same(chat.lines(buffer)[3], "```flemma:tool status=pending")
end)

--- Returns the virtual lines of a buffer, with the groups of each piece.
---@param buffer integer
---@return string[] lines
local function virtual_lines(buffer)
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, NAMESPACE, 0, -1, { details = true })) do
    for _, line in ipairs(mark[4].virt_lines or {}) do
      local pieces = vim.tbl_map(function(chunk)
        local groups = type(chunk[2]) == "table" and table.concat(chunk[2], "+") or chunk[2]
        return groups and ("%s{%s}"):format(chunk[1], groups) or chunk[1]
      end, line)
      found[#found + 1] = table.concat(pieces)
    end
  end
  return found
end

---@return flemma.protocol.Diff
local function some_diff()
  return {
    name = "f.lua",
    counts = "+1 −1",
    labels = "",
    width = 20,
    digits = 2,
    more = 3,
    rows = {
      { kind = "context", number = 9, text = "do", changed = {} },
      { kind = "delete", number = 10, text = "local a = 1", changed = { 10, 11 } },
      { kind = "add", number = 10, text = "local a =", changed = {} },
      { kind = "add", number = 0, text = " 22", changed = { 1, 3 } },
      { kind = "remark", number = 0, text = "⋯", changed = {} },
    },
  }
end

test("a diff is drawn below the preview, with changed words on their own background", function()
  local buffer = chat.new({ "fence" })
  local item = { id = "t", line = 0, header_line = 0, preview = "edit: f.lua", diff = { some_diff() } }
  chat.host("marks", { buffer = buffer, items = { item } })
  same(virtual_lines(buffer), {
    "edit: f.lua{FlemmaToolPreview}",
    "f.lua{FlemmaDiffFile}  +1 −1{FlemmaToolPreview}",
    " 9 {FlemmaDiffNumber}  do",
    "10 {FlemmaDiffNumber}- {FlemmaDiffDelete}local a = {FlemmaDiffDelete}1{FlemmaDiffDelete+FlemmaDiffDeleteText}"
      .. "    {FlemmaDiffDelete}",
    "10 {FlemmaDiffNumber}+ {FlemmaDiffAdd}local a ={FlemmaDiffAdd}      {FlemmaDiffAdd}",
    "   {FlemmaDiffNumber}+ {FlemmaDiffAdd} {FlemmaDiffAdd}22{FlemmaDiffAdd+FlemmaDiffText}"
      .. "            {FlemmaDiffAdd}",
    "   ⋯{FlemmaDiffNumber}",
    "… 3 more lines{FlemmaHint}",
  })
end)

test("a call that would fail shows why", function()
  local buffer = chat.new({ "fence" })
  local failed = { name = "", counts = "", labels = "Would fail: it is not there.", width = 16, digits = 0 }
  failed.rows, failed.more = {}, 0
  chat.host("marks", { buffer = buffer, items = { { id = "t", line = 0, header_line = 0, diff = { failed } } } })
  same(virtual_lines(buffer), { "Would fail: it{FlemmaToolError}", "is not there.{FlemmaToolError}" })
end)

test("a diff has the colors of its file, from a parser or a syntax file", function()
  local buffer, shown = chat.new({ "fence" }), some_diff()
  local function colored(pattern)
    chat.host("marks", { buffer = buffer, items = { { id = "t", line = 0, header_line = 0, diff = { shown } } } })
    assert(
      vim.wait(2000, function()
        return table.concat(virtual_lines(buffer), "\n"):find(pattern, 1, true) ~= nil
      end),
      vim.inspect(virtual_lines(buffer))
    )
    chat.host("marks", { buffer = buffer, items = {} })
  end
  vim.o.termguicolors = true
  -- Neovim has a parser for Lua.
  colored("local{FlemmaDiffAdd+@keyword.lua}")
  colored("local{FlemmaDiffDelete+@keyword.lua}")
  -- The second row continues a line: its number is no new statement.
  colored("22{FlemmaDiffAdd+FlemmaDiffText+@number.lua}")
  vim.cmd("syntax on")
  shown = some_diff()
  shown.name = "f.py"
  shown.rows = { { kind = "add", number = 1, text = "return 1", changed = {} } }
  colored("return{FlemmaDiffAdd+Statement}")
  -- Without RGB colors, text could have the color of its background.
  vim.o.termguicolors = false
  shown = some_diff()
  chat.host("marks", { buffer = buffer, items = { { id = "t", line = 0, header_line = 0, diff = { shown } } } })
  vim.wait(0)
  assert(not table.concat(virtual_lines(buffer)):find("@", 1, true))
end)

test("colors that arrive late draw no diff again that is gone or has changed", function()
  local diff = require("flemma.diff")
  local lines_of, late = diff.virtual_lines, nil
  diff.virtual_lines = function(file, colored)
    late = colored
    return lines_of(file, colored)
  end
  local buffer = chat.new({ "fence" })
  local function show(...)
    local items = vim.iter({ ... }):map(function(preview)
      return { id = "t", line = 0, header_line = 0, preview = preview, diff = { some_diff() } }
    end)
    chat.host("marks", { buffer = buffer, items = items:totable() })
    return late
  end
  for _, after in ipairs({ {}, { "second" } }) do
    local colored = show("first")
    show(unpack(after))
    local shown = virtual_lines(buffer)
    colored()
    vim.wait(0)
    same(virtual_lines(buffer), shown)
  end
  diff.virtual_lines = lines_of
end)

test("removed lines have the background of added ones in red, unless the color scheme has one", function()
  local highlights = require("flemma.highlights")
  local function removed(add, delete)
    vim.cmd("highlight clear")
    vim.api.nvim_set_hl(0, "DiffAdd", { bg = add })
    vim.api.nvim_set_hl(0, "DiffDelete", delete)
    highlights.define({})
    local group = vim.api.nvim_get_hl(0, { name = "FlemmaDiffDelete", link = false })
    return group.bg or false, group.ctermfg or false
  end
  same({ removed(0x005523, { fg = 0xffc0b9, ctermfg = 9 }) }, { 0x550023, 9 })
  same({ removed(0x005523, { fg = 0xffc0b9, bg = 0x400000 }) }, { 0x400000, false })
  -- Red says nothing next to blue.
  same({ removed(0x000055, { fg = 0xffc0b9 }) }, { false, false })
  vim.cmd("highlight clear")
  highlights.define({})
end)

test("a field that is nil in a message is absent", function()
  local buffer = chat.new({ "fence" })
  local item =
    { id = "t", line = 0, header_line = 0, preview = "read: a", state = vim.NIL, label = vim.NIL, output = {} }
  chat.host("marks", { buffer = buffer, items = { item } })
  same(drawn(buffer), { { 0, "read: a" } })
end)

test("a running call spins on its header and is remembered as running", function()
  local buffer = chat.new({ "header", "", "fence" })
  local item = { id = "t", line = 2, header_line = 0, state = "running", label = "bash", elapsed_ms = 3000 }
  item.output = { "last \27[31mline" }
  chat.host("marks", { buffer = buffer, items = { item } })
  same(drawn(buffer)[2], { 2, "last ^[[31mline" })
  assert(drawn(buffer)[1][2]:find("bash", 1, true))
  same(render.running(buffer), { "t" })
  render.forget(buffer)
  same(drawn(buffer), {})
end)

test("a waiting request is one virtual line below the text", function()
  local buffer = chat.new({ "@You:", "hello" })
  chat.host("request", { buffer = buffer, state = "waiting", label = "Waiting" })
  same(drawn(buffer)[1][1], 1)
  same(chat.lines(buffer), { "@You:", "hello" })
  chat.host("request", { buffer = buffer, state = "streaming" })
  same(drawn(buffer), {})
end)

test("diagnostics name the place and the fix, and go away", function()
  local buffer = chat.new({ "a", "b" })
  local item = { line = 1, end_line = 2, message = "Wrong.", severity = "warning", fix = "Do this." }
  chat.host("diagnostics", { buffer = buffer, items = { item } })
  local shown = vim.diagnostic.get(buffer)
  same({ shown[1].lnum, shown[1].message, shown[1].severity }, { 1, "Wrong. Do this.", vim.diagnostic.severity.WARN })
  chat.host("diagnostics", { buffer = buffer, items = {} })
  same(vim.diagnostic.get(buffer), {})
end)

test("queued messages are drawn below the end, with control characters made visible", function()
  local buffer = chat.new({ "@You:", "hello" })
  local space = vim.api.nvim_create_namespace("flemma.queued")
  ---@return table[]
  local function shown()
    local found = vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })
    return vim.tbl_map(function(mark)
      local lines = vim.tbl_map(function(line)
        return line[1][1]
      end, mark[4].virt_lines)
      return { mark[2], lines }
    end, found)
  end
  local items = { { text = "one\27[31m\ntwo\n3\n4", when = "next" }, { text = "five", when = "later" } }
  chat.host("queued", { buffer = buffer, line = 1, items = items, tasks = {} })
  local lines = { "⏵ next: one^[[31m", "        two", "        3 …", "⏵ then: five" }
  same(shown(), { { 1, lines } })
  -- It moves when an answer is added there.
  vim.api.nvim_buf_set_text(buffer, 1, 5, 1, 5, { " you", "there" })
  same(shown(), { { 2, lines } })
  -- The model's tasks are shown at the same place.
  local task = { text = "read it", status = "completed" }
  chat.host("queued", { buffer = buffer, line = 2, items = {}, tasks = { task } })
  same(shown(), { { 2, { "✓ read it" } } })
  chat.host("queued", { buffer = buffer, line = 2, items = {}, tasks = {} })
  same(shown(), {})
end)

test("<CR> in a report opens the file of its line", function()
  local path = vim.fn.tempname()
  vim.fn.writefile({ "--- a/f", "+++ b/f" }, path)
  chat.host("report", { title = "log", lines = { "one", "two" }, files = { { 1, path } } })
  local report = vim.api.nvim_get_current_win()
  vim.api.nvim_feedkeys(vim.keycode("gg<CR>"), "xt", false)
  same(vim.api.nvim_get_current_win(), report)
  vim.api.nvim_feedkeys(vim.keycode("j<CR>"), "xt", false)
  same({ vim.fn.getline(1), vim.bo.filetype, vim.bo.readonly }, { "--- a/f", "diff", true })
  vim.cmd("bwipeout!")
  vim.api.nvim_win_close(report, true)
end)
