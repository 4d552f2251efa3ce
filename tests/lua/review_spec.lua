--- Movements and text objects of a review, without a host.
-- luacheck: globals test same

local api = vim.api

local DIFF = vim.split(
  [[diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,1 +1,1 @@
-1
+one
@@ -9,1 +9,1 @@
-9
+nine
diff --git a/x.png b/x.png
new file mode 100644
Binary files /dev/null and b/x.png differ
diff --git a/b b/b
--- a/b
+++ b/b
@@ -1,1 +1,1 @@
-diff
+@@]],
  "\n"
)

--- Presses keys on a line of the diff, and returns the lines that are gone.
---@param line integer
---@param keys string
---@return integer[]
local function gone(line, keys)
  local buffer = api.nvim_create_buf(false, true)
  api.nvim_win_set_buf(0, buffer)
  local numbered = {}
  for at, text in ipairs(DIFF) do
    numbered[at] = ("%s\t%d"):format(text, at)
  end
  api.nvim_buf_set_lines(buffer, 0, -1, false, numbered)
  require("flemma.review.hunks").set_keys(buffer)
  api.nvim_win_set_cursor(0, { line, 0 })
  api.nvim_feedkeys(vim.keycode(keys), "x", false)
  local left = {}
  for _, text in ipairs(api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    left[tonumber(text:match("\t(%d+)$"))] = true
  end
  api.nvim_buf_delete(buffer, { force = true })
  local missing = {}
  for at = 1, #DIFF do
    if not left[at] then
      missing[#missing + 1] = at
    end
  end
  return missing
end

test("dih drops the hunk at the cursor, and nothing elsewhere", function()
  same(gone(4, "dih"), { 4, 5, 6 })
  same(gone(6, "dih"), { 4, 5, 6 })
  same(gone(8, "dih"), { 7, 8, 9 })
  same(gone(18, "dih"), { 16, 17, 18 })
  same(gone(1, "dih"), {})
  same(gone(11, "dih"), {})
  same(gone(1, "]cdih"), { 4, 5, 6 })
  same(gone(1, "2]cdih"), { 7, 8, 9 })
  same(gone(9, "[c[cdih"), { 4, 5, 6 })
  same(gone(5, "vjihd"), { 4, 5, 6 })
end)

test("dif drops the part of the file at the cursor", function()
  same(gone(1, "dif"), { 1, 2, 3, 4, 5, 6, 7, 8, 9 })
  same(gone(9, "dif"), { 1, 2, 3, 4, 5, 6, 7, 8, 9 })
  same(gone(12, "dif"), { 10, 11, 12 })
  same(gone(17, "dif"), { 13, 14, 15, 16, 17, 18 })
  same(gone(10, "vjifd"), { 10, 11, 12 })
end)

test("the commands about files complete their names", function()
  local complete = require("flemma.commands").complete
  same(complete("", "Flemma review "), { "turn" })
  same(complete("x", "Flemma review x"), {})
  local path = vim.fn.tempname()
  vim.fn.writefile({}, path)
  for _, command in ipairs({ "review turn", "undo" }) do
    same(complete(path, ("Flemma %s %s"):format(command, path)), { path })
  end
  vim.fn.delete(path)
end)
