--- Looks for Lua modules without loading them.
---@class flemma.modules
local M = {}

--- Returns true if `require(path)` would find a module.
---@param path string Such as "my_plugin.tools".
---@return boolean
function M.exists(path)
  local found = package.loaded[path] or package.preload[path] or package.searchpath(path, package.path)
  return found ~= nil or #vim.loader.find(path) > 0
end

return M
