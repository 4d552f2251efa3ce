--- A chat is UTF-8 on disk, whatever other files are.
-- luacheck: globals test same

local folder = vim.fn.tempname()
vim.fn.mkdir(folder, "p")
local TEXT = "@You:\n\nWhy → 🙂 é?\n\n@Assistant:\n\nBecause  \nit is.\n"

vim.cmd("runtime plugin/flemma.lua")
require("chat")

---@param name string
---@param text string
---@return string path
local function write(name, text)
  local path = vim.fs.joinpath(folder, name)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

---@param path string
---@return string
local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

--- Opens a chat, adds a line, and writes it.
---@param path string
---@param command? string Runs before the line is added.
---@return string text As on disk.
local function edited(path, command)
  vim.cmd.edit(path)
  if command then
    vim.cmd(command)
  end
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "→ 🙂" })
  vim.cmd("silent write")
  local text = read(path)
  vim.cmd("bwipeout!")
  return text
end

test("nothing that is set for other files changes the encoding of a chat", function()
  local settings = {
    { "utf-16 in a modeline", TEXT .. "\nvim: set fileencoding=utf-16 :\n" },
    { "the option", TEXT, "setlocal fileencoding=latin1" },
  }
  for _, it in ipairs(settings) do
    same(edited(write("a.chat", it[2]), it[3]), it[2] .. "→ 🙂\n")
  end
end)

test("EditorConfig applies to no chat", function()
  vim.cmd("runtime plugin/editorconfig.lua")
  write(
    ".editorconfig",
    "root = true\n[*]\ncharset = latin1\nend_of_line = crlf\ninsert_final_newline = false\n"
      .. "trim_trailing_whitespace = true\n"
  )
  same(edited(write("b.chat", TEXT)), TEXT .. "→ 🙂\n")
  local path = vim.fs.joinpath(folder, "new.chat")
  local text = edited(path)
  assert(text:find("→ 🙂", 1, true), vim.inspect(text))
end)

test("a chat is read as UTF-8, and other files as before", function()
  vim.o.fileencodings = "latin1"
  same(edited(write("c.chat", TEXT)), TEXT .. "→ 🙂\n")
  same(vim.o.fileencodings, "latin1")
  vim.cmd.edit(write("other.txt", "é\n"))
  same(vim.bo.fileencoding, "latin1")
  vim.cmd("bwipeout!")
  vim.o.fileencodings = "ucs-bom,utf-8,default,latin1"
end)

test("a chat that is not UTF-8 loses no character", function()
  same(edited(write("d.chat", "@You:\n\n\233\n")), "@You:\n\n\u{e9}\n→ 🙂\n")
end)

vim.fn.delete(folder, "rf")
