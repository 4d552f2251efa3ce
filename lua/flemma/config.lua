--- The options that the plugin itself reads, and the form in which the host gets all of them.
--- The host validates them; here a value of another type counts as absent.
---@class flemma.config
local M = {}

local callbacks = require("flemma.callbacks")

-- What Neovim needs before the host answers. Generated from the option table of the host.
-- The defaults:
local DEFAULTS = {
  chats = {
    autosave = "new",
  },
  keymaps = {
    enabled = true,
    normal = {
      send = "<C-]>",
      tool_execute = "<M-CR>",
      review = "<CR>",
      try = "<M-t>",
      approve_all = "<M-a>",
      reject = "<M-r>",
      cancel = "<C-c>",
      next_message = "]m",
      previous_message = "[m",
      next_call = "]t",
      previous_call = "[t",
      definition = "gd",
      outline = "gO",
    },
    insert = {
      send = "<C-]>",
    },
    leader = {
      tool_execute = "<LocalLeader>a",
      try = "<LocalLeader>t",
      approve_all = "<LocalLeader>A",
      reject = "<LocalLeader>r",
      allow = "<LocalLeader>l",
    },
    operator = {
      inner_message = "im",
      a_message = "am",
    },
  },
  tools = {
    default_timeout = 120,
  },
}
-- End.

---@class flemma.config.Options
---@field keymaps { enabled: boolean, [string]: table<string, string|false> }
---@field highlights table<string, any> Name to group it links to, or to a definition as in |nvim_set_hl()|.
---@field highlight boolean Whether Markdown and code have colors.
---@field chats { folder: string?, autosave: string|false, templates: string? }
---@field winbar boolean Whether windows of chats have a winbar.
---@field bell any "bell" or "osc9"; anything else means no bell.
---@field host { path: string?, log: string }
---@field install_url string? URL of the folder with the archives of |:Flemma-install|.
---@field default_timeout number Seconds a tool may run, and a source of tools.

---@type flemma.config.Options?
local current
---@type integer[] Numbers of the functions in the options that the host has.
local functions = {}

--- Replaces what JSON cannot hold: a function becomes `{ ["function"] = id }`, an infinite
--- number or NaN `{ not_finite = "inf" }`.
---@param add fun(callback: function): integer Returns the number of a function.
---@param depth integer Number of tables around it; a table may contain itself.
local function portable(value, add, depth)
  if type(value) == "function" then
    return { ["function"] = add(value) }
  elseif type(value) == "number" and (value ~= value or math.abs(value) == math.huge) then
    return { not_finite = tostring(value) }
  elseif type(value) ~= "table" or next(value) == nil then
    return value
  elseif depth > 32 then
    return vim.NIL
  end
  local copy, listed = {}, vim.islist(value)
  for key, item in pairs(value) do
    copy[listed and key or tostring(key)] = portable(item, add, depth + 1)
  end
  return copy
end

--- Returns the option at a path, if it has this type.
local function at(options, kind, ...)
  local value = vim.tbl_get(options, ...)
  return type(value) == kind and value or nil
end

local function autosave(options)
  if at(options, "boolean", "chats", "autosave") == false then
    return false
  end
  return at(options, "string", "chats", "autosave") or DEFAULTS.chats.autosave
end

--- Reads the options that the plugin itself needs.
---@param options table As given to `setup()`.
function M.load(options)
  local keymaps = { enabled = (at(options, "table", "keymaps") or {}).enabled ~= false }
  for mode, keys in pairs(DEFAULTS.keymaps) do
    -- `enabled` is not a table.
    for name, key in pairs(type(keys) == "table" and keys or {}) do
      local own = (at(options, "table", "keymaps", mode) or {})[name]
      if type(own) == "string" or own == false then
        key = own
      end
      keymaps[mode] = keymaps[mode] or {}
      keymaps[mode][name] = key
    end
  end
  local seconds = at(options, "number", "tools", "default_timeout")
  local log = vim.fs.joinpath(vim.fn.stdpath("log") --[[@as string]], "flemma.log")
  current = {
    keymaps = keymaps,
    chats = {
      folder = at(options, "string", "chats", "folder"),
      autosave = autosave(options),
      templates = at(options, "string", "chats", "templates"),
    },
    highlights = at(options, "table", "highlights") or {},
    highlight = (at(options, "table", "ui") or {}).highlight ~= false,
    winbar = (at(options, "table", "ui") or {}).winbar ~= false,
    bell = at(options, "string", "ui", "bell"),
    install_url = at(options, "string", "install", "url"),
    host = { path = at(options, "string", "host", "path"), log = at(options, "string", "host", "log") or log },
    -- A timer accepts neither infinity nor NaN.
    default_timeout = seconds and seconds > 0 and seconds <= 86400 and seconds or DEFAULTS.tools.default_timeout,
  }
end

---@return flemma.config.Options
function M.get()
  if not current then
    -- `:Flemma new` may be the first thing that needs them.
    M.load(require("flemma").options)
  end
  return current
end

--- Returns the options as the host gets them. Earlier numbers of functions become invalid.
---@param options any As given to `setup()`.
---@return any
function M.wire(options)
  callbacks.drop(functions)
  functions = {}
  local plain = portable(options, function(callback)
    functions[#functions + 1] = callbacks.add(callback)
    return functions[#functions]
  end, 0)
  return type(plain) == "table" and next(plain) == nil and vim.empty_dict() or plain
end

--- Returns the options as JSON can hold them, for a program that calls no functions.
---@param options any As given to `setup()`.
---@return any
function M.plain(options)
  return portable(options, function()
    return 0
  end, 0)
end

return M
