--- Finds the word that was probably meant.
---@class flemma.words
local M = {}

--- How many single-character edits turn one word into the other.
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

--- What it takes to make a candidate of a word. Who typed the first part of one, as
--- `allow` of `allow-file`, may have meant it whole.
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
---@param most integer? Most edits; else as many as a slip of the keyboard takes.
---@return string?
function M.nearest(word, candidates, most)
  table.sort(candidates)
  local best, least = nil, (most or math.max(2, math.floor(#word / 3))) + 1
  for _, candidate in ipairs(candidates) do
    local cost = cost_of(word, candidate)
    if cost < least then
      best, least = candidate, cost
    end
  end
  return best
end

return M
