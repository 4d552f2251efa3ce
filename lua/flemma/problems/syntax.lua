--- Syntax errors of a text, which tree-sitter finds in steps that are too short to be felt.
---@class flemma.problems.syntax
local M = {}

-- What LuaJIT compiles keeps the closures that it was compiled for, and with them trees.
if jit then
  jit.off(true, true)
end

--- Longest text that is parsed. Neovim parses in short steps, but frees a tree in a single one, in 3 ms or,
--- of a table of numbers, in 20.
local LONGEST = 256 * 1024
--- Longest step of the search in a tree.
local STEP_NS = 3 * 1000 * 1000
--- Most errors that are searched for.
local MOST = 1000
--- Bytes of parsed texts after which their trees are freed.
local FREE_AFTER = 64 * 1024
--- Memory to collect per step until they are, in KB. Takes a millisecond.
local FREE_KB = 400

---@class flemma.problems.syntax.Error
---@field row integer
---@field text string The line, or its beginning.
---@field message string

--- Returns the line that a node begins in.
---@return integer row
---@return string line
local function line_of(node, text, longest)
  local row, column, byte = node:start()
  local from = byte - column + 1
  return row, text:sub(from, from + longest - 1):match("^[^\n]*")
end

--- Collects the innermost errors of a tree. Runs in a coroutine and yields after each step.
---@return flemma.problems.syntax.Error[]? items Nil if there are too many.
local function search(root, text, longest)
  local items, begun = {}, vim.uv.hrtime()
  local function visit(node)
    if vim.uv.hrtime() - begun > STEP_NS then
      coroutine.yield()
      begun = vim.uv.hrtime()
    end
    if not node:has_error() or #items > MOST then
      return
    end
    local count = #items
    for child in node:iter_children() do
      visit(child)
    end
    local is_missing = node:missing()
    if #items == count and (is_missing or node:type() == "ERROR") then
      local row, line = line_of(node, text, longest)
      local message = is_missing and ("missing %q"):format(node:type()) or "unexpected text"
      items[#items + 1] = { row = row, text = line, message = message }
    end
  end
  visit(root)
  return #items <= MOST and items or nil
end

local function search_in_steps(root, text, longest, done)
  local searching = coroutine.create(search)
  local function step()
    local ok, items = coroutine.resume(searching, root, text, longest)
    if ok and coroutine.status(searching) ~= "dead" then
      -- Neovim handles a key first.
      return vim.schedule(step)
    end
    -- An error is a tree that is nested too deeply.
    done(ok and items or nil)
  end
  step()
end

--- Bytes of the texts whose trees may not be freed yet, and cycles of the garbage collector that are left.
local parsed, cycles = 0, 0

local function collect()
  if collectgarbage("step", FREE_KB) then
    cycles = cycles - 1
  end
  if cycles > 0 then
    vim.schedule(collect)
  end
end

--- Has trees freed soon that are not used any more. Lua does not know how large they are, and would
--- free those of many checks in a single step.
---@param bytes integer Of the text.
local function free_soon(bytes)
  parsed = parsed + bytes
  if parsed < FREE_AFTER then
    return
  end
  local is_collecting = cycles > 0
  -- The one that runs may have passed a tree.
  parsed, cycles = 0, 2
  if not is_collecting then
    vim.schedule(collect)
  end
end

--- Returns the parser of a filetype, if it is installed.
---@param filetype string
---@return string?
function M.parser(filetype)
  local parser = vim.treesitter.language.get_lang(filetype) or filetype
  if not parser:find("^[%w_]+$") then
    return nil
  end
  -- Newer versions of Neovim return nil instead of an error.
  local ok, added = pcall(vim.treesitter.language.add, parser)
  return ok and added and parser or nil
end

--- Finds the syntax errors of a text.
---@param parser string
---@param text string
---@param longest integer Longest line of an error.
---@param done fun(items: flemma.problems.syntax.Error[]?) Gets nil if they are not known.
function M.find(parser, text, longest, done)
  if #text > LONGEST then
    return done(nil)
  end
  -- A step of its own, because loading a parser takes as long as one.
  vim.schedule(function()
    -- The queries for injected languages take longer to compile than most texts to parse.
    local options = { injections = { [parser] = "" } }
    local ok, tree = pcall(vim.treesitter.get_string_parser, text, parser, options)
    if not ok or not tree then
      return done(nil)
    end
    tree:parse(false, function(_, trees)
      local first = trees and select(2, next(trees)) ---@type TSTree?
      if not first then
        return done(nil)
      end
      search_in_steps(first:root(), text, longest, function(items)
        done(items)
        free_soon(#text)
      end)
    end)
  end)
end

return M
