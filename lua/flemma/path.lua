--- Paths of files. On Windows, Neovim names buffers with backslashes, and a path begins with a
--- drive; here, all have slashes.
---@class flemma.path
local M = {}

local is_windows = vim.fn.has("win32") == 1

--- Returns a path with slashes between its components.
---@param path string
---@return string
function M.slashed(path)
  return is_windows and (path:gsub("\\", "/")) or path
end

--- Returns whether a path starts from no other folder.
---@param path string
---@return boolean
function M.is_absolute(path)
  return path:find("^/") ~= nil or is_windows and M.slashed(path):find("^%a:/") ~= nil
end

--- Returns the part of a path below a folder.
---@param path string
---@param folder string
---@return string? rest Without a slash at its start; nil if the path is elsewhere.
function M.below(path, folder)
  path, folder = M.slashed(path), M.slashed(folder)
  local start = vim.endswith(folder, "/") and folder or folder .. "/"
  return vim.startswith(path, start) and path:sub(#start + 1) or nil
end

--- Returns the root of an absolute path, such as `/` or `C:/`.
---@param path string
---@return string
function M.root(path)
  return M.slashed(path):match("^%a:/") or "/"
end

--- Runs a function as if on another system. For tests.
---@param windows boolean
---@param run fun()
function M.as_on(windows, run)
  local before = is_windows
  is_windows = windows
  local ok, problem = pcall(run)
  is_windows = before
  if not ok then
    error(problem, 0)
  end
end

return M
