--- Wraps text for virtual lines, which Neovim would cut at the window's edge.
---@class flemma.wrap
local M = {}

local api = vim.api

--- Sign and highlight group of a message by its level.
local LOOKS = {
  error = { "✗", "FlemmaRemarkError" },
  warn = { "!", "FlemmaRemarkWarn" },
  info = { "·", "FlemmaRemarkInfo" },
}

--- Returns the length of the longest start of a text that fits.
---@param room integer In columns.
---@return integer bytes At least one whole character.
local function fitting(text, room)
  local low, high = 1, vim.fn.strchars(text, true)
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if api.nvim_strwidth(vim.fn.strcharpart(text, 0, middle, true)) <= room then
      low = middle
    else
      high = middle - 1
    end
  end
  return #vim.fn.strcharpart(text, 0, low, true)
end

--- Breaks one line between words, or inside a word that is longer than a line.
---@param into string[] Gets the pieces.
local function break_line(line, room, into)
  while api.nvim_strwidth(line) > room do
    local bytes = fitting(line, room)
    local head = line:sub(1, bytes)
    -- A blank right after the piece ends its last word as well.
    local blank = line:sub(bytes + 1, bytes + 1) == " " and #head + 1 or head:find(" [^ ]*$")
    local cut = blank and blank > 1 and blank - 1 or bytes
    into[#into + 1] = vim.trim(line:sub(1, cut))
    line = vim.trim(line:sub(cut + 1))
  end
  into[#into + 1] = line
end

--- Wraps a text to lines of at most `room` columns.
---@param text string
---@param room integer
---@return string[] lines At least one.
function M.wrap(text, room)
  local lines = {}
  for _, line in ipairs(vim.split(text, "\n", { plain = true })) do
    break_line(vim.trim(line), math.max(room, 1), lines)
  end
  return lines
end

--- Returns virtual lines with a message after its sign, indented as a block.
---@param text string
---@param level "info"|"warn"|"error"
---@param width integer Of the window's text, in columns.
---@return string[][][] lines For `virt_lines` of |nvim_buf_set_extmark()|.
function M.virtual_lines(text, level, width)
  local sign, group = unpack(LOOKS[level])
  local indent = api.nvim_strwidth(sign) + 1
  local lines = {}
  for number, line in ipairs(M.wrap(text, width - indent)) do
    local lead = number == 1 and sign .. " " or (" "):rep(indent)
    lines[number] = { { lead .. line, group } }
  end
  return lines
end

--- Cuts a text to fit into one line.
---@param text string
---@param room integer In columns.
---@return string
function M.cut(text, room)
  if api.nvim_strwidth(text) <= room then
    return text
  end
  return text:sub(1, fitting(text, math.max(room - 1, 1))) .. "…"
end

--- Returns the start of a text that fits into one line, if possible up to the end of a
--- sentence, a clause, or a word.
---@param text string
---@param room integer In columns.
---@return string
function M.first_line(text, room)
  text = vim.trim((text:gsub("%s+", " ")))
  if api.nvim_strwidth(text) <= room then
    return text
  end
  local head = text:sub(1, fitting(text, math.max(room - 2, 1)))
  local starts = {
    head:match("^.+%.%f[%s]"),
    -- Leaves out a remark in parentheses that does not fit.
    head:match("^(.-)%s*%([^)]*$") or head:match("^.+[;:,]%f[%s]"),
    head:match("^.+%f[%s]"),
  }
  for number = 1, 3 do
    local start = starts[number]
    -- A start that leaves most of the line empty says too little.
    if start and #start * 3 > #head then
      return (start:gsub("[;:,]$", "")) .. " …"
    end
  end
  return head .. "…"
end

return M
