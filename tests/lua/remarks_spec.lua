--- Messages: in full below their line, and shortened to one line.
-- luacheck: globals test same

local chat = require("chat")
local remarks = require("flemma.remarks")
local wrap = require("flemma.wrap")

local NAMESPACE = vim.api.nvim_create_namespace("flemma.remarks")

--- The virtual lines of a chat, each with the line above it.
---@param buffer integer
---@return table[]
local function below(buffer)
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, NAMESPACE, 0, -1, { details = true })) do
    for _, line in ipairs(mark[4].virt_lines or {}) do
      found[#found + 1] = { mark[2], line[1][1] }
    end
  end
  return found
end

local TEXTS = {
  "",
  "short",
  "Anthropic refused the key (401, invalid x-api-key). Set ANTHROPIC_API_KEY; the conversation is unchanged.",
  ("https://example.org/" .. ("a"):rep(90) .. " is not an address, so nothing was sent."),
  ("日本語のとても長い文章 "):rep(9),
  ("e\204\129\204\130 "):rep(40),
  "two\nlines, of which the second is somewhat longer than the first one",
}

test("wrapped text fits its room and loses nothing but blanks", function()
  for _, text in ipairs(TEXTS) do
    for room = 2, 90 do
      local lines = wrap.wrap(text, room)
      for _, line in ipairs(lines) do
        assert(vim.api.nvim_strwidth(line) <= room, ("%q is wider than %d"):format(line, room))
      end
      same(table.concat(lines):gsub("%s", ""), (text:gsub("%s", "")))
    end
  end
  same(wrap.wrap("one two three", 8), { "one two", "three" })
  same(wrap.wrap("one two", 3), { "one", "two" })
  same(wrap.wrap("abcdef", 4), { "abcd", "ef" })
end)

test("the short form of a message fits one line and is the start of it", function()
  for _, text in ipairs(TEXTS) do
    for room = 10, 90 do
      local line = wrap.first_line(text, room)
      assert(vim.api.nvim_strwidth(line) <= room and not line:find("\n"), line)
      local start = line:gsub("%s*…$", "")
      same((text:gsub("%s+", " ")):sub(1, #start), start)
    end
  end
  same(wrap.first_line("It failed (401, no key). Set one; then press it.", 30), "It failed (401, no key). …")
  same(wrap.first_line("The request was refused (400, messages.3: what it says)", 40), "The request was refused …")
end)

test("an error is shown in full below the prompt until the next key", function()
  local buffer = chat.new({ "@You:", "hello", "", "" })
  local text = "Anthropic refused the key " .. ("(because of this) "):rep(9) .. "so nothing was sent."
  chat.host("notify", { buffer = buffer, level = "error", message = text })
  local lines = below(buffer)
  assert(#lines > 1)
  local whole = {}
  for _, line in ipairs(lines) do
    same(line[1], 1)
    whole[#whole + 1] = vim.trim(line[2])
  end
  same(table.concat(whole, " "), "✗ " .. text)
  remarks.begin(buffer)
  same(below(buffer), {})
end)

test("a remark about a call is below it, wherever the text moves it", function()
  local buffer = chat.new({ "@You:", "**Tool Result:** `t`", "", "@You:", "end" })
  remarks.begin(buffer, 1)
  vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { "above" })
  remarks.add(buffer, "warn", "It runs already.")
  same(below(buffer), { { 2, "! It runs already." } })
end)

test("a remark about a call in a closed fold is below the fold, or above if nothing follows", function()
  local buffer = chat.new({ "@You:", "**Tool Result:** `t`", "", "@Assistant:", "text", "end" })
  vim.wo.foldmethod = "manual"
  vim.cmd("2,3fold | 4,5fold")
  remarks.begin(buffer, 1)
  remarks.add(buffer, "warn", "It runs already.")
  local function place()
    local all = vim.api.nvim_buf_get_extmarks(buffer, NAMESPACE, 0, -1, { details = true })
    local mark = vim.iter(all):find(function(it)
      return it[4].virt_lines ~= nil
    end)
    return { mark[2], mark[4].virt_lines_above == true }
  end
  same(place(), { 5, true })
  vim.cmd("normal! 4Gzo")
  remarks.redraw(buffer)
  same(place(), { 3, true })
  vim.cmd("normal! 2Gzo")
  remarks.redraw(buffer)
  same(place(), { 1, false })
  vim.cmd("normal! zE")
  vim.cmd("2,6fold")
  remarks.redraw(buffer)
  same(place(), { 0, false })
end)

test("a remark about a call that was deleted at the end of the chat is below the last line", function()
  local buffer = chat.new({ "@You:", "**Tool Result:** `t`" })
  remarks.begin(buffer, 1)
  vim.api.nvim_buf_set_lines(buffer, 1, 2, false, {})
  remarks.add(buffer, "warn", "It runs already.")
  same(below(buffer), { { 0, "! It runs already." } })
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, {})
  remarks.add(buffer, "warn", "And this.")
  same(below(buffer), { { 0, "! It runs already." }, { 0, "! And this." } })
end)

test("a message that fits into one line does not become a remark, unless it is an error", function()
  local buffer = chat.new({ "@You:" })
  chat.host("notify", { buffer = buffer, level = "info", message = "Cancelled." })
  same(below(buffer), {})
  chat.host("notify", { buffer = buffer, level = "error", message = "No." })
  chat.host("notify", { buffer = buffer, level = "error", message = "No." })
  same(below(buffer), { { 0, "✗ No." } })
end)

test("a message of a server cannot control the terminal", function()
  local buffer = chat.new({ "@You:" })
  chat.host("notify", { buffer = buffer, level = "error", message = "it said \27[2J\nand more" })
  same(below(buffer), { { 0, "✗ it said ^[[2J" }, { 0, "  and more" } })
end)

test("messages below one line are in one mark, because Neovim draws several in any order", function()
  local buffer = chat.new({ "@You:", "hello" })
  for _, text in ipairs({ "One.", "Two.", "Three." }) do
    chat.host("notify", { buffer = buffer, level = "error", message = text })
  end
  local items = vim.tbl_map(function(text)
    return { line = 1, end_line = 2, message = text, severity = "error" }
  end, { "Four.", "Five.", "Six." })
  chat.host("diagnostics", { buffer = buffer, items = items })
  local function drawn(name)
    local namespace = vim.api.nvim_get_namespaces()[name]
    local found = {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { details = true })) do
      if mark[4].virt_lines then
        found[#found + 1] = vim.tbl_map(function(line)
          return line[1][1]
        end, mark[4].virt_lines)
      end
    end
    return found
  end
  same(drawn("flemma.remarks"), { { "✗ One.", "✗ Two.", "✗ Three." } })
  same(drawn("flemma.diagnostic_texts"), { { "✗ Four.", "✗ Five.", "✗ Six." } })
end)
