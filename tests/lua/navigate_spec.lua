--- Movements and text objects, with answers of a host.
-- luacheck: globals test same

local chat = require("chat")
local keys = require("flemma.keys")
local navigate = require("flemma.navigate")

--- Opens a chat with its keys.
---@param lines string[]
---@return integer buffer
local function open(lines)
  local buffer = chat.new(lines)
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

test("a movement asks the host with its count, and goes where it says", function()
  local buffer = open({ "@You:", "a", "", "@Assistant:", "b" })
  local asked = {}
  local function answer(question)
    asked[#asked + 1] = { question.kind, question.line, question.count, question.seq }
    return question.count > 0 and 3 or nil
  end
  chat.answers = { to_message = answer, to_call = answer }
  same({ press(2, "2]m"), press(4, "[m"), press(5, "]t") }, { 4, 4, 4 })
  local seq = require("flemma.mirror").seq(buffer)
  same(asked, { { "to_message", 1, 2, seq }, { "to_message", 3, -1, seq }, { "to_call", 4, 1, seq } })
  press(2, "]m")
  chat.keys("''")
  same(vim.api.nvim_win_get_cursor(0)[1], 2)
  press(2, "d]m")
  same(chat.lines(buffer), { "@You:", "@Assistant:", "b" })
end)

test("operators take messages: im without the marker and blank lines, am with them", function()
  local lines = { "@System:", "Be brief.", "", "@You: Look at it.", "", "Please.", "" }
  local function select(last, text, column)
    chat.answers.select = function()
      return { lines = { last - 3, last }, text = text, column = column }
    end
  end
  local buffer = open(lines)
  select(3, { 1, 2 })
  press(2, "yam")
  same(vim.fn.getreg('"'), "@System:\nBe brief.\n\n")
  press(2, "vimy")
  same(vim.fn.getreg('"'), "Be brief.\n")
  select(7, { 3, 6 }, 6)
  press(6, "cimHi.<Esc>")
  same(vim.list_slice(chat.lines(buffer), 4), { "@You: Hi.", "" })
  select(3, { 3, 3 })
  press(1, "dim")
  same(#chat.lines(buffer), 5)
  chat.answers = {}
end)

test("gf finds the file of a reference with blanks and a type", function()
  same(navigate.file("./a%20b.txt"), "./a b.txt")
  same(navigate.file("@./a.bin;type=image/png"), "./a.bin")
  same(navigate.file("100%"), "100%")
end)
