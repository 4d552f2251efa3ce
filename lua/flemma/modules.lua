--- Whether there is a module, without loading it.
---@class flemma.modules
local M = {}

---@param path string Such as "my_plugin.tools".
---@return boolean
function M.exists(path)
  if package.loaded[path] or package.preload[path] or package.searchpath(path, package.path) then
    return true
  end
  local file = path:gsub("%.", "/")
  return #vim.api.nvim_get_runtime_file(("lua/%s.lua"):format(file), false) > 0
    or #vim.api.nvim_get_runtime_file(("lua/%s/init.lua"):format(file), false) > 0
end

return M
