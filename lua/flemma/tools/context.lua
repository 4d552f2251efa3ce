--- The context of a call: what a tool gets besides its arguments.
---@class flemma.tools.context
local M = {}

---@class flemma.tools.Path
---@field resolve fun(path: string): string Absolute: from the chat's folder, or Neovim's for one without a file.

---@class flemma.tools.Context
---@field bufnr integer The chat's buffer.
---@field cwd string The working directory.
---@field timeout number Seconds a call may take by default.
---@field __dirname string? The folder of the chat's file.
---@field __filename string? The chat's file.
---@field path flemma.tools.Path
---@field sandbox flemma.tools.Sandbox
---@field truncate flemma.tools.truncate
---@field get_config fun(self: flemma.tools.Context): table? `tools.<name>` of the options, a copy.

--- Returns the context of a call.
---@param message flemma.protocol.ToolCall
---@return flemma.tools.Context
function M.new(message)
  local file = message.path ~= "" and message.path or nil
  local folder = file and vim.fs.dirname(file)
  local function resolve(path)
    if path:sub(1, 2) == "~/" or path == "~" then
      return (vim.uv.os_homedir() or "~") .. path:sub(2)
    end
    return require("flemma.path").is_absolute(path) and path or vim.fs.joinpath(message.folder, path)
  end
  return {
    bufnr = message.buffer,
    cwd = message.cwd,
    timeout = message.timeout,
    __dirname = folder,
    __filename = file,
    path = { resolve = resolve },
    sandbox = require("flemma.tools.sandbox").new(message.sandbox, resolve),
    truncate = require("flemma.tools.truncate"),
    get_config = function()
      return require("flemma.tools.definition").config(message.tool)
    end,
  }
end

return M
