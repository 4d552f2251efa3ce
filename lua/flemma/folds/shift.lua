--- Line numbers of folds, moved along with changes of the text as Neovim moves the folds of
--- its windows.
---@class flemma.folds.shift
local M = {}

---@class flemma.folds.Fold
---@field first integer
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
---@param change flemma.folds.Change
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

---@param fold flemma.folds.Fold
---@param change flemma.folds.Change
---@return boolean
local function is_deleted(fold, change)
  return change.new_last == change.first and fold.first >= change.first and fold.last <= change.last
end

--- Parts in order. Those at `from` and after it still have to be moved by `by` lines, because
--- a command such as `:g` makes thousands of changes above thousands of folds.
---@class flemma.folds.Parts: { [integer]: flemma.folds.Part }
---@field from integer
---@field by integer

---@return flemma.folds.Parts
function M.parts()
  return { from = 1, by = 0 }
end

--- Moves parts so that those below `index` are up to date, and no others.
---@param parts flemma.folds.Parts
---@param index integer
local function settle(parts, index)
  local from, to, by = parts.from, index - 1, parts.by
  if index < from then
    from, to, by = index, from - 1, -by
  end
  for at = from, by == 0 and 0 or math.min(to, #parts) do
    local part = parts[at]
    part.first, part.last = part.first + by, part.last + by
    for _, fold in ipairs(part.folds) do
      fold.first, fold.last = fold.first + by, fold.last + by
    end
  end
  parts.from = index
end

--- Moves all parts so that they are up to date.
---@param parts flemma.folds.Parts
function M.settle(parts)
  settle(parts, #parts + 1)
  parts.by = 0
end

--- Finds the first part that begins on a line or below.
---@param parts flemma.folds.Parts
---@param line integer
---@return integer index
local function index_of(parts, line)
  local low, high = 1, #parts + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if parts[middle].first + (middle >= parts.from and parts.by or 0) < line then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

--- Moves folds along with a change.
---@param parts flemma.folds.Parts Changed in place.
---@param change flemma.folds.Change
function M.all(parts, change)
  if change.last - change.first == 1 and change.new_last == change.last then
    return
  end
  local below = index_of(parts, change.last + 1)
  settle(parts, below)
  parts.by = parts.by + change.new_last - change.last
  for index = below - 1, 1, -1 do
    local part = parts[index]
    if part.last < change.first then
      break
    end
    local ends_there = part.last == change.first
    part.broken = not move(part, change) and ends_there or part.broken
    for at = #part.folds, 1, -1 do
      if is_deleted(part.folds[at], change) then
        table.remove(part.folds, at)
      else
        part.broken = not move(part.folds[at], change) or part.broken
      end
    end
  end
end

--- Marks the parts around these lines as broken.
---@param parts flemma.folds.Parts Changed in place.
---@param first integer
---@param last integer
function M.spoil(parts, first, last)
  M.settle(parts)
  for _, part in ipairs(parts) do
    part.broken = part.broken or part.last >= first and part.first <= last
  end
end

--- Finds the fold that begins on a line.
---@param parts flemma.folds.Parts
---@param line integer
---@return flemma.folds.Fold?
function M.at(parts, line)
  local index = index_of(parts, line + 1) - 1
  local part, by = parts[index], index >= parts.from and parts.by or 0
  for _, fold in ipairs(part and part.folds or {}) do
    if fold.first + by == line then
      return fold
    end
  end
end

--- Reads the parts of a message, and moves them along with later changes.
---@param items flemma.protocol.FoldPart[]
---@param changes flemma.folds.Change[]
---@return flemma.folds.Parts
function M.read(items, changes)
  local parts = M.parts()
  for index, item in ipairs(items) do
    local folds = vim.tbl_map(function(it)
      local first, last, inner, closed, group, label, text = unpack(it)
      return { first = first, last = last, inner = inner, closed = closed, group = group, label = label, text = text }
    end, item.items)
    parts[index] = { first = item.first, last = item.last, folds = folds }
  end
  for _, change in ipairs(changes) do
    M.all(parts, change)
  end
  M.settle(parts)
  return parts
end

---@class flemma.folds.Update
---@field part flemma.folds.Part
---@field old flemma.folds.Fold[] The former folds.
---@field broken boolean Whether Neovim may have other folds there.

--- Replaces the parts that begin within the lines of new ones.
---@param parts flemma.folds.Parts Changed in place.
---@param new flemma.folds.Part[]
---@return flemma.folds.Update[]
function M.replace(parts, new)
  M.settle(parts)
  local updates = {}
  for number, part in ipairs(new) do
    local index = index_of(parts, part.first + 1) - 1
    -- Lines that belong to no part were inserted, and may have folds.
    local broken = index == 0 or parts[index].last <= part.first
    for at = math.max(1, index), #parts do
      if parts[at].first >= part.last then
        break
      end
      broken = broken or parts[at].broken or false
    end
    updates[number] = { part = part, old = {}, broken = broken }
  end
  for _, update in ipairs(updates) do
    local index = index_of(parts, update.part.first)
    while parts[index] and parts[index].first < update.part.last do
      vim.list_extend(update.old, table.remove(parts, index).folds)
    end
    table.insert(parts, index, update.part)
  end
  parts.from = #parts + 1
  return updates
end

return M
