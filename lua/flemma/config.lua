--- The options that Lua itself needs, and the form in which all of them travel.
--- It checks `keymaps`, `highlights` and `host`; what the others mean, and
--- whether they are right, only the host knows.
---@class flemma.config
local M = {}

---@class flemma.config.Keymaps
---@field enabled boolean Whether chat buffers get keymaps at all.
---@field normal table<string, string|false> Action to key in Normal mode.
---@field insert table<string, string|false> Action to key in Insert mode.

---@class flemma.config.Options
---@field keymaps flemma.config.Keymaps
---@field highlights table<string, string|table> Name to group it links to, or to a definition as in |nvim_set_hl()|.
---@field host { path: string?, log: string }

---@return flemma.config.Options
local function defaults()
  return {
    keymaps = {
      enabled = true,
      normal = { send = "<C-]>", tool_execute = "<M-CR>", cancel = "<C-c>" },
      insert = { send = "<C-]>" },
    },
    highlights = {},
    host = {
      path = nil,
      log = vim.fs.joinpath(vim.fn.stdpath("log") --[[@as string]], "flemma.log"),
    },
  }
end

--- The type each option that Lua reads must have, by its name; a prefix with
--- `.*` speaks for all names below it.
local TYPES = {
  ["keymaps"] = { "table" },
  ["keymaps.enabled"] = { "boolean" },
  ["keymaps.normal"] = { "table" },
  ["keymaps.insert"] = { "table" },
  ["keymaps.normal.*"] = { "string", "boolean" },
  ["keymaps.insert.*"] = { "string", "boolean" },
  ["highlights"] = { "table" },
  ["highlights.*"] = { "string", "table" },
  ["host"] = { "table" },
  ["host.path"] = { "string" },
  ["host.log"] = { "string" },
}

---@type flemma.config.Options?
local current
---@type table<integer, function> The user's functions, by the number the host knows them by.
local functions = {}
--- Numbers are never used twice, so that a question about an old function cannot
--- reach a new one.
local last_id = 0

--- Replaces what cannot travel: a function becomes `{ ["function"] = id }`.
---@param value any
---@param found table<integer, function> Collects the functions by id.
---@param depth integer How deep we are, so that a table that holds itself ends.
---@return any
local function portable(value, found, depth)
  if type(value) == "function" then
    last_id = last_id + 1
    found[last_id] = value
    return { ["function"] = last_id }
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

--- The options with their functions taken out.
---@param options table What the user gave.
---@return table options Only strings, numbers, booleans and tables of these.
---@return table<integer, function> functions By the id that stands in their place.
function M.extract(options)
  local found = {}
  return portable(options, found, 0), found
end

--- Reports what is wrong with the options that Lua reads, and drops it.
---@param options table Changed in place.
---@param prefix string Name of `options` itself, ending in a dot, or empty.
---@param problems string[] Collects one sentence each.
local function check(options, prefix, problems)
  for key, value in pairs(options) do
    local name = prefix .. tostring(key)
    local allowed = TYPES[name] or TYPES[prefix .. "*"]
    if allowed and not vim.tbl_contains(allowed, type(value)) then
      problems[#problems + 1] = ('setup(): "%s" is a %s, so it is ignored. It must be a %s.'):format(
        name,
        type(value),
        table.concat(allowed, " or a ")
      )
      options[key] = nil
    elseif allowed and type(value) == "table" and prefix ~= "highlights." then
      check(value, name .. ".", problems)
    end
  end
end

--- Takes the options of `setup()` over.
---@param options table
---@return string[] problems What is wrong with them; those options keep their defaults.
function M.load(options)
  local own, problems = {}, {}
  for _, name in ipairs({ "keymaps", "highlights", "host" }) do
    own[name] = vim.deepcopy(options[name])
  end
  check(own, "", problems)
  current = vim.tbl_deep_extend("force", defaults(), own)
  return problems
end

---@return flemma.config.Options
function M.get()
  return current or defaults()
end

--- The options as the host gets them. Ids given out before answer to nothing now.
---@param options table What the user gave.
---@return table
function M.wire(options)
  local plain
  plain, functions = M.extract(options)
  return next(plain) == nil and vim.empty_dict() or plain
end

--- The user's function behind an id.
---@param id integer
---@return function?
function M.function_at(id)
  return functions[id]
end

return M
