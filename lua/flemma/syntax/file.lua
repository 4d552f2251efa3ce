--- Colors of a text by Vim's syntax files, from hidden buffers. Never computed while Neovim
--- draws, because a hidden buffer must be entered for it.
---@class flemma.syntax.file
local M = {}

local api = vim.api
local INTERRUPTED = require("flemma.neovim").INTERRUPTED

--- Time for coloring before Neovim handles other events.
local BUDGET_MS = 4
--- Hidden buffers per language. Loading a syntax file again would take milliseconds.
local MOST_BUFFERS = 3

---@class flemma.syntax.Scratch A hidden buffer with a text and the colors of its first lines.
---@field buffer integer
---@field file string
---@field lines string[]
---@field rows flemma.syntax.Rows
---@field done integer Number of lines with current colors; those below have their last ones.
---@field used integer When it was last asked for.
---@field waiting fun()[] Called when there are more colors.
---@field scheduled boolean

---@type table<string, flemma.syntax.Scratch[]>
local scratches = {}
---@type table<integer, string> Highlight groups by syntax ID.
local names = {}
local clock = 0

local function create(file)
  local buffer = api.nvim_create_buf(false, true)
  vim.bo[buffer].modeline = false
  vim.bo[buffer].undolevels = -1
  return { buffer = buffer, file = file, lines = {}, rows = {}, done = 0, used = 0, waiting = {}, scheduled = false }
end

--- Returns the groups of a line in the current buffer. A word has one color, except for its first
--- character after a backslash.
local function spans_of(number, line)
  local spans, position = {}, 1
  while position <= #line do
    local first, last = line:find("^[%w_]+", position)
    if not first or line:sub(position - 1, position - 1) == "\\" then
      first, last = position, position
    end
    local id = line:find("^%s", first) and 0 or vim.fn.synID(number, first, 1)
    names[id] = names[id] or vim.fn.synIDattr(vim.fn.synIDtrans(id), "name")
    local before = spans[#spans]
    -- A comment is one span, with its spaces.
    if before and before[3] == names[id] and line:find("%S", before[2] + 1) == first then
      before[2] = last
    elseif names[id] ~= "" then
      spans[#spans + 1] = { first - 1, last, names[id] }
    end
    position = last + 1
  end
  return spans
end

local function color_some(scratch)
  local deadline = vim.uv.hrtime() + BUDGET_MS * 1e6
  api.nvim_buf_call(scratch.buffer, function()
    -- The first time, and again because `:syntax on` clears the syntax of all buffers.
    if not vim.b.current_syntax then
      -- Not by 'syntax', whose autocommands are the user's.
      vim.cmd(("runtime! syntax/%s.vim syntax/%s/*.vim"):format(scratch.file, scratch.file))
    end
    repeat
      local number = scratch.done + 1
      scratch.rows[number] = spans_of(number, scratch.lines[number])
      scratch.done = number
    until number >= #scratch.lines or vim.uv.hrtime() > deadline
  end)
end

local function continue(scratch)
  scratch.scheduled = true
  -- By a timer, so that keys are handled between two parts.
  vim.defer_fn(function()
    scratch.scheduled = false
    -- No buffer can be entered from the command-line window.
    if vim.fn.getcmdwintype() ~= "" or not api.nvim_buf_is_valid(scratch.buffer) then
      return
    end
    local ok = true
    if scratch.done < #scratch.lines then
      local why
      ok, why = pcall(color_some, scratch)
      -- What a Ctrl-C interrupts is done again.
      ok = ok or tostring(why):find(INTERRUPTED, 1, true) ~= nil
    end
    if ok and scratch.done < #scratch.lines then
      continue(scratch)
    end
    local waiting = scratch.waiting
    scratch.waiting = ok and scratch.scheduled and waiting or {}
    for _, callback in ipairs(waiting) do
      callback()
    end
  end, 0)
end

---@return integer number Of equal lines at the start.
local function common(one, other)
  local number = 0
  while number < #one and one[number + 1] == other[number + 1] do
    number = number + 1
  end
  return number
end

--- Returns the hidden buffer with the most equal lines: while an answer arrives, that with its
--- earlier lines.
---@return integer same Number of lines at the start that it has already.
local function nearest(file, lines)
  local best, most = nil, 0 ---@type flemma.syntax.Scratch?, integer
  for _, scratch in ipairs(scratches[file] or {}) do
    local same = common(scratch.lines, lines)
    -- One equal line is no relation, unless it is all that there is.
    if same > most and (same > 1 or math.min(#lines, #scratch.lines) <= 2) then
      best, most = scratch, same
    end
  end
  return best, most
end

--- Returns a hidden buffer for a text that no other is near to.
local function another(file)
  scratches[file] = scratches[file] or {}
  local all = scratches[file]
  if #all < MOST_BUFFERS then
    all[#all + 1] = create(file)
    return all[#all]
  end
  -- One whose text is complete, if possible.
  table.sort(all, function(one, other)
    if one.scheduled ~= other.scheduled then
      return other.scheduled
    end
    return one.used < other.used
  end)
  return all[1]
end

--- Returns the colors that lines have already, also of lines that moved or were continued.
local function carried(scratch, lines, same)
  local old, rows, grown = scratch.lines, {}, #lines - #scratch.lines
  for number, line in ipairs(lines) do
    local before = old[number] or ""
    local kept = number <= same or (before ~= "" and vim.startswith(line, before))
    local moved = not kept and old[number - grown] == line
    rows[number] = kept and scratch.rows[number] or moved and scratch.rows[number - grown] or {}
  end
  return rows
end

--- Returns the colors that are known from an earlier state of a text.
---@param file string
---@param lines string[]
---@return flemma.syntax.Rows
function M.known(file, lines)
  local scratch, same = nearest(file, lines)
  return scratch and carried(scratch, lines, same) or {}
end

--- Returns true if a buffer may get another text: its own is complete, or was continued.
---@param same integer Number of lines at the start that both have.
local function is_free(scratch, same)
  return not scratch.scheduled or same >= #scratch.lines - 1
end

--- Computes the colors of a text, and calls back whenever there are more.
---@param file string
---@param lines string[]
---@param colored fun(rows: flemma.syntax.Rows, complete: boolean)
function M.request(file, lines, colored)
  local scratch, same = nearest(file, lines)
  if not scratch or not is_free(scratch, same) then
    scratch = another(file)
    same = common(scratch.lines, lines)
  end
  clock = clock + 1
  scratch.used = clock
  if same < #lines or #lines ~= #scratch.lines then
    scratch.rows = carried(scratch, lines, same)
    api.nvim_buf_set_lines(scratch.buffer, same, -1, false, vim.list_slice(lines, same + 1))
    scratch.lines, scratch.done = lines, math.min(same, scratch.done)
  end
  table.insert(scratch.waiting, function()
    local is_complete = scratch.done >= #scratch.lines
    if scratch.lines == lines or vim.deep_equal(scratch.lines, lines) then
      colored(vim.list_slice(scratch.rows), is_complete)
    elseif is_complete and common(scratch.lines, lines) < #lines - 1 then
      -- Another text took the buffer because there was no other. Its colors come first.
      vim.schedule(function()
        M.request(file, lines, colored)
      end)
    end
  end)
  if not scratch.scheduled then
    continue(scratch)
  end
end

return M
