--- The options and keys of a chat's buffer.
---@class flemma.buffer.settings
local M = {}

--- Sets them when a chat is opened. Options that the user has set stay.
---@param buffer integer
function M.set(buffer)
  vim.bo[buffer].modeline = false
  -- A sandbox protects the chat with a mount, which a rename over the file would lift: a
  -- command that runs while the chat is saved could then write it.
  vim.bo[buffer].backupcopy = "yes"
  require("flemma.buffer.encoding").note(buffer)
  if vim.bo[buffer].omnifunc == "" then
    vim.bo[buffer].omnifunc = "v:lua.require'flemma.complete'.omni"
  end
  if vim.bo[buffer].includeexpr == "" then
    vim.bo[buffer].includeexpr = "v:lua.require'flemma.navigate'.file(v:fname)"
  end
  -- `:bdelete` removes keys and variables of a buffer that may be open again at once.
  if not vim.b[buffer].flemma_keys then
    vim.b[buffer].flemma_keys = true
    require("flemma.keys").set(buffer)
  end
end

return M
