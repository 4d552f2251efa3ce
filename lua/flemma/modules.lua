--- Finds Lua modules without loading them, and loads modules when they are first used.
---@class flemma.modules
local M = {}

--- Returns true if `require(path)` would find a module.
---@param path string Such as "my_plugin.tools".
---@return boolean
function M.exists(path)
  local found = package.loaded[path] or package.preload[path] or package.searchpath(path, package.path)
  return found ~= nil or #vim.loader.find(path) > 0
end

--- Returns a stand-in for a module that is loaded at its first use. Reading a file takes as long as
--- drawing the first screen of a chat.
---@param path string Such as "flemma.render".
---@return table module
function M.lazy(path)
  return setmetatable({}, {
    __index = function(_, key)
      return require(path)[key]
    end,
  })
end

return M
