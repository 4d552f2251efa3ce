--- The start-up file of the end-to-end tests: this checkout as the only plugin.
--- The options are JSON in $FLEMMA_TEST_OPTIONS. If they need functions, Lua in $FLEMMA_TEST_INIT
--- runs instead of setup().

local here = debug.getinfo(1, "S").source:sub(2)
vim.opt.runtimepath:prepend(vim.fs.dirname(vim.fs.dirname(vim.fn.fnamemodify(here, ":p"))))
vim.o.swapfile = false

local options = vim.env.FLEMMA_TEST_OPTIONS or "{}"
local init = vim.env.FLEMMA_TEST_INIT
-- Hidden from the host and its tools.
vim.env.FLEMMA_TEST_OPTIONS = nil
vim.env.FLEMMA_TEST_INIT = nil

if init then
  assert(loadstring(init, "=init"))()
else
  require("flemma").setup(vim.json.decode(options, { luanil = { object = true } }))
end
