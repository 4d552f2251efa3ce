--- Where folds are when the text changed, and what a window has of them.
-- luacheck: globals test same

local mirror = require("flemma.mirror")
local shift = require("flemma.folds.shift")
local window = require("flemma.folds.window")

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

local played = require("chat")

--- A chat whose last message, and a call in it, have folds.
---@param count integer Of lines.
---@return integer buffer
local function folded(count)
  local text = {}
  for line = 1, count do
    text[line] = "line " .. line
  end
  local buffer = played.new(text)
  local items = { { 0, 4, false, false, "G", "L", "T" }, { 4, count, false, false, "G", "L", "T" } }
  items[3] = { count - 2, count, true, false, "G", "L", "T" }
  local parts = { { first = 0, last = 4, anew = false, items = { items[1] } } }
  parts[2] = { first = 4, last = count, anew = false, items = { items[2], items[3] } }
  local seq = mirror.seq(buffer)
  played.host("folds", {
    buffer = buffer,
    seq = seq,
    enabled = true,
    reset = true,
    opening = true,
    parts = parts,
  })
  return buffer
end

--- How deep each line of the current window is folded.
---@return string
local function levels()
  local found = {}
  for line = 1, vim.fn.line("$") do
    found[line] = vim.fn.foldlevel(line)
  end
  return table.concat(found)
end

--- Draws a new window on the chat. What fails in that is seen by nobody but the user.
---@return string levels
local function take()
  vim.cmd("silent split")
  local real, failed = window.fill, nil
  local filled = false
  window.fill = function(...)
    filled = true
    local ok, next = pcall(real, ...)
    failed = failed or not ok and next or nil
    return ok and next or nil
  end
  require("flemma.folds").seen(vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf())
  vim.wait(1000, function()
    return filled
  end, 1)
  window.fill = real
  local found = levels()
  vim.cmd("silent close")
  same(failed, nil)
  return found
end

test("a window that comes after the last lines went has the folds that are left", function()
  local buffer = folded(10)
  same(levels(), "1111111122")
  vim.api.nvim_buf_set_lines(buffer, 4, 10, false, {})
  same(take(), "1111")
end)

test("of a text that was read anew there are no folds until the host says them", function()
  local buffer = folded(10)
  local path = vim.fn.tempname()
  vim.fn.writefile({ "one" }, path)
  vim.cmd(("silent file %s | silent edit!"):format(path))
  vim.fn.delete(path)
  mirror.attach(buffer, function() end, function() end)
  same(take(), "0")
end)
