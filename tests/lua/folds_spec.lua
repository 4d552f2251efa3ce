--- Where folds are when the text changed.
-- luacheck: globals test same

local shift = require("flemma.folds.shift")

--- Messages with folds inside, from line 0 to line 10 times `count`.
---@param count integer
---@return flemma.folds.List
local function chat(count)
  local folds = shift.list()
  for message = 0, count - 1 do
    local first = message * 10
    folds[#folds + 1] = { first = first, last = first + 10, inner = false }
    folds[#folds + 1] = { first = first + 1, last = first + 4, inner = true }
    folds[#folds + 1] = { first = first + 5, last = first + 8, inner = true }
  end
  shift.settle(folds)
  return folds
end

---@param folds flemma.folds.List
---@return string
local function lines(folds)
  shift.settle(folds)
  local said = {}
  for _, fold in ipairs(folds) do
    said[#said + 1] = ("%d-%d"):format(fold.first, fold.last)
  end
  return table.concat(said, " ")
end

test("folds below a change move and those round it grow, whether somebody looks in between or not", function()
  for seed = 1, 50 do
    math.randomseed(seed)
    local lazy, eager, last = chat(8), chat(8), 80
    for _ = 1, 30 do
      local first = math.random(0, last)
      local gone = math.random() < 0.7 and 0 or math.random(0, math.min(3, last - first))
      local change = { seq = 0, first = first, last = first + gone, new_last = first + math.random(0, 3) }
      last = last + change.new_last - change.last
      shift.all(lazy, change)
      shift.all(eager, change)
      shift.settle(eager)
      local line = eager[math.random(#eager)].first
      same(shift.index(lazy, line), shift.index(eager, line))
    end
    same(lines(lazy), lines(eager))
  end
end)

test("a key moves only what stands between it and the key before", function()
  local folds = chat(1000)
  shift.all(folds, { seq = 1, first = 2, last = 2, new_last = 3 })
  local below = folds[#folds]
  same(below.first, 9995)
  same(shift.at(folds, 9996), below)
  shift.all(folds, { seq = 2, first = 12, last = 12, new_last = 13 })
  same(below.first, 9995)
  same(shift.at(folds, 9997), below)
  same(shift.at(folds, 9996), nil)
end)

test("what the host says of an older text is moved like what it said before", function()
  local log = {}
  shift.log(log, { seq = 5, first = 0, last = 0, new_last = 2 })
  shift.log(log, { seq = 6, first = 20, last = 22, new_last = 20 })
  local parts = {
    { first = 10, last = 16, anew = false, items = { { 10, 16, false, true, "G", "L", "T" } } },
    { first = 30, last = 36, anew = true, items = {} },
  }
  local function at(seq)
    local moved = shift.parts(parts, log, seq, 6)
    return moved and { moved[1].folds[1].first, moved[1].last, moved[2].first }
  end
  same(at(6), { 10, 16, 30 })
  same(at(5), { 10, 16, 28 })
  same(at(4), { 12, 18, 30 })
  same(at(3), nil)
end)
