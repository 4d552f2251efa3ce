--- Chats that get another name.
-- luacheck: globals test same

local api = vim.api

--- Makes a folder with a chat, opens that, and renames it.
---@param target string The new name.
---@param prepare fun(root: string)
---@return string root
---@return integer buffer
local function renamed(target, prepare)
  local root = vim.uv.fs_realpath(vim.fn.tempname():match("^(.*)/")) .. "/" .. vim.uv.hrtime()
  vim.fn.mkdir(root, "p")
  vim.fn.writefile({ "one" }, root .. "/a.txt")
  vim.cmd.edit({ root .. "/a.txt", bang = true })
  local buffer = api.nvim_get_current_buf()
  prepare(root)
  require("flemma.rename").rename({ buffer = buffer, path = root .. "/" .. target })
  return root, buffer
end

---@param root string
---@return string[]
local function files(root)
  local names = vim.fn.readdir(root)
  table.sort(names)
  return names
end

test("a renamed chat keeps its buffer and its undo history, and can be written", function()
  local root, buffer = renamed("b c.txt", function()
    api.nvim_buf_set_lines(0, 0, -1, false, { "two" })
  end)
  same(files(root), { "b c.txt" })
  same(vim.fn.readfile(root .. "/b c.txt"), { "two" })
  same({ api.nvim_buf_get_name(buffer), vim.bo.modified }, { root .. "/b c.txt", false })
  same(vim.fn.bufexists(root .. "/a.txt"), 0)
  vim.cmd("silent undo")
  same(api.nvim_buf_get_lines(0, 0, -1, false), { "one" })
  vim.cmd("silent write")
  same(vim.fn.readfile(root .. "/b c.txt"), { "one" })
  vim.cmd.bwipeout({ bang = true })
end)

test("a chat is not renamed over another file", function()
  local root, buffer = renamed("b.txt", function(root)
    vim.fn.writefile({ "other" }, root .. "/b.txt")
  end)
  same(files(root), { "a.txt", "b.txt" })
  same(vim.fn.readfile(root .. "/b.txt"), { "other" })
  same(api.nvim_buf_get_name(buffer), root .. "/a.txt")
  vim.cmd.bwipeout({ bang = true })
end)

test("a chat without a file gets a name and no file", function()
  local root, buffer = renamed("b.txt", function(root)
    vim.fn.delete(root .. "/a.txt")
    vim.bo.modified = true
  end)
  same(files(root), {})
  same({ api.nvim_buf_get_name(buffer), vim.bo.modified }, { root .. "/b.txt", true })
  vim.cmd("silent write")
  same(files(root), { "b.txt" })
  vim.cmd.bwipeout({ bang = true })
end)
