--- Movements between messages and calls, and text objects, without a host.
-- luacheck: globals test same

local chat = require("chat")
local keys = require("flemma.keys")
local navigate = require("flemma.navigate")

local LINES = vim.split(
  [[@System:
Be brief.

@You: Look at it.

Please.

@Assistant:
**Tool Use:** `bash` (`t_1`)

```json
{"command":"ls"}
```

```
@You:
**Tool Use:** `no` (`t_9`)
```

**Tool Use:** `bash` (`t_2`)

```json
{}
```

@You:

Thanks.
]],
  "\n"
)

--- Opens the chat with its keys, and returns functions that press keys from a line, from one.
---@return integer buffer
local function open()
  local buffer = chat.new(LINES)
  keys.set(buffer)
  return buffer
end

---@param line integer
---@param typed string
---@return integer line
local function press(line, typed)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  chat.keys(typed)
  return vim.api.nvim_win_get_cursor(0)[1]
end

test("]m and [m go to messages, with a count, and as far as there are any", function()
  open()
  same({ press(1, "]m"), press(1, "2]m"), press(1, "9]m"), press(26, "]m") }, { 4, 8, 26, 26 })
  same({ press(27, "[m"), press(8, "[m"), press(26, "9[m"), press(1, "[m") }, { 26, 4, 1, 1 })
end)

test("]m and [m skip messages that are only results", function()
  local result = { "**Tool Result:** `t_1`", "", "````", "@Me", "", "```", "````", "" }
  local lines = { "@You:", "Go.", "", "@Assistant:", "Yes.", "", "@You:" }
  vim.list_extend(vim.list_extend(lines, result), { "@Assistant:", "", "@You:" })
  vim.list_extend(vim.list_extend(lines, result), { "And this.", "", "@Assistant:", "Well.", "", "@You:", "" })
  keys.set(chat.new(lines))
  local seen, line = {}, 1
  for _ = 1, 6 do
    line = press(line, "]m")
    seen[#seen + 1] = line
  end
  -- The first results are skipped; what was said beside the second ones is not.
  same(seen, { 4, 16, 18, 29, 32, 32 })
  same(press(16, "[m"), 4)
end)

test("]t and [t go to calls, but not to one inside a code fence", function()
  open()
  same({ press(1, "]t"), press(9, "]t"), press(1, "2]t"), press(26, "[t"), press(26, "2[t") }, { 9, 20, 20, 20, 9 })
end)

test("a jump back returns to where the movement began", function()
  open()
  press(2, "]m")
  chat.keys("''")
  same(vim.api.nvim_win_get_cursor(0)[1], 2)
end)

test("a fence that is never closed hides nothing below the next marker", function()
  local buffer = open()
  vim.api.nvim_buf_set_lines(buffer, 1, 2, false, { "```lua" })
  vim.api.nvim_buf_set_lines(buffer, 10, 13, false, {})
  vim.api.nvim_buf_set_lines(buffer, 11, -1, false, { "@You:", "x" })
  same(press(1, "9]m"), 12)
end)

test("operators take messages: im without the marker and blank lines, am with them", function()
  local buffer = open()
  press(28, "dim")
  same(vim.list_slice(chat.lines(buffer), 26), { "@You:", "", "" })
  buffer = open()
  press(6, "cimHi.<Esc>")
  same(vim.list_slice(chat.lines(buffer), 4, 6), { "@You: Hi.", "", "@Assistant:" })
  buffer = open()
  press(5, "dam")
  same(chat.lines(buffer)[4], "@Assistant:")
  open()
  press(2, "yam")
  same(vim.fn.getreg('"'), "@System:\nBe brief.\n\n")
  press(2, "vimy")
  same(vim.fn.getreg('"'), "Be brief.\n")
  buffer = open()
  press(2, "d]m")
  same(chat.lines(buffer)[2], "@You: Look at it.")
end)

test("an empty message has no text to select", function()
  local buffer = chat.new({ "@You:", "", "@Assistant:", "" })
  keys.set(buffer)
  press(1, "dim")
  same(#chat.lines(buffer), 4)
end)

test("gf finds the file of a reference with blanks and a type", function()
  same(navigate.file("./a%20b.txt"), "./a b.txt")
  same(navigate.file("@./a.bin;type=image/png"), "./a.bin")
  same(navigate.file("100%"), "100%")
end)
