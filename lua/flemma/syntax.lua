--- Syntax colors of the lines of a diff: from tree-sitter if a parser is installed, otherwise
--- from Vim's syntax files. Only the shown lines are parsed, so the colors are a guess where
--- what is above them matters.
---@class flemma.syntax
local M = {}

local api = vim.api

--- Time for coloring one text with a syntax file; what is left then has no colors.
local BUDGET_MS = 5

---@alias flemma.syntax.Colors table<integer, table<integer, string>> Groups by row and byte, from 1.

--- Colors by diff; false while they are computed.
---@type table<flemma.protocol.Diff, flemma.syntax.Colors|false>
local known = setmetatable({}, { __mode = "k" })

---@class flemma.syntax.Side One of the two texts of a diff.
---@field lines string[]
---@field places { row: integer, offset: integer }[][] For each line, where its pieces are drawn.
---@field known boolean[] Lines that the other text has as well, which gives them their colors.

--- Collects the lines of one text, whose long lines are several rows.
---@param file flemma.protocol.Diff
---@param kind "add"|"delete" The rows besides the context.
---@return flemma.syntax.Side
local function side(file, kind)
  local found = { lines = {}, places = {}, known = {} }
  for index, row in ipairs(file.rows) do
    if row.kind == kind or row.kind == "context" then
      local last = #found.lines
      if row.number > 0 or last == 0 then
        found.lines[last + 1] = row.text
        found.places[last + 1] = { { row = index, offset = 0 } }
        found.known[last + 1] = kind == "delete" and row.kind == "context"
      else
        table.insert(found.places[last], { row = index, offset = #found.lines[last] })
        found.lines[last] = found.lines[last] .. row.text
      end
    end
  end
  return found
end

--- Colors bytes of a line.
---@param colors flemma.syntax.Colors Gets the groups.
---@param places { row: integer, offset: integer }[]
---@param first integer From 0.
---@param last integer After the last byte.
---@param group string
local function paint(colors, places, first, last, group)
  for number, place in ipairs(places) do
    local behind = places[number + 1] and places[number + 1].offset or math.huge
    colors[place.row] = colors[place.row] or {}
    for byte = math.max(first, place.offset), math.min(last, behind) - 1 do
      colors[place.row][byte - place.offset + 1] = group
    end
  end
end

--- Colors one text with its tree-sitter parser.
---@param found flemma.syntax.Side
---@param language string
---@param colors flemma.syntax.Colors
local function with_parser(found, language, colors)
  local text = table.concat(found.lines, "\n")
  local query = vim.treesitter.query.get(language, "highlights")
  local tree = vim.treesitter.get_string_parser(text, language):parse()[1]
  if not query or not tree then
    return
  end
  for id, node in query:iter_captures(tree:root(), text) do
    local name = query.captures[id]
    local first, start, last, stop = node:range()
    -- Captures such as `@spell` have no color.
    for line = name:find("^[_%l]*spell$") and math.huge or first, last do
      local places = found.places[line + 1]
      if places and not found.known[line + 1] then
        local from, to = line == first and start or 0, line == last and stop or #found.lines[line + 1]
        paint(colors, places, from, to, ("@%s.%s"):format(name, language))
      end
    end
  end
end

--- Colors one text with Vim's syntax file, until the time is over.
---@param found flemma.syntax.Side
---@param filetype string
---@param colors flemma.syntax.Colors
local function with_syntax_file(found, filetype, colors)
  local buffer, names = api.nvim_create_buf(false, true), {}
  api.nvim_buf_set_lines(buffer, 0, -1, false, found.lines)
  pcall(api.nvim_buf_call, buffer, function()
    vim.bo.syntax = filetype
    local deadline = vim.uv.hrtime() + BUDGET_MS * 1e6
    for number, line in ipairs(found.lines) do
      for first, last in (found.known[number] and "" or line):gmatch("()%S+()") do
        for byte = first, last - 1 do
          local id = vim.fn.synID(number, byte, 1)
          names[id] = names[id] or vim.fn.synIDattr(vim.fn.synIDtrans(id), "name")
          if names[id] ~= "" then
            paint(colors, found.places[number], byte - 1, byte, names[id])
          end
        end
        if vim.uv.hrtime() > deadline then
          return
        end
      end
    end
  end)
  api.nvim_buf_delete(buffer, { force = true })
end

---@param file flemma.protocol.Diff
---@return flemma.syntax.Colors
local function compute(file)
  local colors = {}
  local sides = { side(file, "add"), side(file, "delete") }
  local ok, filetype = pcall(vim.filetype.match, { filename = file.name, contents = sides[1].lines })
  if not ok or not filetype then
    return colors
  end
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  local added, has_parser = pcall(vim.treesitter.language.add, language)
  for _, found in ipairs(sides) do
    if added and has_parser then
      pcall(with_parser, found, language, colors)
    elseif vim.g.syntax_on then
      with_syntax_file(found, filetype, colors)
    end
  end
  return colors
end

--- Returns the colors of a diff as far as they are known. Computes them after the diff is on
--- the screen.
---@param file flemma.protocol.Diff
---@param colored fun() Called once the colors are known.
---@return flemma.syntax.Colors
function M.colors(file, colored)
  -- Without RGB colors, text could have the color of the diff's background.
  if #file.rows == 0 or not (vim.o.termguicolors or vim.fn.has("gui_running") == 1) then
    return {}
  end
  if known[file] == nil then
    known[file] = false
    vim.schedule(function()
      known[file] = compute(file)
      colored()
    end)
  end
  return known[file] or {}
end

return M
