--- What is wrong with the options, in sentences. Loaded when something is; that
--- it is wrong was found by |flemma|.
---@class flemma.check
local M = {}

local notices = require("flemma.notices")
local words = require("flemma.words")

local SIMPLE = {
  boolean = "true or false",
  off = "false",
  string = "a string",
  module = "the path of a module",
  share = 'a share such as "50%"',
  ["function"] = "a function",
  table = "a table",
  finite = "a finite number",
}

---@param list string[]
---@return string
local function either(list)
  local last = table.remove(list)
  return #list == 0 and last or table.concat(list, ", ") .. " or " .. last
end

--- What a value must be, as the end of a sentence.
---@param kind any As in |flemma|.
---@return string
local function must_be(kind)
  if type(kind) == "string" then
    return SIMPLE[kind]
  end
  local word, rest = kind[1], vim.list_slice(kind, 2)
  if word == "choice" then
    return either(vim.tbl_map(function(choice)
      return ('"%s"'):format(choice)
    end, rest))
  elseif word == "any" then
    return either(vim.tbl_map(must_be, rest))
  elseif word == "number" then
    return ("a number from %s to %s"):format(kind[2], kind[3])
  elseif word == "integer" then
    return ("a whole number from %d"):format(kind[2]) .. (kind[3] and (" to %d"):format(kind[3]) or "")
  elseif word == "list" and kind[2][1] == "choice" then
    return "a list of " .. must_be(kind[2])
  elseif word == "list" then
    return "a list of " .. (kind[2] == "string" and "strings" or "such values")
  end
  return "a table"
end

--- A value as a message shows it: on one line, cut where it is long, and a key not
--- at all.
---@param value any
---@param path string
---@return string
local function shown(value, path)
  if path:find("api_key", 1, true) then
    return "a " .. type(value)
  elseif type(value) == "function" then
    return "a function"
  end
  local text = vim.inspect(value, { newline = " ", indent = "" })
  return #text > 60 and text:sub(1, 57) .. "…" or text
end

--- What to say to a name in the rules that nothing has. One that is near no other
--- may be that of a tool that is still to come.
---@param name string
---@param known table<string, any>
---@param path string
---@return string? problem
local function unknown(name, known, path)
  local alike = vim.tbl_filter(function(it)
    return it:sub(1, 1) == name:sub(1, 1)
  end, vim.tbl_keys(known))
  local meant = words.nearest(name, alike, math.min(2, math.floor(#name / 2)))
  if not meant and name:sub(1, 1) ~= "$" then
    return nil
  end
  local hint = meant and (' Did you mean "%s"?'):format(meant) or ""
  return ('%s: nothing is named "%s".%s'):format(path:sub(1, -2), name, hint)
end

--- What to say to a list of words that holds another one.
---@param choices string[]
---@param list any
---@param path string
---@return string? problem
local function unknown_word(choices, list, path)
  for _, word in ipairs(type(list) == "table" and list or {}) do
    if type(word) == "string" and not vim.list_contains(choices, word) then
      local meant = words.nearest(word, choices)
      local hint = meant and (' Did you mean "%s"?'):format(meant) or ""
      return ('%s: nothing is named "%s".%s'):format(path:sub(1, -2), word, hint)
    end
  end
end

---@param kind any
---@param value any
---@param path string
---@param name string? What no option is named; absent when the value is wrong.
---@return string? problem
local function sentence(kind, value, path, name)
  if kind[1] == "name" then
    return unknown(value, kind[2], path)
  end
  local choices = kind[1] == "list" and kind[2][1] == "choice" and vim.list_slice(kind[2], 2)
  local problem = choices and unknown_word(choices, value, path)
  if problem then
    return problem
  elseif not name then
    local option = path == "" and "what setup() was given" or path:sub(1, -2)
    return ("%s is %s; it must be %s."):format(option, shown(value, path), must_be(kind))
  end
  local meant = words.nearest(name, vim.tbl_keys(kind[2]))
  if kind[1] == "tools" and type(value) == "table" and not meant then
    return nil
  end
  local hint = meant and (' Did you mean "%s"?'):format(meant) or ""
  return ('There is no option "%s%s".%s'):format(path, name, hint)
end

--- Tells the user what does not fit.
---@param wrong any[][] What |flemma| found: kind, value, path, name.
---@param caller { short_src: string, currentline: integer }? Who called `setup()`.
function M.tell(wrong, caller)
  local problems, about_tools = {}, false
  for _, found in ipairs(wrong) do
    local problem = sentence(found[1], found[2], found[3], found[4])
    if problem then
      problems[#problems + 1] = problem
      -- A slip for "tools" itself is one in its rules as well.
      -- A number that is none is left out, and the rules are whole without it.
      local is_rule = found[1] ~= "finite" and problem:find("tools", 1, true) ~= nil
      about_tools = about_tools or is_rule or found[3] == "" and not found[4]
    end
  end
  if #problems == 0 then
    return
  end
  table.sort(problems)
  local where = caller and caller.currentline > 0 and ("%s:%d: "):format(caller.short_src, caller.currentline) or ""
  local consequence = about_tools and "Until the tools options are right, every call waits for you."
    or "These options keep their defaults."
  notices.notify({
    level = "error",
    message = ("%ssetup(): %s %s"):format(where, table.concat(problems, " "), consequence),
  })
end

return M
