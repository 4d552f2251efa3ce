--- Line numbers of folds, moved along with changes of the text as Neovim moves the folds of
--- its windows.
---@class flemma.folds.shift
local M = {}

---@class flemma.folds.Fold
---@field first integer Inside a part, counted from its first line.
---@field last integer The line after its last.
---@field inner boolean Whether it is inside a message.
---@field closed boolean Whether it is created closed.
---@field group string Highlight group of the label.
---@field label string
---@field text string

--- The lines of a message, or those above the first one.
---@class flemma.folds.Part
---@field first integer
---@field last integer The line after its last.
---@field folds flemma.folds.Fold[] The message's own before those inside it.
---@field broken boolean? Whether Neovim may have moved its folds differently.

---@alias flemma.folds.Change { first: integer, last: integer, new_last: integer }

--- Moves a range of lines.
---@param range flemma.folds.Fold|flemma.folds.Part Changed in place.
---@return boolean whole Whether Neovim certainly moves a fold the same way.
local function move(range, change)
  local first, last, new_last = change.first, change.last, change.new_last
  local grown = new_last - last
  -- An undo that restores a line right above the first or the last one cuts a fold.
  local inserts = first == last
  if range.last <= first then
    return not inserts or range.last < first
  end
  if range.first >= last then
    local whole = not (inserts and range.first == first)
    range.first, range.last = range.first + grown, range.last + grown
    return whole
  end
  local inside = range.first < first and last < range.last and not (inserts and last == range.last - 1)
  local end_line = range.last >= last and range.last + grown or math.min(range.last, new_last)
  range.first = math.min(range.first, math.max(first, new_last))
  range.last = math.max(end_line, range.first + 1)
  return inside
end

local function is_deleted(fold, change)
  return change.new_last == change.first and fold.first >= change.first and fold.last <= change.last
end

--- Returns the folds of a part with line numbers of the text.
---@param part flemma.folds.Part
---@return flemma.folds.Fold[]
function M.folds(part)
  return vim.tbl_map(function(fold)
    local lines = { first = fold.first + part.first, last = fold.last + part.first }
    return setmetatable(lines, { __index = fold })
  end, part.folds)
end

--- Finds the first part that begins on a line or below.
---@return integer index
local function index_of(parts, line)
  local low, high = 1, #parts + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if parts[middle].first < line then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

--- Moves a part, and the folds in it, along with a change that touches it.
---@param part flemma.folds.Part Changed in place.
local function move_part(part, change)
  local was, ends_there = part.first, part.last == change.first
  part.broken = not move(part, change) and ends_there or part.broken
  part.folds = vim.tbl_filter(function(fold)
    fold.first, fold.last = fold.first + was, fold.last + was
    local stays = not is_deleted(fold, change)
    part.broken = stays and not move(fold, change) or part.broken
    fold.first, fold.last = fold.first - part.first, fold.last - part.first
    return stays
  end, part.folds)
end

--- Moves folds along with a change.
---@param parts flemma.folds.Part[] In order. Changed in place.
---@param change flemma.folds.Change
function M.all(parts, change)
  local grown = change.new_last - change.last
  if change.last - change.first == 1 and grown == 0 then
    return
  end
  for index = #parts, 1, -1 do
    local part = parts[index]
    if part.last < change.first then
      return
    elseif part.first > change.last then
      part.first, part.last = part.first + grown, part.last + grown
    else
      move_part(part, change)
    end
  end
end

--- Marks the parts around these lines as broken.
---@param parts flemma.folds.Part[] Changed in place.
---@param first integer
---@param last integer
function M.spoil(parts, first, last)
  for _, part in ipairs(parts) do
    part.broken = part.broken or part.last >= first and part.first <= last
  end
end

--- Finds the fold that begins on a line.
---@param parts flemma.folds.Part[]
---@param line integer
---@return flemma.folds.Fold?
function M.at(parts, line)
  local part = parts[index_of(parts, line + 1) - 1]
  return part and vim.iter(part.folds):find(function(fold)
    return part.first + fold.first == line
  end)
end

--- Reads the parts of a message, and moves them along with later changes.
---@param items flemma.protocol.FoldPart[]
---@param changes flemma.folds.Change[]
---@return flemma.folds.Part[]
function M.read(items, changes)
  local parts = {}
  for index, item in ipairs(items) do
    local folds = vim.tbl_map(function(it)
      local first, last, inner, closed, group, label, text = unpack(it)
      first, last = first - item.first, last - item.first
      return { first = first, last = last, inner = inner, closed = closed, group = group, label = label, text = text }
    end, item.items)
    parts[index] = { first = item.first, last = item.last, folds = folds }
  end
  for _, change in ipairs(changes) do
    -- The host forgets a part whose first line was replaced, and sends it again.
    if change.last - change.first ~= 1 or change.new_last ~= change.last then
      parts = vim.tbl_filter(function(part)
        return part.first < change.first or part.first >= change.last
      end, parts)
    end
    M.all(parts, change)
  end
  return parts
end

---@class flemma.folds.Update
---@field part flemma.folds.Part
---@field old flemma.folds.Fold[] The former folds, with line numbers of the text.
---@field broken boolean Whether Neovim may have other folds there.

--- Replaces the parts that begin within the lines of new ones.
---@param parts flemma.folds.Part[] Changed in place.
---@param new flemma.folds.Part[]
---@return flemma.folds.Update[]
function M.replace(parts, new)
  local updates = {}
  for number, part in ipairs(new) do
    local index = index_of(parts, part.first + 1) - 1
    -- Lines that belong to no part were inserted, and may have folds.
    local broken = index == 0 or parts[index].last <= part.first
    for at = math.max(1, index), #parts do
      local was = parts[at]
      if was.first >= part.last then
        break
      end
      -- Some folds of a part that was split, or whose ends moved, are in another update.
      local is_split = was.first < part.first or was.last > part.last
      broken = broken or was.broken or is_split
    end
    updates[number] = { part = part, old = {}, broken = broken }
  end
  for _, update in ipairs(updates) do
    local index = index_of(parts, update.part.first)
    while parts[index] and parts[index].first < update.part.last do
      vim.list_extend(update.old, M.folds(table.remove(parts, index)))
    end
    table.insert(parts, index, update.part)
  end
  return updates
end

return M
