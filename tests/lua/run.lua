--- Runs the tests of the plugin's Lua inside Neovim: `nvim --clean -l tests/lua/run.lua`.
--- There is no host: messages to it are recorded, and tests pass messages from it to
--- `require("flemma.host").receive()`.

local root =
  vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p"))))
vim.opt.runtimepath:prepend(root)
vim.o.swapfile = false
package.path = root .. "/tests/lua/?.lua;" .. package.path

local passed, failed = 0, 0

--- Runs a test, which is named after its claim.
---@param claim string
---@param body fun()
function _G.test(claim, body)
  local ok, why = xpcall(body, debug.traceback)
  if ok then
    passed = passed + 1
  else
    failed = failed + 1
    io.stdout:write(("FAILED: %s\n%s\n"):format(claim, why))
  end
end

--- Fails with both values if they differ.
---@param actual any
---@param expected any
function _G.same(actual, expected)
  if not vim.deep_equal(actual, expected) then
    error(("expected %s\nactual   %s"):format(vim.inspect(expected), vim.inspect(actual)), 2)
  end
end

for _, name in ipairs({
  "neovim_spec",
  "highlights_spec",
  "life_spec",
  "lsp_spec",
  "navigate_spec",
  "help_spec",
  "pure_spec",
  "mirror_spec",
  "apply_spec",
  "render_spec",
  "fields_spec",
  "remarks_spec",
  "markup_spec",
  "host_spec",
  "folds_spec",
  "files_spec",
  "approval_spec",
  "tools_spec",
  "install_spec",
  "context_spec",
  "chats_spec",
  "problems_spec",
  "status_spec",
  "progress_spec",
  "pickers_spec",
  "rename_spec",
  "report_spec",
  "review_spec",
  "encoding_spec",
  "swap_spec",
  "references_spec",
  "paste_spec",
}) do
  require(name)
end

io.stdout:write(("%d passed, %d failed\n"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
