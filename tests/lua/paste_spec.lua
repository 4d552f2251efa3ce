--- Images that are pasted or dropped.
-- luacheck: globals test same

local chat = require("chat")
local image = require("flemma.paste.image")
local paste = require("flemma.paste")

local api = vim.api

local PNG = "\137PNG\r\n\26\n\0\0"

--- Makes a folder with these files.
---@param files table<string, string>
---@return string folder
local function folder(files)
  local root = vim.fn.resolve(vim.fn.tempname())
  vim.fn.mkdir(root, "p")
  for name, bytes in pairs(files) do
    local file = assert(io.open(root .. "/" .. name, "wb"))
    file:write(bytes)
    file:close()
  end
  return root
end

test("the path of an image is read as terminals paste it", function()
  local root = folder({ ["a b.png"] = PNG, ["it's.jpg"] = "\255\216\255x", ["x.txt"] = "text" })
  local png = root .. "/a b.png"
  for _, text in ipairs({
    png,
    png .. " ",
    png .. "\n",
    root .. "/a\\ b.png",
    "'" .. png .. "'",
    '"' .. png .. '"',
    "file://" .. root .. "/a%20b.png",
    "file://localhost" .. root .. "/a%20b.png",
  }) do
    same({ text, image.path(text) }, { text, png })
  end
  same(image.path("'" .. root .. "/it'\\''s.jpg'"), root .. "/it's.jpg")
end)

test("text that is not exactly the path of one existing image stays text", function()
  local root = folder({ ["a.png"] = PNG, ["fake.png"] = "text" })
  for _, text in ipairs({
    "",
    "a.png",
    "see " .. root .. "/a.png",
    root .. "/a.png " .. root .. "/a.png",
    root .. "/a.png\n" .. root .. "/a.png",
    root .. "/missing.png",
    root .. "/fake.png",
    root,
    "https://example.org" .. root .. "/a.png",
  }) do
    same({ text, image.path(text) }, { text, nil })
  end
end)

test("a pasted path of an image becomes a reference, apart from the text around it", function()
  local root = folder({ ["a b.png"] = PNG })
  local buffer = chat.new({ "@You:", "See" })
  api.nvim_buf_set_name(buffer, root .. "/x.chat")
  api.nvim_set_current_buf(buffer)
  vim.bo[buffer].filetype = "chat"
  api.nvim_win_set_cursor(0, { 2, 2 })
  same(paste.replacement({ root .. "/a b.png" }), " @./a%20b.png")
  api.nvim_buf_set_lines(buffer, 1, 2, false, { "" })
  api.nvim_win_set_cursor(0, { 2, 0 })
  same(paste.replacement({ root .. "/a b.png", "" }), "@./a%20b.png")
  same(paste.replacement({ root .. "/a b.png", "more" }), nil)
  vim.bo[buffer].filetype = "text"
  same(paste.replacement({ root .. "/a b.png" }), nil)
  api.nvim_buf_delete(buffer, { force = true })
end)

test("the preferred type of a clipboard is chosen, and none that is no image", function()
  same(image.kind("TARGETS\ntext/html\nimage/jpeg\nimage/png\n"), "image/png")
  same(image.kind("image/jpeg image/bmp"), "image/jpeg")
  same(image.kind("text/plain\nimage/bmp"), nil)
end)
