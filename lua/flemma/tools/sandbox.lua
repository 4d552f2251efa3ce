--- `ctx.sandbox`: the sandbox of a call, for tools that write files or start programs.
---@class flemma.tools.sandbox
local M = {}

local paths = require("flemma.path")

---@class flemma.tools.Sandbox
---@field is_path_writable fun(path: string): boolean Whether a file may be written there; it need not exist.
---@field wrap_command fun(argv: string[]): string[]?, string? The words that run it in the sandbox, or nil and why it must not run.

--- Follows the links of a path, as far as it exists.
---@param path string Absolute.
local function leads_to(path)
  local real = paths.root(path)
  for part in (paths.below(path, real) or path):gmatch("[^/]+") do
    if part == ".." then
      real = vim.fs.dirname(real)
    elseif part ~= "." then
      local next = vim.fs.joinpath(real, part)
      real = paths.slashed(vim.uv.fs_realpath(next) or next)
    end
  end
  return real
end

--- Returns the functions for a call.
---@param policy flemma.protocol.Held? Nil without a sandbox.
---@param resolve fun(path: string): string
---@return flemma.tools.Sandbox
function M.new(policy, resolve)
  return {
    is_path_writable = function(path)
      if not policy then
        return true
      end
      local real = leads_to(resolve(path))
      return vim.iter(policy.writable):any(function(folder)
        return real == paths.slashed(folder) or paths.below(real, folder) ~= nil
      end)
    end,
    wrap_command = function(argv)
      if policy and policy.problem then
        return nil, policy.problem
      end
      return vim.list_extend(vim.deepcopy(policy and policy.prefix or {}), argv)
    end,
  }
end

return M
