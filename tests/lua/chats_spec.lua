--- Finding chats: titles, lists, and searches.
-- luacheck: globals test same

local chats = require("flemma.chats")
local known_chats = require("flemma.known_chats")
local render = require("flemma.render")

-- The list of chats is in it.
vim.env.XDG_STATE_HOME = vim.fn.tempname()

--- Makes a folder with these chats, which is the folder for new chats.
---@param texts table<string, string>
---@return string
local function folder(texts)
  local root = vim.uv.fs_realpath(vim.fn.tempname():match("^(.*)/")) .. "/" .. vim.uv.hrtime()
  vim.fn.mkdir(root, "p")
  for name, text in pairs(texts) do
    vim.fn.writefile(vim.split(text, "\n"), root .. "/" .. name)
  end
  require("flemma.config").load({ chats = { folder = root } })
  return root
end

--- Replaces a function for a moment.
---@param module table
---@param name string
---@param by function
---@param body fun()
local function with(module, name, by, body)
  local real = module[name]
  module[name] = by
  local ok, why = pcall(body)
  module[name] = real
  assert(ok, why)
end

test("a title is the first line that the user wrote", function()
  for text, title in pairs({
    ["@You:\nHow are you?\nMore"] = "How are you?",
    ["@System:\nBe brief.\n\n@You: Inline.\n"] = "Inline.",
    ["```lua\nx = 1\n```\n\n@You:\n\n\n  Below\27[2J.\n"] = "Below [2J.",
    ["@You:\n\n@Assistant:\nHm"] = "(empty)",
    ["no chat"] = "(empty)",
    [""] = "(empty)",
    ["@You:\n" .. ("ä"):rep(100)] = ("ä"):rep(72),
  }) do
    same(known_chats.title(text), title)
  end
end)

test("chats of the folder and of the list are found once, those of the project alone if wanted", function()
  local root = folder({ ["a.chat"] = "@You:\nOne", ["b.txt"] = "@You:" })
  local elsewhere = vim.fn.tempname() .. ".chat"
  vim.fn.writefile({ "@You:", "Two" }, elsewhere)
  known_chats.add(elsewhere)
  known_chats.add(elsewhere)
  known_chats.add(root .. "/a.chat")
  known_chats.add("/missing.chat")
  local found = known_chats.chats()
  known_chats.read_titles(found)
  local titles = vim.tbl_map(function(chat)
    return chat.title
  end, found)
  table.sort(titles)
  same(titles, { "One", "Two" })
  same(#known_chats.chats(root), 1)
  vim.fn.delete(elsewhere)
  same(#known_chats.chats(), 1)
end)

test("a search finds lines that contain all words, in any order and case", function()
  same(chats.matches("An Apple\nPie and apple\n\napple pie", { "pie", "apple" }), {
    { 2, "Pie and apple" },
    { 4, "apple pie" },
  })
  same(chats.matches("a.b", { "a%.b" }), {})
  local root = folder({ ["a.chat"] = "@You:\nA needle [1]\nneedle" })
  chats.search({ "NEEDLE", "[1]" })
  local list = vim.fn.getqflist()
  same({ #list, list[1].lnum, list[1].text, vim.fn.bufname(list[1].bufnr) }, {
    1,
    2,
    "A needle [1]",
    vim.fn.fnamemodify(root .. "/a.chat", ":~:."),
  })
  vim.cmd.cclose()
end)

test("the picker shows the last chat first and opens the chosen one", function()
  local root = folder({ ["old.chat"] = "@You:\nOld", ["new.chat"] = "@You:\nNew" })
  vim.uv.fs_utime(root .. "/old.chat", 1000, 1000)
  vim.cmd.cd(root)
  local shown
  with(vim.ui, "select", function(items, options, choose)
    shown = vim.tbl_map(options.format_item, items)
    choose(items[2])
  end, function()
    chats.pick(false)
  end)
  assert(shown[1]:find("New  (new.chat)", 1, true), shown[1])
  same(vim.fn.expand("%:t"), "old.chat")
  vim.cmd.bwipeout({ bang = true })
end)

test("picking a pending call goes to it in a window of its chat", function()
  vim.cmd.enew({ bang = true })
  local other = vim.api.nvim_get_current_buf()
  local buffer = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { "@You:", "", "**Tool Result:** `t`", "", "```", "```" })
  vim.cmd(("noautocmd call setbufvar(%d, '&filetype', 'chat')"):format(buffer))
  render.marks({
    buffer = buffer,
    items = { { id = "t", line = 4, header_line = 2, preview = "\nrm -r x\27", state = "pending" } },
  })
  local shown
  with(vim.ui, "select", function(items, options, choose)
    shown = options.format_item(items[1])
    choose(items[1])
  end, function()
    require("flemma.pending").pick()
  end)
  same(shown, "[No Name]  rm -r x^[")
  same({ vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0) }, { buffer, { 3, 0 } })
  render.forget(buffer)
  vim.cmd.bwipeout({ args = { tostring(buffer) }, bang = true })
  vim.api.nvim_set_current_buf(other)
  require("flemma.config").load({})
end)

test("a chat that was not open begins at its prompt, unless the cursor was put elsewhere", function()
  local path = folder({ ["a.chat"] = "@You:\nOne\n\n@Assistant:\nTwo.\n\n@You:" }) .. "/a.chat"
  local function row_after(jump)
    chats.open(path)
    local row = vim.api.nvim_win_get_cursor(0)[1]
    if jump then
      vim.api.nvim_win_set_cursor(0, { jump, 0 })
    end
    return row
  end
  same(row_after(1), 7)
  vim.cmd.enew()
  -- It is still open.
  same(row_after(), 1)
  vim.cmd("%bwipeout!")
  local id = vim.api.nvim_create_autocmd("BufReadPost", { command = "normal! 3G" })
  same(row_after(), 3)
  vim.api.nvim_del_autocmd(id)
  vim.cmd("%bwipeout!")
end)
