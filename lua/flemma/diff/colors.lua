--- Syntax colors of the lines of a diff. Only the shown lines are parsed, so the colors are a
--- guess where what is above them matters.
---@class flemma.diff.colors
local M = {}

local syntax = require("flemma.syntax")

---@alias flemma.diff.Colors table<integer, table<integer, string>> Groups by row and byte, from 1.

--- Colors by diff; false while they are computed.
---@type table<flemma.protocol.Diff, flemma.diff.Colors|false>
local known = setmetatable({}, { __mode = "k" })

---@class flemma.diff.Side One of the two texts of a diff.
---@field lines string[]
---@field places { row: integer, offset: integer }[][] For each line, where its pieces are drawn.
---@field known boolean[] Lines that the other text has as well, which gives them their colors.

--- Collects the lines of one text, whose long lines are several rows.
---@param kind "add"|"delete" The rows besides the context.
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
---@param colors flemma.diff.Colors Gets the groups.
---@param first integer From 0.
---@param last integer After the last byte.
local function paint(colors, places, first, last, group)
  for number, place in ipairs(places) do
    local behind = places[number + 1] and places[number + 1].offset or math.huge
    colors[place.row] = colors[place.row] or {}
    for byte = math.max(first, place.offset), math.min(last, behind) - 1 do
      colors[place.row][byte - place.offset + 1] = group
    end
  end
end

--- Colors one text as far as its colors are known.
local function paint_side(found, rows, colors)
  for number, spans in ipairs(rows) do
    for _, span in ipairs(found.known[number] and {} or spans) do
      if span[3] and found.places[number] then
        paint(colors, found.places[number], span[1], span[2], span[3])
      end
    end
  end
end

---@param again fun() Called when more colors are known.
local function compute(file, again)
  local colors = {}
  local sides = { side(file, "add"), side(file, "delete") }
  local language = syntax.of_file(file.name, sides[1].lines)
  for _, found in ipairs(sides) do
    paint_side(found, syntax.rows(language, found.lines, again), colors)
  end
  return colors
end

--- Longest time in nanoseconds that colors are computed before keys are handled again.
local SLICE_NS = 4 * 1000 * 1000

local waiting = {} ---@type fun()[] Diffs that have to be colored, the first one last.

local function work()
  local start = vim.uv.hrtime()
  while #waiting > 0 and vim.uv.hrtime() - start < SLICE_NS do
    table.remove(waiting)()
  end
  if #waiting > 0 then
    -- What is only scheduled would run before the next key.
    vim.defer_fn(work, 1)
  end
end

--- Returns the colors of a diff as far as they are known. Computes them after the diff is on
--- the screen.
---@param file flemma.protocol.Diff
---@param colored fun() Called once the colors are known.
---@return flemma.diff.Colors
function M.colors(file, colored)
  -- Without RGB colors, text could have the color of the diff's background.
  if #file.rows == 0 or not (vim.o.termguicolors or vim.fn.has("gui_running") == 1) then
    return {}
  end
  if known[file] == nil then
    known[file] = false
    local function again()
      known[file] = compute(file, again)
      colored()
    end
    if #waiting == 0 then
      vim.schedule(work)
    end
    table.insert(waiting, 1, again)
  end
  return known[file] or {}
end

return M
