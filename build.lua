-- lazy.nvim runs this file after it installs or updates the plugin. It ends a build after 120
-- seconds, so a build with cargo goes on in the background.
local folder = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p"))
vim.opt.runtimepath:append(folder)
local install = require("flemma.install")
install.start()
local limit = vim.uv.now() + 100 * 1000
while coroutine.running() and install.is_running() and vim.uv.now() < limit do
  coroutine.yield("Installing the host program")
end
