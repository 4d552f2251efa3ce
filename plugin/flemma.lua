--- What Neovim must know before the first `.chat` is opened: the file type and
--- the command. Nothing of the plugin is loaded here.

if vim.g.loaded_flemma then
  return
end
vim.g.loaded_flemma = true

if vim.fn.has("nvim-0.11") == 0 then
  vim.notify_once("Flemma: needs Neovim 0.11 or newer, so it is off. Update Neovim.", vim.log.levels.ERROR)
  return
end

local group = vim.api.nvim_create_augroup("flemma", { clear = true })

-- A chat may come from a stranger, and a modeline in it is executed while the
-- file is read: so modelines are off before that.
vim.api.nvim_create_autocmd({ "BufReadPre", "BufNewFile" }, {
  group = group,
  pattern = "*.chat",
  desc = "flemma: no modelines in chats",
  callback = function()
    vim.opt_local.modeline = false
    -- For those who start tree-sitter themselves. This module alone costs
    -- 0.1 ms; `vim.treesitter` would be 3 ms.
    require("vim.treesitter.language").register("markdown", "chat")
  end,
})

-- `vim.filetype.add()` would load its 2 ms of tables at every start of Neovim.
vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile", "BufFilePost" }, {
  group = group,
  pattern = "*.chat",
  desc = "flemma: *.chat has filetype chat",
  callback = function(event)
    -- `:saveas` renames a buffer that is not loaded, too.
    if vim.api.nvim_buf_is_loaded(event.buf) and vim.bo[event.buf].filetype ~= "chat" then
      vim.bo[event.buf].filetype = "chat"
    end
  end,
})

vim.api.nvim_create_autocmd("BufNewFile", {
  group = group,
  pattern = "*.chat",
  desc = "flemma: a new chat starts with @You:",
  callback = function(event)
    require("flemma.template").fill(event.buf)
  end,
})

-- What other autocommands put into a new file is the user's own template. They are through
-- when the buffer is shown.
vim.api.nvim_create_autocmd("BufNewFile", {
  group = group,
  pattern = "*.chat",
  desc = "flemma: a new chat may be filled from a template",
  callback = function(new)
    vim.api.nvim_create_autocmd("BufWinEnter", {
      buffer = new.buf,
      once = true,
      callback = function(event)
        if vim.api.nvim_buf_line_count(event.buf) > 1 then
          require("flemma.buffer").filled(event.buf)
        end
      end,
    })
  end,
})

vim.api.nvim_create_autocmd("FileType", {
  group = group,
  pattern = "chat",
  desc = "flemma: attach the host to the chat",
  callback = function(event)
    require("flemma.buffer").open(event.buf)
  end,
})

vim.api.nvim_create_user_command("Flemma", function(command)
  require("flemma.commands").run(command.fargs, command.args)
end, {
  nargs = "*",
  desc = "Flemma: talk to a model in a .chat buffer",
  complete = function(lead, line, column)
    return require("flemma.commands").complete(lead, line:sub(1, column))
  end,
})
