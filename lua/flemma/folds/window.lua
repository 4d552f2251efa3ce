--- Creates, opens, closes, and deletes manual folds in one window. With a 'foldexpr' Neovim
--- would refuse |zf|, |zd|, and |zE|, and update no folds in Insert mode.
---
--- `:fold` creates a closed fold around existing ones, `:foldopen` opens the outermost closed
--- fold at a line, and `:foldclose` closes the innermost open one.
---@class flemma.folds.window
local M = {}

local api = vim.api
local neovim = require("flemma.neovim")
local shift = require("flemma.folds.shift")

local TEXT = "v:lua.require'flemma.folds'.text()"
--- Depth of our folds, and the 'foldlevel' at which all are open.
local DEPTH = 2

--- Scrolls the current window to the start of the closed fold in which its top line is. Neovim
--- 0.11 may keep the virtual lines above the top line, which the fold hides, and then draws for
--- ever.
local function leave_closed_fold()
  local view = vim.fn.winsaveview()
  local top = vim.fn.foldclosed(view.topline)
  if top == -1 then
    return
  end
  local row = { start_row = top - 1, end_row = top - 1 }
  local fill = top == view.topline and api.nvim_win_text_height(0, row).fill or 0
  vim.fn.winrestview({ topline = top, topfill = math.min(view.topfill, fill) })
end

--- Runs `action` in a window with 'foldenable', without which Neovim reports no closed folds.
local function within(id, action)
  api.nvim_win_call(id, function()
    local enabled = vim.wo.foldenable
    if not enabled then
      vim.wo[id][0].foldenable = true
    end
    local ok, why = pcall(action)
    leave_closed_fold()
    if not enabled then
      vim.wo[id][0].foldenable = false
    end
    assert(ok, why)
  end)
end

--- Presses keys on a line. Restores the cursor, which may be after the end of a line in
--- Insert mode. `nvim_buf_call` ends Visual mode, in which keys would act on the selection.
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
local function is_closed(line)
  return vim.fn.foldclosed(line + 1) ~= -1
end

---@param fold flemma.folds.Fold Must not be inside a closed fold.
local function set_closed(fold, closed)
  if is_closed(fold.first) ~= closed then
    vim.cmd(("%d%s"):format(fold.first + 1, closed and "foldclose" or "foldopen"))
  end
end

--- Reads which folds of a message are closed. Opens the message's own fold to see the others.
---@return table<integer, boolean> closed By first lines.
local function read(folds)
  local closed = {}
  for _, fold in ipairs(folds) do
    -- Neovim may have cut the first line off.
    closed[fold.first] = is_closed(fold.first) or fold.inner and is_closed(fold.last - 1)
    if not fold.inner then
      set_closed(fold, false)
    end
  end
  return closed
end

--- Closes every fold above a line in a window.
---@param id integer
---@param line integer From zero.
function M.close_above(id, line)
  within(id, function()
    vim.cmd(("silent! 1,%dfoldclose!"):format(line))
  end)
end

--- Deletes every fold in these lines.
local function wipe(first, last)
  for line = first + 1, math.min(last, api.nvim_buf_line_count(0)) do
    for _ = 1, vim.fn.foldlevel(line) do
      if vim.fn.foldlevel(line) > 0 then
        press("zD", line)
      end
    end
  end
end

--- Returns true if a new fold is closed, never around the cursor. While a chat is opened, a
--- |zM| of the user also closes folds that are created later.
local function closes(fold, opening)
  local cursor, level = vim.fn.line(".") - 1, opening and vim.wo.foldlevel or DEPTH
  local away = cursor < fold.first or cursor >= fold.last
  return away and (fold.closed or level < (fold.inner and 2 or 1))
end

---@return table<integer, flemma.folds.Fold> folds By first lines.
local function by_line(folds)
  local found = {}
  for _, fold in ipairs(folds) do
    found[fold.first] = fold
  end
  return found
end

--- Returns true if all old folds still exist, so that the others can be added to them.
local function can_stay(old, new)
  for _, fold in ipairs(old) do
    local now = new[fold.first]
    if not now or now.last ~= fold.last or now.inner ~= fold.inner then
      return false
    end
  end
  return true
end

--- Returns true if a closed fold of the user is around these lines.
local function is_put_away(part)
  local first, last = vim.fn.foldclosed(part.first + 1), vim.fn.foldclosedend(part.first + 1)
  return first ~= -1 and (first <= part.first or last > part.last)
end

--- Redraws folds whose text changed, which Neovim does not know.
local function redraw(old, new)
  for _, fold in ipairs(new) do
    local was = old[fold.first]
    local same = was and was.text == fold.text and was.label == fold.label and was.group == fold.group
    if was and not same then
      neovim.redraw({ win = api.nvim_get_current_win(), range = { fold.first, fold.last } })
    end
  end
end

--- Opens or closes the folds of a message. Its own fold is opened first, because Neovim changes
--- only folds that are visible, and closed last.
---@param folds flemma.folds.Fold[] The message's own fold first, if it has one.
---@param closed table<integer, boolean> By first lines.
local function set_all_closed(folds, closed)
  local outer = folds[1]
  if not outer then
    return
  end
  set_closed(outer, false)
  for _, fold in ipairs(folds) do
    if fold.inner then
      set_closed(fold, closed[fold.first])
    end
  end
  if not outer.inner then
    set_closed(outer, closed[outer.first])
  end
end

--- Updates the folds of a part. Existing folds stay open or closed.
---@param opening boolean Whether the chat is being opened.
local function update(it, opening)
  local part, old = it.part, it.old
  local count = api.nvim_buf_line_count(0)
  -- A change that the host does not know yet may have removed lines of a fold.
  local folds = vim.tbl_filter(function(fold)
    return fold.last - fold.first > 1 and fold.last <= count
  end, shift.folds(part))
  local had = by_line(old)
  redraw(had, folds)
  local stay = not it.broken and can_stay(old, by_line(folds))
  if stay and (#old == #folds or is_put_away(part)) then
    return
  end
  local closed = read(old)
  if not stay then
    wipe(part.first, part.last)
    had = {}
  end
  -- The message's own fold last, around those inside it.
  for index = #folds, 1, -1 do
    local fold = folds[index]
    if not had[fold.first] then
      vim.cmd(("%d,%dfold"):format(fold.first + 1, fold.last))
    end
    if closed[fold.first] == nil then
      closed[fold.first] = closes(fold, opening)
    end
  end
  set_all_closed(folds, closed)
end

---@param id integer
---@return boolean
function M.is_manual(id)
  return vim.wo[id].foldmethod == "manual"
end

--- Sets a window's options for the buffer that it shows, once, because |zM| may change
--- 'foldlevel' later.
---@param id integer
function M.set(id)
  if vim.wo[id].foldtext == TEXT then
    return
  end
  vim.wo[id][0].foldtext = TEXT
  -- By default Neovim fills the rest of the line with dots.
  local chars = vim.wo[id].fillchars
  if not chars:find("fold:", 1, true) then
    vim.wo[id][0].fillchars = chars == "" and "fold: " or chars .. ",fold: "
  end
  vim.wo[id][0].foldlevel = math.max(vim.wo[id].foldlevel, DEPTH)
end

---@param id integer
function M.unset(id)
  for _, name in ipairs({ "foldtext", "foldlevel", "fillchars" }) do
    vim.wo[id][0][name] = api.nvim_get_option_value(name, { scope = "global" })
  end
end

--- Deletes all folds.
---@param id integer
function M.clear(id)
  within(id, function()
    press("zE")
  end)
end

--- Opens every fold around these lines.
---@param id integer
---@param lines integer[]
function M.open(id, lines)
  within(id, function()
    for _, line in ipairs(lines) do
      for _ = 1, vim.fn.foldlevel(line + 1) do
        if is_closed(line) then
          vim.cmd(("%dfoldopen"):format(line + 1))
        end
      end
    end
  end)
end

--- Updates the folds of parts.
---@param id integer
---@param updates flemma.folds.Update[]
---@param opening boolean Whether the chat is being opened.
function M.update(id, updates, opening)
  within(id, function()
    for _, it in ipairs(updates) do
      update(it, opening)
    end
  end)
end

return M
