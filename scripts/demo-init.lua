--- The start-up file of `make demo`: loads only this checkout. Uses a provider whose key
--- is set, else a local server, else the tutor; the screen shows which.

vim.opt.runtimepath:prepend(vim.env.FLEMMA_REPOSITORY)
vim.o.termguicolors = vim.env.COLORTERM == "truecolor"
vim.o.swapfile = false
vim.o.wrap = true
vim.o.linebreak = true

require("flemma").setup({ provider = "auto" })
