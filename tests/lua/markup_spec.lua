--- Colors of Markdown and code in the regions that a host sends.
-- luacheck: globals test same

local markup = require("flemma.markup")
local names = require("flemma.syntax.names")
local syntax = require("flemma.syntax")

vim.cmd("syntax on")

--- Makes a chat. Its text below a role marker is Markdown, apart from other regions.
---@param lines string[]
---@param ... flemma.markup.Region
---@return integer buffer
local function chat_of(lines, ...)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  local all, at = {}, 1
  for _, region in ipairs({ ... }) do
    vim.list_extend(all, at < region[1] - 1 and { { at, region[1] - 1, "markdown", "" } } or {})
    all[#all + 1], at = region, region[2] + 1
  end
  vim.list_extend(all, at < #lines and { { at, #lines, "markdown", "" } } or {})
  markup.set(buffer, all)
  vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function(_, _, _, first, last, new_last)
      markup.changed(buffer, first, last, new_last)
    end,
  })
  return buffer
end

--- Returns what is drawn on a line, in the order of the text: `text{group}`.
---@param buffer integer
---@param row integer
---@return string
local function drawn(buffer, row)
  local text = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
  local pieces = vim.tbl_map(function(span)
    local shown = span[2] == -1 and "" or text:sub(span[1] + 1, span[2])
    return ("%s{%s}"):format(shown, span[3] or "")
  end, markup.spans(buffer, row))
  return table.concat(pieces, " ")
end

---@param buffer integer
---@param row integer
---@param piece string
local function shows(buffer, row, piece)
  assert(
    vim.wait(2000, function()
      return drawn(buffer, row):find(piece, 1, true) ~= nil
    end),
    drawn(buffer, row)
  )
end

test("Markdown in a message has the groups of Neovim's own Markdown", function()
  local buffer =
    chat_of({ "@You:", "# One `two`", "", "a **b** [c](d)", "", "- e", "", "  f", "", "> g", "", "|h|", "|-|" })
  shows(buffer, 1, "# One `two`{@markup.heading.1.markdown}")
  shows(buffer, 1, "`two`{@markup.raw.markdown_inline}")
  shows(buffer, 3, "**b**{@markup.strong.markdown_inline}")
  shows(buffer, 3, "c{@markup.link.label.markdown_inline}")
  shows(buffer, 5, "- {@markup.list.markdown}")
  -- A paragraph of the item, not indented code.
  same(drawn(buffer, 7):find("raw", 1, true), nil)
  shows(buffer, 9, "> g{@markup.quote.markdown}")
  shows(buffer, 11, "h{@markup.heading.markdown}")
end)

test("code has the colors of its language, from a parser or a syntax file", function()
  local buffer = chat_of(
    { "@You:", "```lua", "local a", "```", "", "~~~ py", "return 1", "~~~" },
    { 2, 3, "language", "lua" },
    { 6, 7, "language", "py" }
  )
  shows(buffer, 2, "local{@keyword.lua}")
  shows(buffer, 6, "return{Statement}")
  same(drawn(buffer, 1), "```{FlemmaFence} lua{FlemmaLanguage}")
end)

test("a fence that is not closed yet is code, and keeps its colors while it grows", function()
  local buffer = chat_of({ "@Assistant:", "```python", "def f():", "    ret" }, { 2, 4, "language", "python" })
  shows(buffer, 2, "def{Statement}")
  vim.api.nvim_buf_set_text(buffer, 3, 7, 3, 7, { "urn 1", "# done" })
  -- Without waiting for the new colors.
  same(drawn(buffer, 2):find("def{Statement}", 1, true) ~= nil, true)
  shows(buffer, 3, "return{Statement}")
  shows(buffer, 4, "# done{Comment}")
end)

test("thinking, results, and the ids of headers have colors, and a fence in a result has none", function()
  local lines = { "@Assistant:", "<thinking>", "# no heading", "</thinking>", "**Tool Use:** `bash` (`t`)", "" }
  vim.list_extend(lines, { "@You:", "**Tool Result:** `t` (error)", "", "````", "```", "# plain", "````" })
  local buffer = chat_of(lines)
  markup.set(buffer, { { 1, 4, "thinking", "" }, { 10, 12, "plain", "" } })
  shows(buffer, 2, "# no heading{FlemmaThinking}")
  shows(buffer, 4, "(`t`){FlemmaToolId}")
  shows(buffer, 7, "`t`{FlemmaToolId}")
  same({ drawn(buffer, 10), drawn(buffer, 11) }, { "{FlemmaCode}", "{FlemmaCode}" })
end)

test("before a host is ready, a syntax file colors role markers and nothing else", function()
  vim.cmd.new()
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "@You: # a", "@You:s", "@Assistant:", "# b", "`c`" })
  vim.bo.syntax = "chat"
  local function group(row)
    return vim.fn.synIDattr(vim.fn.synID(row, 1, 1), "name")
  end
  same(vim.tbl_map(group, { 1, 2, 3, 4, 5 }), { "FlemmaUser", "", "FlemmaAssistant", "", "" })
  same(vim.fn.synIDattr(vim.fn.synID(1, 7, 1), "name"), "")
  vim.cmd.bwipeout({ bang = true })
end)

test("the host's regions move with the text", function()
  local buffer = chat_of({ "", "local a", "", "# b" })
  assert(markup.set(buffer, { { 1, 2, "file", "src/f.lua" }, { 3, 4, "markdown", "" } }))
  shows(buffer, 1, "local{@keyword.lua}")
  vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { "new" })
  shows(buffer, 2, "local{@keyword.lua}")
  shows(buffer, 4, "# b{@markup.heading.1.markdown}")
  same(markup.set(buffer, { { 2, 3, "file", "src/f.lua" }, { 4, 5, "markdown", "" } }), false)
end)

test("a region grows with lines that are added at its end", function()
  local list = { { 1, 3, "language", "c" }, { 5, 9, "markdown", "" } }
  markup.shift(list, 2, 3, 5)
  same(list, { { 1, 5, "language", "c" }, { 7, 11, "markdown", "" } })
  markup.shift(list, 4, 8, 4)
  same(list[2], { 4, 7, "markdown", "" })
end)

test("'conceallevel' hides the marks of emphasis and fences, never text", function()
  local buffer = chat_of({ "@You:", "a *b*", "```c", "int x;", "```" }, { 3, 4, "language", "c" })
  local hidden = {}
  for row = 0, 4 do
    local text = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
    for _, span in ipairs(markup.spans(buffer, row)) do
      hidden[#hidden + 1] = span[4] and text:sub(span[1] + 1, span[2])
    end
  end
  same(hidden, { "*", "*", "```", "```" })
end)

test("the name of a language selects what is installed and runs nothing", function()
  for _, hostile in ipairs({
    "../../x",
    "lua/../../x",
    "vim.cmd('!id')",
    "2html",
    "syntax",
    "synload",
    "*",
    "%s",
    "x.py",
    "a|b",
    "`id`",
    "",
    ("x"):rep(5000),
  }) do
    same(names.of_fence(hostile), nil)
  end
  same(names.of_fence("lua vim.cmd('!id')"), { parser = "lua" })
  same(names.of_fence("rust,ignore"), { file = "rust" })
  same(names.of_fence("{.python}"), { file = "python" })
  same(names.of_fence("JSON"), { file = "json" })
  same(names.of_fence("shell"), { file = "sh" })
end)

test("a modeline in code sets no option", function()
  local buffer = chat_of(
    { "@You:", "```python", "# vim: set tabstop=3 ft=lua :", "x = 1" },
    { 2, 4, "language", "python" }
  )
  shows(buffer, 2, "{Comment}")
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    same({ vim.bo[other].tabstop == 3, vim.bo[other].filetype == "lua" }, { false, false })
  end
end)

test("hostile text is drawn without an error", function()
  local lines = { "@You:", ("*a `b "):rep(3000), (">"):rep(5000) .. " x", "\0\1\255\254", ("[a]("):rep(2000) }
  vim.list_extend(lines, { "", "```lua", ("x = 1 "):rep(5000), ("("):rep(4000), "\255\0" })
  local buffer = chat_of(lines, { 7, #lines, "language", "lua" })
  for row = 0, #lines - 1 do
    markup.spans(buffer, row)
  end
  same(markup.spans(buffer, 8)[1][3], "FlemmaCode")
  -- Parsers would take seconds for these.
  for _, dense in ipairs({ ("*_"):rep(500), ("*a **b _c "):rep(90), ("[a]("):rep(250), ("|a"):rep(499) }) do
    same(syntax.rows({ parser = "markdown" }, { dense }, function() end), { {} })
  end
  local deep = vim.fn["repeat"]({ ("("):rep(30) }, 30)
  same(syntax.rows({ parser = "c" }, deep, function() end), {})
  -- So many bytes have no colors at all.
  same(syntax.rows({ parser = "lua" }, vim.fn["repeat"]({ ("local a "):rep(100) }, 100), function() end), {})
end)

test("of a line of many megabytes only the start is read and colored", function()
  local long = "a **b** " .. ("x"):rep(10 * 1000 * 1000) .. " **c**"
  local buffer = chat_of({ "@You:", "", long, "", "d **e**" })
  local read, rows = 0, syntax.rows
  ---@diagnostic disable-next-line: duplicate-set-field
  syntax.rows = function(language, lines, ...)
    read = math.max(read, #table.concat(lines, "\n"))
    return rows(language, lines, ...)
  end
  shows(buffer, 2, "**b**{@markup.strong.markdown_inline}")
  shows(buffer, 4, "**e**{@markup.strong.markdown_inline}")
  syntax.rows = rows
  assert(read > 0 and read < 10 * 1000, read)
end)

test("while code arrives, its colors are those of the whole text soon after", function()
  local lines = { "@Assistant:", "```c", "/*", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*/", "int x;" }
  local buffer = chat_of(lines, { 2, #lines, "language", "c" })
  shows(buffer, 11, "9{@comment.c}")
  vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { "int y;" })
  -- Only the last lines are parsed, which do not say that this is a comment.
  same(drawn(buffer, 11), "{FlemmaCode} 9{@comment.c}")
  shows(buffer, 14, "int{@type.builtin.c}")
end)

test("an answer that arrives in many pieces is parsed a few times, and its end has colors at last", function()
  local now, parser = vim.uv.now, vim.treesitter.get_string_parser
  local time, parsed = now(), 0
  vim.uv.now = function()
    return time
  end
  vim.treesitter.get_string_parser = function(...)
    parsed = parsed + 1
    return parser(...)
  end
  local buffer = chat_of({ "@Assistant:", "Some **bold** words" })
  shows(buffer, 1, "**bold**{@markup.strong.markdown_inline}")
  parsed = 0
  for piece = 1, 13 do
    time = time + 20
    vim.api.nvim_buf_set_text(buffer, 1, -1, 1, -1, { (" and *%d*"):format(piece) })
    -- What has colors keeps them.
    assert(drawn(buffer, 1):find("**bold**{@markup.strong.markdown_inline}", 1, true), drawn(buffer, 1))
  end
  vim.uv.now, vim.treesitter.get_string_parser = now, parser
  -- Pieces of 260 ms: once every 120.
  same(parsed, 2)
  shows(buffer, 1, "*13*{@markup.italic.markdown_inline}")
end)

test("text that replaces what arrived has its own colors at once", function()
  local buffer = chat_of({ "@Assistant:", "Some **bold** words" })
  shows(buffer, 1, "**bold**{@markup.strong.markdown_inline}")
  vim.api.nvim_buf_set_lines(buffer, 1, 2, false, { "Some `code` words" })
  local line = drawn(buffer, 1)
  assert(line:find("`code`{@markup.raw.markdown_inline}", 1, true) and not line:find("strong", 1, true), line)
end)

test("code has a background that is near to that of the text, or the user's", function()
  local highlights = require("flemma.highlights")
  local function background(normal, float, line)
    vim.api.nvim_set_hl(0, "Normal", { bg = normal })
    vim.api.nvim_set_hl(0, "NormalFloat", { bg = float })
    vim.api.nvim_set_hl(0, "CursorLine", { bg = line })
    highlights.define({})
    return vim.api.nvim_get_hl(0, { name = "FlemmaCode" }).bg
  end
  same(background(0x101010, 0x000000, 0x303030), 0x000000)
  same(background(0x101010, 0xff00ff, 0x202020), 0x202020)
  same(background(0x101010, 0xff00ff, 0x101010), nil)
  vim.api.nvim_set_hl(0, "FlemmaCode", { bg = 0x123456 })
  same(background(0x101010, 0x000000, 0x303030), 0x123456)
  vim.api.nvim_set_hl(0, "FlemmaCode", {})
  vim.cmd("highlight clear")
  highlights.define({})
end)

test("texts that begin alike are all colored, more of them than there are buffers", function()
  local head, ends = { "import re", "import os", "" }, {}
  for number = 1, 5 do
    -- Long enough to take more than one turn of the event loop.
    local lines = vim.list_extend(vim.list_slice(head), vim.fn["repeat"]({ "x = 'a'" }, 300))
    lines[3], lines[#lines + 1] = "y = " .. number, "return 1"
    local function look()
      local rows = syntax.rows(syntax.of_fence("py"), lines, look)
      ends[number] = (rows[#lines] or {})[1]
    end
    look()
  end
  assert(
    vim.wait(5000, function()
      return vim.tbl_count(ends) == 5
    end),
    vim.inspect(ends)
  )
end)

test("a Ctrl-C while a syntax file is read costs no colors", function()
  local file, cmd, complete, rows = require("flemma.syntax.file"), vim.cmd, false, nil
  vim.cmd = function()
    vim.cmd = cmd
    error(require("flemma.neovim").INTERRUPTED)
  end
  file.request("dosini", { "[a]", "b = 1" }, function(colors, is_complete)
    rows, complete = colors, is_complete
  end)
  vim.wait(5000, function()
    return complete
  end, 1)
  vim.cmd = cmd
  assert(complete and rows and #rows[1] > 0, vim.inspect(rows))
end)
