--- Chats and lines that the host found, and pending calls.
-- luacheck: globals test same

local chats = require("flemma.chats")
local host = require("chat")
local render = require("flemma.render")

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

test("lines that the host finds are in the quickfix list", function()
  local root = folder({ ["a.chat"] = "@You:\nA needle [1]" })
  host.answers.search = function(question)
    same(question.words, { "NEEDLE", "[1]" })
    return { { filename = root .. "/a.chat", lnum = 2, text = "A needle [1]" } }
  end
  local when_ready = require("flemma.host").when_ready
  require("flemma.host").when_ready = function(job)
    job()
  end
  chats.search({ "NEEDLE", "[1]" })
  require("flemma.host").when_ready = when_ready
  vim.wait(2000, function()
    return #vim.fn.getqflist() > 0
  end, 1)
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
  vim.cmd.cd(root)
  host.answers.chats = function()
    local function chat(name, title)
      return { path = ("%s/%s.chat"):format(root, name), time = 0, title = title, name = name .. ".chat" }
    end
    return { chat("new", "New\27"), chat("old", "Old") }
  end
  local shown
  with(vim.ui, "select", function(items, options, choose)
    shown = vim.tbl_map(options.format_item, items)
    choose(items[2])
  end, function()
    chats.pick(false)
  end)
  assert(shown[1]:find("New^[  (new.chat)", 1, true), shown[1])
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
