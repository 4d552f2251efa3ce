--- Makes, opens and takes away folds in one window. Neovim has commands for that and
--- nothing else: `:fold` makes a closed one, whatever is in it already, `:foldopen` opens
--- the outermost closed one at a line, `:foldclose` closes the innermost open one.
--- Which folds there are to be is not known here.
---@class flemma.folds.window
local M = {}

local api = vim.api
local shift = require("flemma.folds.shift")

local TEXT = "v:lua.require'flemma.folds'.text()"
--- So deep are ours; with this 'foldlevel' all are open, |zm| closes the inner ones, then
--- the messages.
local DEPTH = 2

--- Runs `action` in a window. Where folding is switched off, Neovim knows of no fold.
---@param id integer
---@param action fun()
local function within(id, action)
  api.nvim_win_call(id, function()
    local enabled = vim.wo.foldenable
    if not enabled then
      vim.wo[id][0].foldenable = true
    end
    local ok, why = pcall(action)
    if not enabled then
      vim.wo[id][0].foldenable = false
    end
    if not ok then
      error(why, 0)
    end
  end)
end

--- Presses keys on a line. The cursor is put back, because at the end of a line in Insert
--- mode it is where Normal mode has none; in Visual mode keys would mean what is selected.
---@param keys string
---@param line integer? From one.
local function press(keys, line)
  local view = vim.fn.winsaveview()
  api.nvim_buf_call(api.nvim_get_current_buf(), function()
    if line then
      api.nvim_win_set_cursor(0, { line, 0 })
    end
    vim.cmd.normal({ keys, bang = true })
  end)
  vim.fn.winrestview(view)
end

---@param line integer From zero.
---@return boolean
local function is_closed(line)
  return vim.fn.foldclosed(line + 1) ~= -1
end

---@param fold flemma.folds.Fold
local function open(fold)
  vim.cmd(("%dfoldopen"):format(fold.first + 1))
end

--- Makes a fold. No closed one may stand round it.
---@param fold flemma.folds.Fold
---@param closed boolean
local function make(fold, closed)
  vim.cmd(("%d,%dfold"):format(fold.first + 1, fold.last))
  if not closed then
    open(fold)
  end
end

--- Makes the fold of a message round what is in it, which stays open or closed.
---@param message flemma.folds.Fold
---@param closed boolean
---@param inner flemma.folds.Fold[]
local function wrap(message, closed, inner)
  local opened = vim.tbl_filter(function(fold)
    return not is_closed(fold.first)
  end, inner)
  make(message, false)
  for _, fold in ipairs(opened) do
    if is_closed(fold.first) then
      open(fold)
    end
  end
  if closed then
    vim.cmd(("%dfoldclose"):format(message.first + 1))
  end
end

--- Whether a window shows a buffer and folds by hand.
---@param id integer
---@param buffer integer
---@return boolean
function M.folds(id, buffer)
  return api.nvim_win_is_valid(id) and api.nvim_win_get_buf(id) == buffer and vim.wo[id].foldmethod == "manual"
end

--- Sets a window's options, for the buffer that it shows and no other. A window that has
--- them already, from the one that it was split from or from before, has the 'foldlevel'
--- that the user gave it: a |zM| may have come first.
---@param id integer
---@return boolean done Not where folds are made in another way.
function M.set(id)
  if vim.wo[id].foldmethod ~= "manual" then
    return false
  end
  if vim.wo[id].foldtext ~= TEXT then
    vim.wo[id][0].foldtext = TEXT
    -- Neovim fills the rest of the line with dots, unless the user says otherwise.
    local chars = vim.wo[id].fillchars
    if not chars:find("fold:", 1, true) then
      vim.wo[id][0].fillchars = chars == "" and "fold: " or chars .. ",fold: "
    end
    if vim.wo[id].foldlevel < DEPTH then
      vim.wo[id][0].foldlevel = DEPTH
    end
  end
  return true
end

---@param id integer
function M.unset(id)
  for _, name in ipairs({ "foldtext", "foldlevel", "fillchars" }) do
    vim.wo[id][0][name] = api.nvim_get_option_value(name, { scope = "global" })
  end
end

--- Takes all folds away.
---@param id integer
function M.clear(id)
  within(id, function()
    press("zE")
  end)
end

--- Opens every fold round a line.
---@param line integer
local function unfold(line)
  for _ = 1, vim.fn.foldlevel(line + 1) do
    if is_closed(line) then
      vim.cmd(("%dfoldopen"):format(line + 1))
    end
  end
end

---@param id integer
---@param lines integer[]
function M.open(id, lines)
  within(id, function()
    vim.tbl_map(unfold, lines)
  end)
end

--- What decides about a new fold in a window.
---@class flemma.folds.Manner
---@field cursor integer The cursor's line.
---@field level integer Messages are open from 1 on, what is in them from 2 on.
---@field was table<integer, boolean> Folds by their first lines that were closed, or were not.

--- In a chat that is being opened what the user closed meanwhile with |zM| counts, and
--- what was closed when its folds are only made anew.
---@param opening boolean
---@param was table<integer, boolean>?
---@return flemma.folds.Manner
local function manner(opening, was)
  local level = opening and vim.wo.foldlevel or DEPTH
  return { cursor = vim.fn.line(".") - 1, level = level, was = opening and was or {} }
end

--- Whether a new fold is closed: not one that the cursor is in.
---@param how flemma.folds.Manner
---@param fold flemma.folds.Fold
---@return boolean
local function closes(how, fold)
  local was = how.was[fold.first]
  if was ~= nil then
    return was
  elseif how.cursor >= fold.first and how.cursor < fold.last then
    return false
  end
  return fold.closed or how.level < (fold.inner and 2 or 1)
end

--- The message of a part, if it has a fold, and what is in it.
---@param folds flemma.folds.Fold[]
---@return flemma.folds.Fold? outer
---@return flemma.folds.Fold[] inner
local function split(folds)
  if folds[1] and not folds[1].inner then
    return folds[1], vim.list_slice(folds, 2)
  end
  return nil, folds
end

--- Those of these folds that there are lines for. When lines at the end were taken away,
--- what was told of them stands behind the end until the host says it anew.
---@param folds flemma.folds.Fold[]
---@return flemma.folds.Fold[]
local function standing(folds)
  local count, last = api.nvim_buf_line_count(0), #folds
  while last > 0 and folds[last].first >= count do
    last = last - 1
  end
  return last == #folds and folds or vim.list_slice(folds, 1, last)
end

--- Makes the folds of a part that are missing. Those that the window should have, by
--- their first lines, are looked for.
---@param how flemma.folds.Manner
---@param folds flemma.folds.Fold[]
---@param had table<integer, any>
local function add(how, folds, had)
  folds = standing(folds)
  if #folds == 0 then
    return
  end
  local outer, inner = split(folds)
  local level = vim.fn.foldlevel
  local has_outer = outer ~= nil and had[outer.first] ~= nil and level(outer.first + 1) > 0
  local depth = has_outer and outer and level(outer.first + 1) or 0
  local missing = vim.tbl_filter(function(fold)
    return not had[fold.first] or level(fold.first + 1) <= depth
  end, inner)
  local closed = is_closed(folds[1].first)
  if closed and has_outer and #missing > 0 then
    vim.cmd(("%dfoldopen"):format(folds[1].first + 1))
  end
  -- What a user folded round it and closed is left as it is.
  if is_closed(folds[1].first) then
    return
  end
  for _, fold in ipairs(missing) do
    make(fold, closes(how, fold))
  end
  if closed then
    vim.cmd(("%dfoldclose"):format(folds[1].first + 1))
  end
  if outer and not has_outer then
    wrap(outer, closes(how, outer), inner)
  end
end

--- Takes away every fold in these lines, wherever Neovim has it.
---@param first integer
---@param last integer
local function wipe(first, last)
  for line = first + 1, math.min(last, api.nvim_buf_line_count(0)) do
    for _ = 1, vim.fn.foldlevel(line) do
      if vim.fn.foldlevel(line) > 0 then
        press("zD", line)
      end
    end
  end
end

--- Makes the folds of a part anew, open or closed as they were.
---@param how flemma.folds.Manner
---@param part flemma.folds.Part
---@param old flemma.folds.Fold[]
local function rebuild(how, part, old)
  local outer, inner = split(standing(old))
  local was = {}
  if outer then
    was[outer.first] = { closed = is_closed(outer.first), inner = false }
    unfold(outer.first)
  end
  for _, fold in ipairs(inner) do
    was[fold.first] = { closed = is_closed(fold.first) or is_closed(fold.last - 1), inner = true }
  end
  wipe(part.first, part.last)
  local now, around = split(standing(part.folds))
  local function closed(fold)
    local before = was[fold.first]
    if before and before.inner == fold.inner then
      return before.closed
    end
    return closes(how, fold)
  end
  for _, fold in ipairs(around) do
    make(fold, closed(fold))
  end
  if now then
    wrap(now, closed(now), around)
  end
end

--- Draws folds again that have other words now: Neovim asks for these when it draws, and
--- does not know that they changed.
---@param id integer
---@param folds flemma.folds.Fold[]
---@param had table<integer, flemma.folds.Fold>
local function redraw(id, folds, had)
  for _, fold in ipairs(folds) do
    local old = had[fold.first]
    local same = old and old.text == fold.text and old.label == fold.label and old.group == fold.group
    if old and not same then
      api.nvim__redraw({ win = id, range = { fold.first, fold.last }, flush = false })
    end
  end
end

---@class flemma.folds.Update
---@field part flemma.folds.Part
---@field old flemma.folds.Fold[] What it had.

--- Brings the folds of parts up to date.
---@param id integer
---@param updates flemma.folds.Update[]
---@param opening boolean
---@param was table<integer, boolean>?
function M.update(id, updates, opening, was)
  within(id, function()
    local how = manner(opening, was)
    for _, update in ipairs(updates) do
      local had, now = {}, {}
      for _, fold in ipairs(update.part.folds) do
        now[fold.first] = fold
      end
      local kept = not update.part.anew
      for _, fold in ipairs(update.old) do
        local new = now[fold.first]
        kept = kept and new ~= nil and new.last == fold.last and new.inner == fold.inner
        had[fold.first] = fold
      end
      if kept then
        add(how, update.part.folds, had)
        redraw(id, update.part.folds, had)
      else
        rebuild(how, update.part, update.old)
      end
    end
  end)
end

--- Which folds are closed and which are not, as far as that can be seen.
---@param id integer
---@param folds flemma.folds.List
---@return table<integer, boolean> closed By their first lines.
function M.states(id, folds)
  shift.settle(folds)
  local states, hidden = {}, 0
  within(id, function()
    for _, fold in ipairs(folds) do
      if fold.first >= hidden and vim.fn.foldlevel(fold.first + 1) > 0 then
        local last = vim.fn.foldclosedend(fold.first + 1)
        states[fold.first] = last ~= -1
        hidden = math.max(hidden, last)
      end
    end
  end)
  return states
end

--- Where the part begins that is at the top of a window.
---@param id integer
---@param folds flemma.folds.List
---@return integer line
function M.first(id, folds)
  shift.settle(folds)
  local top = vim.fn.line("w0", id) - 1
  for index = shift.index(folds, top + 1) - 1, 1, -1 do
    if not folds[index].inner then
      return folds[index].first
    end
  end
  return 0
end

--- Makes what is missing of these folds from a line on.
---@param id integer
---@param folds flemma.folds.List
---@param from integer
---@param most integer How many are looked at, but for those of one message.
---@return integer? next The line to go on at.
function M.fill(id, folds, from, most)
  shift.settle(folds)
  local index = shift.index(folds, from)
  local count = 0
  within(id, function()
    local how = manner(true)
    while folds[index] and count < most do
      local part, had = { folds[index] }, { [folds[index].first] = true }
      local outer = folds[index]
      index = index + 1
      while folds[index] and folds[index].inner and (outer.inner or folds[index].first < outer.last) do
        part[#part + 1] = folds[index]
        had[folds[index].first] = true
        index = index + 1
      end
      add(how, part, had)
      count = count + #part
    end
  end)
  return folds[index] and folds[index].first or nil
end

return M
