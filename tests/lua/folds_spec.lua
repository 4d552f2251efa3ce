--- Line numbers of folds after changes of the text, and the folds of windows.
-- luacheck: globals test same

local mirror = require("flemma.mirror")
local played = require("chat")
local shift = require("flemma.folds.shift")

--- Messages of ten lines with two folds inside each.
---@param count integer
---@return flemma.folds.Part[]
local function chat(count)
  local items = {}
  for message = 0, count - 1 do
    local first = message * 10
    local folds = { { first, first + 10, false }, { first + 1, first + 4, true }, { first + 5, first + 8, true } }
    items[#items + 1] = { first = first, last = first + 10, items = folds }
  end
  return shift.read(items, {})
end

---@param parts flemma.folds.Part[]
---@return string
local function lines(parts)
  local found = {}
  for _, part in ipairs(parts) do
    found[#found + 1] = ("%d-%d%s"):format(part.first, part.last, part.broken and "!" or "")
    for _, fold in ipairs(shift.folds(part)) do
      found[#found + 1] = ("%d-%d"):format(fold.first, fold.last)
    end
  end
  return table.concat(found, " ")
end

---@param first integer
---@param last integer
---@param new_last integer
---@return flemma.folds.Change
local function change(first, last, new_last)
  return { first = first, last = last, new_last = new_last }
end

test("folds move as in Neovim, and are marked where Neovim may cut them", function()
  for _, case in ipairs({
    { change(0, 2, 5), "13-23 13-23 14-17 18-21" },
    { change(12, 13, 13), "10-20 10-20 11-14 15-18" },
    { change(12, 12, 14), "10-22 10-22 11-16 17-20" },
    { change(14, 15, 15), "10-20 10-20 11-14 15-18" },
    { change(14, 15, 16), "10-21 10-21 11-14 16-19" },
    { change(20, 20, 22), "10-20! 10-20 11-14 15-18" },
    { change(21, 21, 22), "10-20 10-20 11-14 15-18" },
    { change(10, 10, 11), "11-21! 11-21 12-15 16-19" },
    { change(13, 13, 14), "10-21! 10-21 11-15 16-19" },
    { change(17, 19, 18), "10-19! 10-19 11-14 15-18" },
    { change(14, 19, 14), "10-15 10-15 11-14" },
    { change(8, 22, 9), "9-10! 9-10 9-10 9-10" },
    { change(8, 22, 8), "8-9" },
  }) do
    local parts = { chat(2)[2] }
    shift.all(parts, case[1])
    same(lines(parts), case[2])
  end
end)

test("a fold is found by its first line wherever changes moved it", function()
  for seed = 1, 50 do
    math.randomseed(seed)
    local parts, last = chat(8), 80
    for _ = 1, 30 do
      local first = math.random(0, last)
      local gone = math.random() < 0.7 and 0 or math.random(0, math.min(3, last - first))
      local now = change(first, first + gone, first + math.random(0, 3))
      last = last + now.new_last - now.last
      shift.all(parts, now)
      for index, part in ipairs(parts) do
        local next_part = parts[index + 1]
        local fold = shift.folds(part)[1]
        if fold and not (next_part and next_part.first == part.first) then
          same(shift.at(parts, fold.first) ~= nil, true)
        end
      end
    end
  end
  local parts = chat(1000)
  shift.all(parts, change(2, 2, 3))
  same({ parts[1000].first, shift.at(parts, 9991) ~= nil, shift.at(parts, 9990) }, { 9991, true })
end)

test("parts replace the parts that begin in their lines", function()
  local parts = chat(3)
  local updates = shift.replace(parts, { { first = 10, last = 25, folds = {} } })
  same({ #updates[1].old, updates[1].broken, lines(parts) }, { 6, true, "0-10 0-10 1-4 5-8 10-25" })
  parts = chat(3)
  parts[2].broken = true
  -- Both are inside the broken part.
  updates = shift.replace(parts, { { first = 10, last = 14, folds = {} }, { first = 14, last = 20, folds = {} } })
  same({ updates[1].broken, updates[2].broken }, { true, true })
  -- The second update covers folds that the first one deletes.
  updates = shift.replace(chat(2), { { first = 0, last = 12, folds = {} }, { first = 12, last = 20, folds = {} } })
  same({ #updates[1].old, updates[1].broken, updates[2].broken }, { 6, true, true })
  updates = shift.replace(chat(2), { { first = 0, last = 10, folds = {} }, { first = 10, last = 20, folds = {} } })
  same({ updates[1].broken, updates[2].broken }, { false, false })
end)

---@param buffer integer
---@param opening boolean
---@param parts flemma.protocol.FoldPart[]
---@param seq integer? Of the text that they belong to; the current one by default.
local function send_parts(buffer, opening, parts, seq)
  seq = seq or mirror.seq(buffer)
  played.host("folds", { buffer = buffer, seq = seq, enabled = true, opening = opening, parts = parts })
end

---@param buffer integer
---@param opening boolean
---@param items table[]
local function send(buffer, opening, items)
  send_parts(buffer, opening, { { first = items[1][1], last = items[1][2], items = items } })
end

---@param first integer
---@param last integer
---@param inner boolean?
---@param closed boolean?
---@return table item
local function item(first, last, inner, closed)
  return { first, last, inner or false, closed or false, "G", "L", "T" }
end

--- A chat of twelve lines with two messages, and a fold inside the second one.
---@return integer buffer
local function folded()
  local text = {}
  for line = 1, 12 do
    text[line] = "line " .. line
  end
  local buffer = played.new(text)
  send(buffer, true, { item(0, 4) })
  send(buffer, true, { item(4, 10), item(8, 10, true, true) })
  return buffer
end

--- The fold level of each line in the current window, with `#` for closed folds.
---@return string
local function levels()
  local found = {}
  for line = 1, vim.fn.line("$") do
    found[line] = vim.fn.foldclosed(line) ~= -1 and "#" or vim.fn.foldlevel(line)
  end
  return table.concat(found)
end

--- Shows another buffer while `action` runs, and then the chat again.
---@param buffer integer
---@param action fun()
local function hide(buffer, action)
  vim.cmd("silent hide enew")
  action()
  vim.cmd("silent buffer " .. buffer)
  require("flemma.folds").seen(vim.api.nvim_get_current_win(), buffer)
  vim.wait(10)
end

test("a window has the folds of a text that changed while it showed another buffer", function()
  local buffer = folded()
  same(levels(), "11111111##00")
  vim.cmd("normal! 2Gzc")
  hide(buffer, function() end)
  same(levels(), "####1111##00")
  hide(buffer, function()
    vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { "", "" })
  end)
  same(levels(), "0011111111##00")
  -- Until the host knows the change, a fold may have no lines.
  hide(buffer, function()
    vim.api.nvim_buf_set_lines(buffer, 9, -1, false, { "" })
  end)
  same(levels(), "0011111111")
end)

test("a text that was reloaded has no folds until the host sends them", function()
  local buffer = folded()
  local path = vim.fn.tempname()
  vim.fn.writefile({ "one" }, path)
  vim.cmd(("silent file %s | silent edit!"):format(path))
  mirror.attach(buffer, function() end, function() end)
  hide(buffer, function() end)
  same(levels(), "0")
  vim.fn.delete(path)
end)

test("folds of the user stay in a message that gets another fold", function()
  local buffer = folded()
  send(buffer, false, { item(4, 10), item(8, 10, true, true) })
  vim.cmd("normal! 6GzfjzR")
  same(levels(), "111112212200")
  vim.api.nvim_buf_set_lines(buffer, 7, 7, false, { "", "" })
  send(buffer, false, { item(4, 12), item(7, 9, true), item(10, 12, true, true) })
  same(levels(), "11111222212200")
end)

test("folds are created once when a message begins further down", function()
  local buffer = folded()
  -- The last message is not a fold, only what is inside it.
  send_parts(buffer, false, { { first = 4, last = 12, items = { item(8, 10, true) } } })
  vim.cmd("normal! zR")
  same(levels(), "111100001100")
  local first = { first = 0, last = 5, items = { item(0, 5) } }
  local second = { first = 5, last = 12, items = { item(8, 10, true) } }
  send_parts(buffer, false, { first, second })
  same(levels(), "111110001100")
end)

test("folds of a message that was deleted meanwhile replace no others", function()
  local buffer = folded()
  vim.cmd("normal! zR")
  same(levels(), "111111112200")
  vim.api.nvim_buf_set_lines(buffer, 4, 4, false, { "one", "two", "three" })
  local seq = mirror.seq(buffer)
  vim.api.nvim_buf_set_lines(buffer, 4, 7, false, {})
  send_parts(buffer, false, { { first = 4, last = 7, items = { item(4, 7) } } }, seq)
  same(levels(), "111111112200")
end)

test("a closed fold of the user around messages stays closed", function()
  local buffer = folded()
  vim.cmd("normal! ggVGzf")
  same(levels(), ("#"):rep(12))
  send(buffer, false, { item(4, 10), item(5, 7, true, true), item(8, 10, true, true) })
  same(levels(), ("#"):rep(12))
end)

--- Shows 60 lines, with three virtual lines below line 25, from line 26 on.
---@return integer window
local function below_virtual_lines()
  vim.cmd.enew()
  local buffer, id = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.fn["repeat"]({ "text" }, 60))
  vim.wo[id][0].foldmethod = "manual"
  local namespace = vim.api.nvim_create_namespace("folds_spec")
  local below = { { { "one" } }, { { "two" } }, { { "three" } } }
  vim.api.nvim_buf_set_extmark(buffer, namespace, 24, 0, { virt_lines = below })
  vim.fn.winrestview({ topline = 26, topfill = 1, lnum = 60 })
  same({ vim.fn.winsaveview().topline, vim.fn.winsaveview().topfill }, { 26, 1 })
  return id
end

--- A part with one closed fold.
---@param first integer
---@param last integer
---@return flemma.folds.Part
local function closed_part(first, last)
  return shift.read({ { first = first, last = last, items = { { first, last, false, true } } } }, {})[1]
end

-- Neovim 0.11 draws without end if the virtual lines above the top line are hidden by a fold.
test("a window whose top line is put into a closed fold begins with the fold", function()
  local window = require("flemma.folds.window")
  local id = below_virtual_lines()
  window.update(id, { { part = closed_part(22, 30), old = {}, broken = true } }, false)
  same(vim.fn.foldclosed(26), 23)
  same({ vim.fn.winsaveview().topline, vim.fn.winsaveview().topfill }, { 23, 0 })
  vim.cmd.bwipeout({ bang = true })
end)

test("a window that Neovim scrolls to the start of a closed fold shows no virtual lines above it", function()
  local window = require("flemma.folds.window")
  local id = below_virtual_lines()
  local before = closed_part(34, 38)
  window.update(id, { { part = before, old = {}, broken = true } }, false)
  vim.fn.winrestview({ topline = 26, topfill = 1, lnum = 60 })
  window.update(id, {
    { part = closed_part(22, 30), old = {}, broken = true },
    -- Deleting folds is a command of Normal mode, which scrolls.
    { part = closed_part(34, 40), old = shift.folds(before), broken = true },
  }, false)
  same({ vim.fn.foldclosed(26), vim.fn.foldclosed(36) }, { 23, 35 })
  same({ vim.fn.winsaveview().topline, vim.fn.winsaveview().topfill }, { 23, 0 })
  vim.cmd.bwipeout({ bang = true })
end)

--- Shows a chat of 60 lines whose end fits into the window once lines 21 to 55 are one.
---@param line integer Where the cursor is, from one.
---@param is_moved boolean Whether it was moved there to a pending call.
---@return integer top The first line on the screen, after the fold was closed.
local function top_after_fold(line, is_moved)
  local follow = require("flemma.follow")
  vim.cmd.enew()
  local buffer, id = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  local height = vim.api.nvim_win_get_height(id)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.fn["repeat"]({ "text" }, 60))
  vim.wo[id][0].foldmethod = "manual"
  vim.api.nvim_win_set_cursor(id, { is_moved and 60 or line, 0 })
  if is_moved then
    follow.cursor({ buffer = buffer, line = line - 1, column = 0, window = id })
  end
  vim.fn.winrestview({ topline = 61 - height })
  vim.cmd("21,55fold")
  vim.cmd.redraw()
  follow.fill(buffer)
  local top = vim.fn.line("w0")
  follow.forget(buffer)
  vim.cmd.bwipeout({ bang = true })
  return top
end

test("when a fold closes above a pending call, the window shows more of the text above", function()
  -- The fold counts as one line.
  local highest = 61 - vim.api.nvim_win_get_height(0) - 34
  local full = math.max(1, highest)
  same(top_after_fold(60, false), full)
  same(top_after_fold(57, true), full)
end)

test("when a fold closes, the window of a reader does not move", function()
  -- Neovim itself moves a top line that is inside the fold to its start.
  local top = 61 - vim.api.nvim_win_get_height(0)
  same(top_after_fold(57, false), top >= 21 and top <= 55 and 21 or top)
end)
