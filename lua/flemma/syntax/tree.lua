--- Colors of a text by its tree-sitter parser.
---@class flemma.syntax.tree
local M = {}

--- Captures without a color.
local NO_COLOR = { spell = true, nospell = true, conceal = true, none = true }

--- Lines above the changed ones that are parsed with them.
local CONTEXT = 8
--- How long a growing text is not parsed as a whole.
M.FULL_MS = 300
--- How long it is not parsed at all. What arrives meanwhile has no colors yet. An answer arrives
--- in up to 60 pieces per second, and a parser takes longer than all other work on a piece.
local TAIL_MS = 120

--- Adds the part of a range that is in each of its rows.
---@param range integer[] As of |vim.treesitter.get_range()|.
local function add(rows, lines, range, group, conceal)
  local first, start, last, stop = range[1], range[2], range[4], range[5]
  for row = first, math.min(last, #lines - 1) do
    local from, to = row == first and start or 0, row == last and stop or #lines[row + 1]
    if from < to then
      table.insert(rows[row + 1], { from, to, group, conceal })
    end
  end
end

local function paint(rows, lines, text, tree, language, skip)
  local query = vim.treesitter.query.get(language, "highlights")
  if not query then
    return
  end
  for id, node, metadata in query:iter_captures(tree:root(), text, skip, #lines) do
    local name, own = query.captures[id], metadata[id] or {}
    local conceal = own.conceal or metadata.conceal
    local colored = not NO_COLOR[name] and name:sub(1, 1) ~= "_"
    if colored or conceal then
      local group = colored and ("@%s.%s"):format(name, language) or nil
      add(rows, lines, vim.treesitter.get_range(node, text, own), group, conceal)
    end
  end
end

---@class flemma.syntax.tree.Last The text of a language that was colored last.
---@field lines string[]
---@field skip integer
---@field rows flemma.syntax.Rows
---@field full number When all of it was parsed.
---@field tail number When its end was parsed.
---@field parsed integer Number of lines then.

---@type table<string, flemma.syntax.tree.Last>
local last = {}

--- Parses a text.
local function parse(language, lines, skip)
  local rows = vim.tbl_map(function()
    return {}
  end, lines)
  -- Markdown's parser needs the end of the last line.
  local text = table.concat(lines, "\n") .. "\n"
  local parser = vim.treesitter.get_string_parser(text, language)
  parser:parse(true)
  parser:for_each_tree(function(tree, part)
    paint(rows, lines, text, tree, part:lang(), skip)
  end)
  return rows
end

--- Returns the colors of a text, also of languages inside it.
---@param language string
---@param lines string[] All lines as they are.
---@param parsed string[] The lines to parse, one for each of them.
---@param skip integer Number of lines at the start without colors.
---@return flemma.syntax.Rows
function M.rows(language, lines, parsed, skip)
  local rows = parse(language, parsed, skip)
  local now = vim.uv.now()
  last[language] = { lines = lines, skip = skip, rows = rows, full = now, tail = now, parsed = #lines }
  return rows
end

local function has_grown(before, lines)
  local number = #before.lines
  for at = 1, number - 1 do
    if lines[at] ~= before.lines[at] then
      return false
    end
  end
  return vim.startswith(lines[number] or "", before.lines[number] or "")
end

--- Returns the colors of the last text with more at its end, as an answer arrives. Only the last
--- lines are parsed, so that the cost of an answer does not grow with its code.
---@param language string
---@param lines string[] All lines as they are.
---@param skip integer
---@param bounded fun(lines: string[]): string[]? Returns the lines to parse, or nil if they take too long.
---@return flemma.syntax.Rows? rows A guess. Nil if it is another text, or if it is time to parse all of it.
function M.grown(language, lines, skip, bounded)
  local before, now = last[language], vim.uv.now()
  if not before or before.skip ~= skip or now - before.full > M.FULL_MS or not has_grown(before, lines) then
    return nil
  end
  if now - before.tail < TAIL_MS then
    last[language] = vim.tbl_extend("force", before, { lines = lines })
    return before.rows
  end
  -- The last line that was parsed may have grown.
  local start = before.parsed - 1 - CONTEXT
  if start < 0 then
    return nil
  end
  local tail = bounded(vim.list_slice(lines, start + 1))
  if not tail then
    return nil
  end
  tail = parse(language, tail, CONTEXT)
  local rows = vim.list_slice(before.rows, 1, start + CONTEXT)
  vim.list_extend(rows, tail, CONTEXT + 1)
  last[language] = { lines = lines, skip = skip, rows = rows, full = before.full, tail = now, parsed = #lines }
  return rows
end

---@param language string
---@param lines string[]
---@return boolean
function M.is_last(language, lines)
  return last[language] ~= nil and last[language].lines == lines
end

return M
