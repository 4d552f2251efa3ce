--- What a tool is given beside its arguments: where it runs, and the namespaces that
--- it may use. These are made when they are asked for.
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

---@param context flemma.tools.Context
---@return flemma.tools.Path
local function path_of(context)
  local base = context.__dirname or context.cwd
  return {
    resolve = function(path)
      if path:sub(1, 2) == "~/" or path == "~" then
        return (vim.uv.os_homedir() or "~") .. path:sub(2)
      elseif path:sub(1, 1) == "/" then
        return path
      end
      return (base == "/" and "" or base) .. "/" .. path
    end,
  }
end

--- What is made when it is asked for.
---@type table<string, fun(context: flemma.tools.Context, message: flemma.protocol.ToolCall): any>
local LAZY = {
  path = path_of,
  sandbox = function(context, message)
    return require("flemma.tools.sandbox").new(message.sandbox, context.path.resolve)
  end,
  truncate = function()
    return require("flemma.tools.truncate")
  end,
  get_config = function(_, message)
    return function()
      return require("flemma.tools.definition").config(message.tool)
    end
  end,
}

--- The context of a call. What it does not have is nil.
---@param message flemma.protocol.ToolCall
---@return flemma.tools.Context
function M.new(message)
  local file = message.path ~= "" and message.path or nil
  local context = {
    bufnr = message.buffer,
    cwd = message.cwd,
    timeout = message.timeout,
    __dirname = file and vim.fs.dirname(file),
    __filename = file,
  }
  return setmetatable(context, {
    __index = function(self, name)
      local make = LAZY[name]
      local value = make and make(self, message)
      rawset(self, name, value)
      return value
    end,
  })
end

return M
