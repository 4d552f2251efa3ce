--- Images that are pasted or dropped.
-- luacheck: globals test same

local chat = require("chat")
local image = require("flemma.paste.image")
local paste = require("flemma.paste")

local api = vim.api

test("a pasted path of an image becomes a reference, apart from the text around it", function()
  local buffer = chat.new({ "@You:", "See" })
  vim.cmd("noautocmd setlocal filetype=chat")
  local asked = {}
  chat.answers.dropped_image = function(question)
    asked[#asked + 1] = question.text
    return question.text == "/a b.png" and "@./a%20b.png" or nil
  end
  api.nvim_win_set_cursor(0, { 2, 2 })
  same(paste.replacement({ "/a b.png" }), " @./a%20b.png")
  api.nvim_buf_set_lines(buffer, 1, 2, false, { "" })
  api.nvim_win_set_cursor(0, { 2, 0 })
  same(paste.replacement({ "/a b.png", "" }), "@./a%20b.png")
  same(paste.replacement({ "/a b.png", "more" }), nil)
  same(paste.replacement({ "/other" }), nil)
  -- Nothing waits for the host that is no path.
  same(paste.replacement({ "text" }), nil)
  same(asked, { "/a b.png", "/a b.png", "/other" })
  vim.cmd("noautocmd setlocal filetype=text")
  same(paste.replacement({ "/a b.png" }), nil)
  chat.answers = {}
  api.nvim_buf_delete(buffer, { force = true })
end)

test("the preferred type of a clipboard is chosen, and nothing else than an image", function()
  same(image.kind("TARGETS\ntext/html\nimage/jpeg\nimage/png\n"), "image/png")
  same(image.kind("image/jpeg image/bmp"), "image/jpeg")
  same(image.kind("text/plain\nimage/bmp"), nil)
end)
