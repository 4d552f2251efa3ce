--- The host's copy of a text.
-- luacheck: globals test same

local chat = require("chat")
local mirror = require("flemma.mirror")

--- The host's text after the messages sent so far.
---@param text string[]
---@return string[]
local function mirrored(text)
  mirror.flush()
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

--- Lines whose text is their number.
---@param count integer
---@return string[]
local function numbered(count)
  local lines = {}
  for index = 1, count do
    lines[index] = ("line %d"):format(index)
  end
  return lines
end

test("a command that changes thousands of lines one by one is sent in a few messages", function()
  local before = numbered(5000)
  local buffer = chat.new(before)
  vim.cmd("silent g/line/s//LINE of/")
  same(mirrored(before), chat.lines(buffer))
  local changes = chat.messages("changed")
  assert(#changes <= 12, #changes)
  same(changes[#changes].seq, mirror.seq(buffer))
  -- Neovim undoes the changes in reverse order.
  chat.sent, before = {}, chat.lines(buffer)
  vim.cmd("silent undo")
  same(mirrored(before), chat.lines(buffer))
  assert(#chat.messages("changed") <= 12)
end)

test("changes of one turn are sent in order, whatever they are", function()
  for _, commands in ipairs({
    { "g/[05]$/s/line/x/" },
    { "g/1/d" },
    { "g/1/s/line/x/", "3d", "g/2/s/line/y/" },
    { "g/./m0" },
    { "g/7/t.", "g/7/s/7/8/g" },
    { "40s/line/x/", "2s/line/y/", "20,30s/line/z/", "15,25s/z\\|line/w/" },
    { "g/9/normal! Aend", "g/3/j" },
  }) do
    local before = numbered(60)
    local buffer = chat.new(before)
    chat.sent = {}
    for _, command in ipairs(commands) do
      vim.cmd("silent! " .. command)
    end
    same(mirrored(before), chat.lines(buffer))
  end
end)

test("distant changes are sent without the lines between them", function()
  local before = numbered(500)
  local buffer = chat.new(before)
  for _, line in ipairs({ 1, 400, 100 }) do
    vim.api.nvim_buf_set_lines(buffer, line, line + 1, false, { "new" })
  end
  same(mirrored(before), chat.lines(buffer))
  local changes = chat.messages("changed")
  same({ #changes, #changes[1].lines }, { 3, 1 })
end)

test("changes before a change of the host's are sent before it", function()
  local before = numbered(20)
  local buffer = chat.new(before)
  vim.api.nvim_buf_set_lines(buffer, 10, 11, false, { "new" })
  mirror.muted(buffer, function()
    vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { "of the host" })
  end)
  local changes = chat.messages("changed")
  same({ #changes, changes[1].first, changes[1].seq }, { 1, 10, mirror.seq(buffer) - 1 })
  vim.api.nvim_buf_set_lines(buffer, 11, 12, false, { "newer" })
  mirror.flush()
  same(chat.messages("changed")[2].first, 11)
end)

test("saving is not a change", function()
  local buffer = chat.new({ "text" })
  local seq, path = mirror.seq(buffer), vim.fn.tempname()
  vim.cmd("silent write " .. vim.fn.fnameescape(path))
  same(mirror.seq(buffer), seq)
  os.remove(path)
end)
