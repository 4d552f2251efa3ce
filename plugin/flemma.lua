--- The file type and the command. Loads no module of the plugin before the first chat.

if vim.g.loaded_flemma then
  return
end
vim.g.loaded_flemma = true
-- With 'autochdir', the working directory is that of the last file soon.
vim.g.flemma_directory = vim.uv.cwd()

if vim.fn.has("nvim-0.11") == 0 then
  vim.notify_once("Flemma: needs Neovim 0.11 or newer, so it is off. Update Neovim.", vim.log.levels.ERROR)
  return
end

local group = vim.api.nvim_create_augroup("flemma", { clear = true })

-- Modelines are executed while a file is read, and a chat may come from someone else. A chat is
-- UTF-8, as the host reads and writes it, whatever is set for other files.
vim.api.nvim_create_autocmd({ "BufReadPre", "BufNewFile" }, {
  group = group,
  pattern = "*.chat",
  desc = "flemma: no modelines in chats, and UTF-8",
  callback = function(event)
    vim.opt_local.modeline = false
    require("flemma.buffer.encoding").begin(event)
    -- For users of tree-sitter.
    require("flemma.neovim").register_language("markdown", "chat")
  end,
})

-- `vim.filetype.add()` would take 2 ms at every start of Neovim.
vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile", "BufFilePost" }, {
  group = group,
  pattern = "*.chat",
  desc = "flemma: *.chat has filetype chat",
  callback = function(event)
    -- `:saveas` also renames a buffer that is not loaded.
    if vim.api.nvim_buf_is_loaded(event.buf) and vim.bo[event.buf].filetype ~= "chat" then
      vim.bo[event.buf].filetype = "chat"
    end
  end,
})

vim.api.nvim_create_autocmd("BufNewFile", {
  group = group,
  pattern = "*.chat",
  desc = "flemma: a new chat starts with @You:",
  callback = function(new)
    local is_bare = require("flemma.new").fill(new.buf)
    -- Other autocommands may fill in the user's own template before the buffer is shown.
    vim.api.nvim_create_autocmd("BufWinEnter", {
      pattern = ("<buffer=%d>"):format(new.buf),
      once = true,
      callback = function(event)
        if vim.api.nvim_buf_line_count(event.buf) > 1 then
          require("flemma.buffer").filled(event.buf)
        end
        if is_bare then
          -- After the chat is on the screen.
          vim.schedule(function()
            require("flemma.new").offer_rules(event.buf)
          end)
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
  local range = command.range > 0 and { first = command.line1, last = command.line2 } or nil
  require("flemma.commands").run(command.fargs, command.args, range)
end, {
  nargs = "*",
  range = true,
  desc = "Flemma: talk to a model in a .chat buffer",
  complete = function(lead, line, column)
    return require("flemma.commands").complete(lead, line:sub(1, column))
  end,
})
