--- Movements between messages and calls, and text objects of messages, as the host finds them.
---@class flemma.navigate
local M = {}

local api = vim.api
local lookup = require("flemma.lookup")

--- Asks the host about the cursor's line.
---@param kind "to_message"|"to_call"|"select"
---@param count? integer How many places to move, back if it is negative.
local function look_up(kind, count)
  local line = api.nvim_win_get_cursor(0)[1] - 1
  return lookup.wait("lookup", lookup.at(api.nvim_get_current_buf(), kind, line, { count = count }))
end

--- Moves the cursor to the next or an earlier place, as often as the count says, or as far as
--- there are places.
---@param kind "to_message"|"to_call"
---@param forward boolean
function M.go(kind, forward)
  local line = look_up(kind, forward and vim.v.count1 or -vim.v.count1)
  if not line then
    return
  end
  -- For a jump back.
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { line + 1, 0 })
  -- An operator takes the position alone.
  if not api.nvim_get_mode().mode:find("^no") and vim.list_contains(vim.opt.foldopen:get(), "block") then
    vim.cmd("normal! zv")
  end
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
  local message = look_up("select")
  if message then
    select("V", { message.lines[1] + 1, 0 }, { message.lines[2], 0 })
  end
end

--- Selects the text of the message at the cursor, without blank lines around it.
function M.select_text()
  local message = look_up("select")
  local first, last = unpack(message and message.text or { 0, 0 })
  if first == last then
    return
  end
  -- Text may begin on the marker's line.
  if message.column then
    local line = api.nvim_buf_get_lines(0, last - 1, last, false)[1] or ""
    select("v", { first + 1, message.column }, { last, math.max(0, #line - 1) })
  else
    select("V", { first + 1, 0 }, { last, 0 })
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
