--- The options that Lua itself needs, and the form in which all of them travel.
--- What they must be is known to |flemma|, and what they mean to the host.
---@class flemma.config
local M = {}

local callbacks = require("flemma.callbacks")

---@class flemma.config.Options
---@field keymaps { enabled: boolean, normal: table<string, string|false>, insert: table<string, string|false> }
---@field highlights table<string, string|table> Name to group it links to, or to a definition as in |nvim_set_hl()|.
---@field host { path: string?, log: string }

---@type flemma.config.Options?
local current
---@type integer[] Numbers of the functions in the options that the host has now.
local functions = {}

--- Replaces what cannot travel: a function becomes `{ ["function"] = id }`.
---@param value any
---@param found integer[] Collects the ids.
---@param depth integer How deep we are, so that a table that holds itself ends.
---@return any
local function portable(value, found, depth)
  if type(value) == "function" then
    local id = callbacks.add(value)
    found[#found + 1] = id
    return { ["function"] = id }
  end
  if type(value) ~= "table" or next(value) == nil then
    return value
  end
  if depth > 32 then
    return vim.NIL
  end
  local copy, listed = {}, vim.islist(value)
  for key, item in pairs(value) do
    copy[listed and key or tostring(key)] = portable(item, found, depth + 1)
  end
  return copy
end

--- Takes the options of `setup()` over.
---@param fitting table What is right of them.
function M.load(fitting)
  current = vim.tbl_deep_extend("force", vim.deepcopy(require("flemma.defaults")), {
    ui = fitting.ui,
    keymaps = fitting.keymaps,
    highlights = fitting.highlights,
    host = fitting.host,
  })
  current.host.log = current.host.log or vim.fs.joinpath(vim.fn.stdpath("log") --[[@as string]], "flemma.log")
end

---@return flemma.config.Options
function M.get()
  if not current then
    M.load({})
  end
  return current
end

--- The options as the host gets them. Ids given out before answer to nothing now.
---@param options table What the user gave.
---@return table
function M.wire(options)
  callbacks.drop(functions)
  functions = {}
  local plain = portable(options, functions, 0)
  return next(plain) == nil and vim.empty_dict() or plain
end

return M
