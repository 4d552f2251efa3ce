--- Suggests the `:Flemma` command that a misspelled word was probably meant to be. Works
--- without a host; all other suggestions are the host's.
---@class flemma.edit_distance
local M = {}

--- The number of single-character edits that turn one word into the other.
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

--- The number of edits from a word to a candidate. The first part of a candidate, such as
--- `allow` of `allow-file`, is one edit away from it.
---@param word string
---@param candidate string
---@return integer
local function cost_of(word, candidate)
  local first = candidate:match("^(.-)[-:]")
  local whole = distance(word, candidate)
  return first and math.min(whole, distance(word, first) + 1) or whole
end

--- The candidate that takes the fewest edits, unless they are too many.
---@param word string
---@param candidates string[]
---@return string?
function M.nearest(word, candidates)
  table.sort(candidates)
  local best, least = nil, math.max(2, math.floor(#word / 3)) + 1
  for _, candidate in ipairs(candidates) do
    local cost = cost_of(word, candidate)
    if cost < least then
      best, least = candidate, cost
    end
  end
  return best
end

return M
