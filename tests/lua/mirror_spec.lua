--- The host's copy of the text equals the buffer's.
-- luacheck: globals test same

local chat = require("chat")
local mirror = require("flemma.mirror")

--- The text the host has after the messages sent so far.
---@param text string[]
---@return string[]
local function mirrored(text)
  for _, change in ipairs(chat.messages("changed")) do
    local head = vim.list_slice(text, 1, change.first)
    local tail = vim.list_slice(text, change.last + 1)
    text = vim.list_extend(vim.list_extend(head, change.lines), tail)
    text = #text == 0 and { "" } or text
  end
  return text
end

test("typing, deleting, undo and commands reach the host", function()
  local before = { "@You:", "one", "two", "three" }
  local buffer = chat.new(before)
  chat.keys("Gofour<CR>five<Esc>ggddu:%s/o/0/g<CR>:2,3m0<CR>uGp:sort<CR>ggdG")
  chat.keys("inew<Esc>yy3p")
  same(mirrored(before), chat.lines(buffer))
end)

test("every change has a number of its own, and all its chunks share it", function()
  local buffer = chat.new({ "" })
  local many = {}
  for index = 1, 1100 do
    many[index] = tostring(index)
  end
  local seq = mirror.seq(buffer)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, many)
  local changes = chat.messages("changed")
  same(
    vim.tbl_map(function(change)
      return { change.seq, change.first, change.last, #change.lines, change.more }
    end, changes),
    { { seq + 1, 0, 1, 500, true }, { seq + 1, 500, 500, 500, true }, { seq + 1, 1000, 1000, 100, false } }
  )
  same(mirrored({ "" }), many)
end)

test("saving is not a change", function()
  local buffer = chat.new({ "text" })
  local seq, path = mirror.seq(buffer), vim.fn.tempname()
  vim.cmd("silent write " .. vim.fn.fnameescape(path))
  same(mirror.seq(buffer), seq)
  os.remove(path)
end)
