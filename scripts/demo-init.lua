--- The start-up file of `make demo`: this checkout as the only plugin. The provider
--- is what there is: a key, a local server, else the tutor; the screen says which.

vim.opt.runtimepath:prepend(vim.env.FLEMMA_REPOSITORY)
vim.o.termguicolors = vim.env.COLORTERM == "truecolor"
vim.o.swapfile = false
vim.o.wrap = true
vim.o.linebreak = true

require("flemma").setup({ provider = "auto" })
