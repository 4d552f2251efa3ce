--- The start-up file of `make demo`: this checkout as the only plugin, every
--- option at its default. The host chooses the provider (a key, a local
--- server, else the tutor) and says on screen which one it is.

vim.opt.runtimepath:prepend(vim.env.FLEMMA_REPOSITORY)
vim.o.termguicolors = vim.env.COLORTERM == "truecolor"
vim.o.swapfile = false
vim.o.wrap = true
vim.o.linebreak = true

require("flemma").setup({})
