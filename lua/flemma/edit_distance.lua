--- Suggestions for misspelled `:Flemma` commands, which need no host.
---@class flemma.edit_distance
local M = {}

--- Returns the number of single-character edits that turn one word into the other.
---@param from string
---@param to string
---@return integer
local function distance(from, to)
  local row = {}
  for column = 0, #to do
    row[column] = column
  end
  for line = 1, #from do
    local diagonal, left = row[0], line
    row[0] = line
    for column = 1, #to do
      local changed = from:byte(line) == to:byte(column) and 0 or 1
      left = math.min(row[column] + 1, left + 1, diagonal + changed)
      diagonal, row[column] = row[column], left
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
