--- What is typed is in the swap file soon, although Neovim's own time for that is not over.
-- luacheck: globals test

vim.cmd("runtime plugin/flemma.lua")
require("chat")

--- Returns true if the swap file of the current buffer contains a text.
---@param text string
---@return boolean
local function is_kept(text)
  local file = io.open(vim.fn.swapname("%"), "rb")
  local bytes = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return bytes:find(text, 1, true) ~= nil
end

test("typed, pasted, and undone text is in the swap file while nothing streams", function()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, "p")
  local before = { vim.o.directory, vim.o.updatetime, vim.o.updatecount }
  vim.o.directory, vim.o.updatetime, vim.o.updatecount = folder .. "//", 1e9, 1e6
  vim.o.swapfile = true
  vim.cmd.edit(vim.fs.joinpath(folder, "a.chat"))
  local changes = {
    typed = "GoUnsaved words<Esc>",
    changed = "ccOther words<Esc>",
    repeated = ":call append('$', 'Pasted words')<CR>",
    undone = "ccGone<Esc>u:s/words/words again/e<CR>",
  }
  local expected =
    { typed = "Unsaved words", changed = "Other words", repeated = "Pasted words", undone = "words again" }
  for name, keys in vim.spairs(changes) do
    vim.api.nvim_feedkeys(vim.keycode(keys), "xt", false)
    assert(
      vim.wait(20000, function()
        return is_kept(expected[name])
      end, 20),
      name
    )
  end
  vim.cmd("bwipeout!")
  vim.o.swapfile = false
  vim.o.directory, vim.o.updatetime, vim.o.updatecount = before[1], before[2], before[3]
  vim.fn.delete(folder, "rf")
end)
