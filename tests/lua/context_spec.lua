--- What is put into chats: selections, and what the host adds.
-- luacheck: globals test same

local chat = require("chat")
local new = require("flemma.new")
local selection = require("flemma.selection")

--- Fills a new buffer with these lines.
---@param lines string[]
---@param name? string
local function open(lines, name)
  vim.cmd.enew({ bang = true })
  if name then
    vim.cmd.file(name)
  end
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
end

test("lines are put into a fence with path, lines, and language", function()
  open({ "a", "b", "c" }, "some file.py")
  vim.bo.filetype = "python"
  same(selection.text({ first = 2, last = 3 }), "some file.py, lines 2-3:\n\n```python\nb\nc\n```")
  open({ "a" })
  same(selection.text({ first = 1, last = 1 }), "Line 1:\n\n```\na\n```")
end)

test("the last Visual selection is taken exactly, whatever its mode", function()
  for keys, text in pairs({ ["vjl"] = "abc\nde", ["Vj"] = "abc\ndef", ["l<C-v>j"] = "b\ne" }) do
    open({ "abc", "def" })
    vim.api.nvim_feedkeys(vim.keycode(keys .. "<Esc>"), "xt", false)
    same({ keys, selection.text({ first = 1, last = 2 }) }, { keys, "Lines 1-2:\n\n```\n" .. text .. "\n```" })
  end
end)

test("the fence is longer than any run of backticks inside", function()
  open({ "```lua", "x ````` y", "```" })
  same(selection.text({ first = 1, last = 3 }):match("\n(`+)\n"), "``````")
end)

test("a NUL, which no request can hold, is replaced", function()
  same(selection.clean({ "a\nb", "ä€😀" }), { "a␀b", "ä€😀" })
end)

test("a selection without text is none", function()
  open({ "", "  " })
  same(selection.text({ first = 1, last = 2 }), nil)
end)

test("rules are put where the host says, and its messages are shown", function()
  local buffer = chat.new({ "@You:", "Hi" })
  local notices, said = require("flemma.notices"), {}
  local notify = notices.notify
  notices.notify = function(notice)
    said[#said + 1] = notice.level .. " " .. notice.message
  end
  chat.answers.add_rules = function(question)
    same(question.lines, { "@You:", "Hi" })
    return { line = 1, lines = { "@./AGENTS.md", "" }, messages = { { "info", "Added." } } }
  end
  new.add("add_rules")
  chat.answers = {}
  notices.notify = notify
  same(chat.lines(buffer), { "@You:", "@./AGENTS.md", "", "Hi" })
  same(said, { "info Added." })
end)
