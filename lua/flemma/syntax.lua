--- Syntax colors of a text: by a tree-sitter parser if one is installed, otherwise by a syntax
--- file. Used for messages, code, results, and diffs.
---@class flemma.syntax
local M = {}

local names = require("flemma.syntax.names")

--- Most bytes of a text, and of a line, that are colored: what is longer was written by no
--- human and would take long.
local MOST_BYTES, MOST_LINE = 30000, 1000
--- A parser's time grows with the square of what is open or may be: most characters that open
--- something in a line, in a text of Markdown, and most that are open at once.
local MOST_IN_LINE, MOST_IN_MARKDOWN, MOST_OPEN = 60, 1000, 100
--- Texts whose colors are kept, in each of two generations.
local KEPT = 150

---@alias flemma.syntax.Span { [1]: integer, [2]: integer, [3]: string?, [4]: string?, [5]: integer? } First byte, byte after the last, group, text shown instead, priority.
---@alias flemma.syntax.Rows flemma.syntax.Span[][]

---@class flemma.syntax.Entry
---@field rows flemma.syntax.Rows
---@field complete boolean
---@field waiting fun()[] Called when there are more colors.

---@type table<string, flemma.syntax.Entry>
local young = {}
---@type table<string, flemma.syntax.Entry>
local old = {}
local count = 0

local function find(key)
  return young[key] or old[key]
end

local function keep(key, entry)
  if not young[key] then
    count = count + 1
    if count > KEPT then
      young, old, count = {}, young, 1
    end
  end
  young[key] = entry
end

local function count_of(line, pattern)
  local _, number = line:gsub(pattern, "")
  return number
end

--- Returns the lines as they are colored: the start of long ones, and none of dense ones.
---@return string[]? lines Nil if they would take too long.
local function bounded(language, lines)
  local is_markdown = language.parser == "markdown"
  local marks = is_markdown and "[*_`~|<>%[]" or "[%(%[{<]"
  local bytes, total, open, cut = 0, 0, 0, {}
  for number, line in ipairs(lines) do
    line = line:sub(1, MOST_LINE)
    local found = count_of(line, marks)
    -- A NUL is a line break in Neovim's buffers.
    line = found <= MOST_IN_LINE and line:gsub("[%z\n\r]", " ") or ""
    cut[number], bytes = line, bytes + #line
    if line ~= "" then
      total = total + found
      open = math.max(0, open + found - (is_markdown and found or count_of(line, "[%)%]}>]")))
    end
    if bytes > MOST_BYTES or open > MOST_OPEN or (is_markdown and total > MOST_IN_MARKDOWN) then
      return nil
    end
  end
  return cut
end

local function call_waiting(entry)
  local waiting = entry.waiting
  if entry.complete then
    entry.waiting = {}
  end
  for _, callback in ipairs(waiting) do
    callback()
  end
end

--- Asks for colors by a syntax file, outside of a redraw.
local function request(file, lines, entry)
  vim.schedule(function()
    require("flemma.syntax.file").request(file, lines, function(rows, complete)
      entry.rows, entry.complete = rows, complete
      call_waiting(entry)
    end)
  end)
end

--- Asks for colors by a parser.
local function parse(language, lines, skip, entry)
  local tree = require("flemma.syntax.tree")
  local guess = tree.grown(language.parser, lines, skip, function(part)
    return bounded(language, part)
  end)
  -- Bounding all lines takes as long as parsing some, so it waits until all are parsed.
  local all = not guess and bounded(language, lines)
  entry.rows = guess or all and tree.rows(language.parser, lines, all, skip) or {}
  entry.complete = guess == nil
end

--- Replaces a guess once the text has not grown for a while, and forgets it if it has.
local function settle(language, lines, skip, entry, key)
  local tree = require("flemma.syntax.tree")
  vim.defer_fn(function()
    if not tree.is_last(language.parser, lines) then
      young[key], old[key] = nil, nil
      return
    end
    local all = bounded(language, lines)
    if all then
      local ok, rows = pcall(tree.rows, language.parser, lines, all, skip)
      entry.rows = ok and rows or entry.rows
    end
    entry.complete = true
    call_waiting(entry)
  end, tree.FULL_MS)
end

local function compute(language, lines, skip, key)
  local entry = { rows = {}, complete = true, waiting = {} }
  if language.parser then
    -- Queries are files of the user and may be broken.
    pcall(parse, language, lines, skip, entry)
    if not entry.complete then
      settle(language, lines, skip, entry, key)
    end
  elseif vim.g.syntax_on then
    local fits = bounded(language, lines)
    if fits then
      entry.rows, entry.complete = require("flemma.syntax.file").known(language.file, fits), false
      request(language.file, fits, entry)
    end
  end
  return entry
end

--- Returns the colors of a text as far as they are known.
---@param language flemma.syntax.Language?
---@param lines string[]
---@param colored fun() Called when more are known.
---@param skip integer? Number of lines at the start whose colors are not needed.
---@return flemma.syntax.Rows rows May have fewer rows than there are lines.
function M.rows(language, lines, colored, skip)
  if not language or #lines == 0 then
    return {}
  end
  skip = skip or 0
  local head = ("%s\n%s\n%d\n"):format(language.parser or "", language.file or "", skip)
  local key = head .. table.concat(lines, "\n")
  local entry = find(key) or compute(language, lines, skip, key)
  keep(key, entry)
  if not entry.complete and not vim.list_contains(entry.waiting, colored) then
    entry.waiting[#entry.waiting + 1] = colored
  end
  return entry.rows
end

M.of_fence = names.of_fence
M.of_file = names.of_file
M.of_filetype = names.of_filetype

return M
