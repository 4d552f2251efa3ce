--- Where folds are when the text changed. The rule is Neovim's, and the host's, which
--- moves what it told in the same way. Knows lines and no window.
---@class flemma.folds.shift
local M = {}

--- How many changes of a text are remembered, for what the host says of an older one.
local LOG = 64

---@class flemma.folds.Fold
---@field first integer
---@field last integer Behind the last line.
---@field inner boolean Whether it is inside a message.
---@field closed boolean Whether it is closed when it is made.
---@field group string Of its label.
---@field label string
---@field text string

---@class flemma.folds.Change
---@field seq integer The text after it.
---@field first integer
---@field last integer
---@field new_last integer

---@class flemma.folds.Part
---@field first integer
---@field last integer
---@field anew boolean Whether there may be others that nobody knows of.
---@field folds flemma.folds.Fold[]

--- Moves one fold. Where an end of it was written anew nobody knows what Neovim made of
--- it, and the host says all of its part anew.
---@param fold flemma.folds.Fold|flemma.folds.Part Changed in place.
---@param first integer
---@param last integer
---@param new_last integer
local function move(fold, first, last, new_last)
  if fold.last <= first then
    return
  end
  local grown = new_last - last
  if fold.first >= last then
    fold.first = fold.first + grown
  elseif fold.first > first then
    fold.first = math.min(fold.first, new_last)
  end
  local behind = fold.last >= last and fold.last + grown or math.min(fold.last, new_last)
  fold.last = math.max(behind, fold.first + 1)
end

--- Folds by their first lines. Those below the last change stand where they stood before
--- it, until somebody needs to know: typing above ten thousand folds moves none.
---@class flemma.folds.List: { [integer]: flemma.folds.Fold }
---@field from integer The index of the first that is still to be moved.
---@field by integer By how many lines.

---@return flemma.folds.List
function M.list()
  return { from = 1, by = 0 }
end

--- Moves what is still to be moved up to an index.
---@param folds flemma.folds.List
---@param index integer
local function settle_to(folds, index)
  local from, to, by = folds.from, index - 1, folds.by
  if index < from then
    from, to, by = index, folds.from - 1, -by
  end
  for at = from, by == 0 and 0 or math.min(to, #folds) do
    local fold = folds[at]
    fold.first, fold.last = fold.first + by, fold.last + by
  end
  folds.from = index
end

--- Moves all that is still to be moved.
---@param folds flemma.folds.List
function M.settle(folds)
  settle_to(folds, #folds + 1)
  folds.by = 0
end

--- The place of the first fold that begins on a line or below.
---@param folds flemma.folds.List
---@param line integer
---@return integer index
function M.index(folds, line)
  local low, high = 1, #folds + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if folds[middle].first + (middle >= folds.from and folds.by or 0) < line then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

--- The fold that begins on a line.
---@param folds flemma.folds.List
---@param line integer
---@return flemma.folds.Fold?
function M.at(folds, line)
  local index = M.index(folds, line)
  local fold = folds[index]
  local by = index >= folds.from and folds.by or 0
  return fold and fold.first + by == line and fold or nil
end

--- Moves folds along with a change.
---@param folds flemma.folds.List Changed in place.
---@param change flemma.folds.Change
function M.all(folds, change)
  local first, last, new_last = change.first, change.last, change.new_last
  if last == new_last and last - first == 1 then
    return
  end
  local below = M.index(folds, last)
  settle_to(folds, below)
  folds.by = folds.by + new_last - last
  for index = below - 1, 1, -1 do
    local fold = folds[index]
    -- Messages do not overlap, so what stands before this one is not concerned.
    if not fold.inner and fold.last <= first then
      return
    end
    move(fold, first, last, new_last)
  end
end

--- Remembers a change.
---@param log flemma.folds.Change[]
---@param change flemma.folds.Change
function M.log(log, change)
  log[#log + 1] = change
  if #log > LOG then
    table.remove(log, 1)
  end
end

--- What the host says, as it is in the text that stands here by now.
---@param parts flemma.protocol.FoldPart[]
---@param log flemma.folds.Change[]
---@param seq integer The text that is spoken of.
---@param now integer
---@return flemma.folds.Part[]? parts Nil when it is too long ago.
function M.parts(parts, log, seq, now)
  local since = #log - (now - seq) + 1
  if since < 1 or log[since] and log[since].seq ~= seq + 1 then
    return nil
  end
  return vim.tbl_map(function(part)
    local result = { first = part.first, last = part.last, anew = part.anew }
    local folds = M.list()
    for index, item in ipairs(part.items) do
      local fold = { first = item[1], last = item[2], inner = item[3], closed = item[4] }
      fold.group, fold.label, fold.text = item[5], item[6], item[7]
      folds[index] = fold
    end
    for index = since, #log do
      local change = log[index]
      move(result, change.first, change.last, change.new_last)
      M.all(folds, change)
    end
    M.settle(folds)
    result.folds = vim.list_slice(folds)
    return result
  end, parts)
end

--- Puts the folds of a part in the place of those that were there.
---@param folds flemma.folds.List Changed in place.
---@param part flemma.folds.Part
---@return flemma.folds.Fold[] old
function M.replace(folds, part)
  M.settle(folds)
  local from, to = M.index(folds, part.first), M.index(folds, part.last)
  local old = vim.list_slice(folds, from, to - 1)
  local grown = #part.folds - #old
  if grown ~= 0 then
    local count = #folds
    if grown > 0 then
      for index = count, to, -1 do
        folds[index + grown] = folds[index]
      end
    else
      for index = to, count do
        folds[index + grown] = folds[index]
      end
      for index = count + grown + 1, count do
        folds[index] = nil
      end
    end
  end
  for index, fold in ipairs(part.folds) do
    folds[from + index - 1] = fold
  end
  folds.from = #folds + 1
  return old
end

return M
