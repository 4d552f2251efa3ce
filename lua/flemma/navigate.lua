--- Movements between messages and calls, and text objects of messages. They read the text
--- themselves, so that they work without a host.
---@class flemma.navigate
local M = {}

local api = vim.api
local state = require("flemma.state")

--- What begins a message, for |string.find()|.
local MARKERS = { "^@You:", "^@Assistant:", "^@System:" }
local CALL = "^%*%*Tool Use:%*%*"
local RESULT = "^%*%*Tool Result:%*%*"
--- Lines that are read at once.
local CHUNK = 2000
local AT, STAR = 64, 42
--- The first bytes of lines that matter; the others are the backtick and the tilde of fences.
local FIRST = { [AT] = true, [STAR] = true, [96] = true, [126] = true }

---@class flemma.navigate.Places
---@field tick integer The |b:changedtick| that they belong to.
---@field messages integer[] Lines of the role markers, from zero.
---@field stops integer[]? Those that movements stop at, once they are needed.
---@field calls integer[] Lines of the headers of calls.

---@type table<integer, flemma.navigate.Places>
local known = state.by_buffer()

---@param line string
---@return boolean
local function is_marker(line)
  for _, marker in ipairs(MARKERS) do
    if line:find(marker) then
      return true
    end
  end
  return false
end

--- Parses a line that may open or close a code fence.
---@param line string
---@return string? marks The backticks or tildes.
---@return string? info The text after them.
local function fence(line)
  local marks, info = line:match("^(```+)([^`]*)$")
  if not marks then
    marks, info = line:match("^(~~~+)(.*)$")
  end
  return marks, marks and vim.trim(info)
end

--- The lines of a buffer that may be a marker, a call, or a fence.
---@param buffer integer
---@return { [1]: integer, [2]: string }[]
local function candidates(buffer)
  local found = {}
  for first = 0, api.nvim_buf_line_count(buffer) - 1, CHUNK do
    for at, line in ipairs(api.nvim_buf_get_lines(buffer, first, first + CHUNK, false)) do
      if FIRST[line:byte()] then
        found[#found + 1] = { first + at - 1, line }
      end
    end
  end
  return found
end

--- Returns the index of the line that closes a fence, or nil.
---@param lines { [1]: integer, [2]: string }[]
---@param from integer Index of the line that opens it.
---@param opening string Its marks.
---@return integer?
local function closing(lines, from, opening)
  for at = from + 1, #lines do
    local marks, info = fence(lines[at][2])
    if marks and info == "" and marks:sub(1, 1) == opening:sub(1, 1) and #marks >= #opening then
      return at
    end
  end
end

--- Finds the messages and calls of a buffer, once for each text. What looks like one inside a
--- code fence is none; a fence that is never closed hides nothing below the next marker.
---@param buffer integer
---@return flemma.navigate.Places
local function places(buffer)
  local tick = api.nvim_buf_get_changedtick(buffer)
  if known[buffer] and known[buffer].tick == tick then
    return known[buffer]
  end
  local found = { tick = tick, messages = {}, calls = {} }
  local lines = candidates(buffer)
  local at, unclosed = 1, false
  while at <= #lines do
    local row, line = lines[at][1], lines[at][2]
    local first = line:byte()
    if first == AT then
      if is_marker(line) then
        found.messages[#found.messages + 1] = row
        unclosed = false
      end
    elseif not unclosed and first == STAR then
      if line:find(CALL) then
        found.calls[#found.calls + 1] = row
      end
    elseif not unclosed then
      local marks = fence(line)
      local last = marks and closing(lines, at, marks)
      unclosed = marks ~= nil and last == nil
      at = last or at
    end
    at = at + 1
  end
  known[buffer] = found
  return found
end

--- Returns true if a message has results of calls and no other text.
---@param buffer integer
---@param first integer The line of its marker, from zero.
---@param last integer The line behind it.
---@return boolean
local function is_results(buffer, first, last)
  local lines = api.nvim_buf_get_lines(buffer, first, last, false)
  if not lines[1] or not lines[1]:find("^@You:%s*$") then
    return false
  end
  local has_result, open = false, nil
  for at = 2, #lines do
    local line = lines[at]
    local marks, info = fence(line)
    if open then
      local closes = marks and info == "" and marks:sub(1, 1) == open:sub(1, 1) and #marks >= #open
      open = not closes and open or nil
    elseif line:find(RESULT) then
      has_result = true
    elseif has_result and marks then
      open = marks
    elseif line:find("%S") then
      return false
    end
  end
  return has_result
end

--- Returns the lines of messages that a movement stops at: all but those of results, which belong to
--- the answer.
---@param buffer integer
---@return integer[]
local function stops(buffer)
  local found = places(buffer)
  if not found.stops then
    found.stops = {}
    for index, line in ipairs(found.messages) do
      local last = found.messages[index + 1] or api.nvim_buf_line_count(buffer)
      if not is_results(buffer, line, last) then
        table.insert(found.stops, line)
      end
    end
  end
  return found.stops
end

--- Moves the cursor to the next or an earlier place, as often as the count says, or as far as
--- there are places.
---@param kind "messages"|"calls"
---@param forward boolean
function M.go(kind, forward)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local buffer = api.nvim_get_current_buf()
  local targets = vim.tbl_filter(function(line)
    return forward and line > row or not forward and line < row
  end, kind == "messages" and stops(buffer) or places(buffer).calls)
  if #targets == 0 then
    return
  end
  local count = math.min(vim.v.count1, #targets)
  -- For a jump back.
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { targets[forward and count or #targets + 1 - count] + 1, 0 })
  -- An operator takes the position alone.
  if not api.nvim_get_mode().mode:find("^no") and vim.list_contains(vim.opt.foldopen:get(), "block") then
    vim.cmd("normal! zv")
  end
end

--- Returns the lines of the message at the cursor, from one.
---@return integer? first The role marker.
---@return integer last
local function message()
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local first, last = nil, api.nvim_buf_line_count(0)
  for _, line in ipairs(places(api.nvim_get_current_buf()).messages) do
    if line > row then
      last = line
      break
    end
    first = line + 1
  end
  return first, last
end

--- Selects text, also for an operator.
---@param mode "v"|"V"
---@param from { [1]: integer, [2]: integer }
---@param to { [1]: integer, [2]: integer }
local function select(mode, from, to)
  -- In Visual mode, the key of the mode would end the selection.
  if api.nvim_get_mode().mode:find("^[vV\22]") then
    vim.cmd("normal! \27")
  end
  api.nvim_win_set_cursor(0, from)
  vim.cmd("normal! " .. mode)
  api.nvim_win_set_cursor(0, to)
end

--- Selects the message at the cursor, with its role marker and the blank lines below.
function M.select_message()
  local first, last = message()
  if first then
    select("V", { first, 0 }, { last, 0 })
  end
end

--- Selects the text of the message at the cursor, without blank lines around it.
function M.select_text()
  local first, last = message()
  if not first then
    return
  end
  local lines = api.nvim_buf_get_lines(0, first - 1, last, false)
  while #lines > 0 and not lines[#lines]:find("%S") do
    lines[#lines] = nil
  end
  -- Text may begin on the marker's line.
  local beside = (lines[1] or ""):match("^@%a+:%s*()%S")
  if beside then
    local bottom = #lines
    select("v", { first, beside - 1 }, { first + bottom - 1, math.max(0, #lines[bottom] - 1) })
    return
  end
  local skip = 1
  while skip < #lines and not lines[skip + 1]:find("%S") do
    skip = skip + 1
  end
  if skip < #lines then
    select("V", { first + skip, 0 }, { first + #lines - 1, 0 })
  end
end

--- For 'includeexpr': the path of a reference, in which blanks are written as `%20`.
---@param name string
---@return string
function M.file(name)
  name = name:gsub("^@", ""):gsub(";type=.*$", "")
  local path = name:gsub("%%(%x%x)", function(digits)
    -- No path contains a NUL.
    return digits ~= "00" and string.char(tonumber(digits, 16)) or nil
  end)
  return path
end

return M
