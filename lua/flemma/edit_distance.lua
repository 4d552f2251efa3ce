--- Suggestions for misspelled `:Flemma` commands, which need no host.
---@class flemma.edit_distance
local M = {}

--- Returns the number of edits of one character, or of two neighbors that are swapped, that turn one
--- word into the other.
local function distance(from, to)
  local before, row = {}, {}
  for column = 0, #to do
    row[column] = column
  end
  for line = 1, #from do
    local last
    before, last, row = row, before, { [0] = line }
    for column = 1, #to do
      local changed = from:byte(line) == to:byte(column) and 0 or 1
      row[column] = math.min(before[column] + 1, row[column - 1] + 1, before[column - 1] + changed)
      local is_swapped = line > 1 and column > 1 and from:byte(line) == to:byte(column - 1)
      if is_swapped and from:byte(line - 1) == to:byte(column) then
        row[column] = math.min(row[column], last[column - 2] + 1)
      end
    end
  end
  return row[#to]
end

--- Returns the candidate that takes the fewest edits, unless they are too many.
---@param word string
---@param candidates string[] Sorted.
---@return string?
function M.nearest(word, candidates)
  local best, least = nil, math.max(2, math.floor(#word / 3)) + 1
  for _, candidate in ipairs(candidates) do
    -- The first part, such as `allow` of `allow-file`, is one edit away from the whole.
    local first = candidate:match("^(.-)[-:]")
    local cost = math.min(distance(word, candidate), first and distance(word, first) + 1 or math.huge)
    if cost < least then
      best, least = candidate, cost
    end
  end
  return best
end

return M
