--- The text that a range of `:Flemma ask` covers, as a fenced code block with its path and
--- lines. The host escapes what would be structure.
---@class flemma.selection
local M = {}

local api = vim.api

--- What replaces NUL, which Neovim stores as a line feed.
local NUL = "\226\144\128"

---@class flemma.selection.Range
---@field first integer The first line, from 1.
---@field last integer

--- Makes lines of a buffer text that a message can hold. The host replaces what is not UTF-8.
---@param lines string[]
---@return string[]
function M.clean(lines)
  return vim.tbl_map(function(line)
    return (line:gsub("[\n%z]", NUL))
  end, lines)
end

--- Returns the lines of a range. A range that is the last Visual selection is that exactly,
--- also a part of a line or a block.
local function covered(range)
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local mode = vim.fn.visualmode()
  if mode ~= "" and from[2] == range.first and to[2] == range.last then
    return vim.fn.getregion(from, to, { type = mode })
  end
  return api.nvim_buf_get_lines(0, range.first - 1, range.last, false)
end

--- Returns the longest run of backticks.
local function backticks(lines)
  local longest = 0
  for _, line in ipairs(lines) do
    for run in line:gmatch("`+") do
      longest = math.max(longest, #run)
    end
  end
  return longest
end

--- Returns the current buffer's file, from the working directory; empty without a file.
---@return string
function M.path()
  local name = api.nvim_buf_get_name(0)
  if name == "" or vim.bo.buftype ~= "" then
    return ""
  end
  local shown = vim.fn.fnamemodify(name, ":~:.")
  return M.clean({ (shown:gsub("%c", "?")) })[1]
end

--- Returns the range of the current buffer as it is put into a chat.
---@param range flemma.selection.Range
---@param path? string Its path, by default that from the working directory.
---@return string? text nil if it is empty.
function M.text(range, path)
  local lines = M.clean(covered(range))
  if not table.concat(lines):find("%S") then
    return nil
  end
  path = path or M.path()
  local place = range.first == range.last and ("line %d"):format(range.first)
    or ("lines %d-%d"):format(range.first, range.last)
  local heading = path ~= "" and ("%s, %s:"):format(path, place) or ("%s:"):format(place:gsub("^l", "L"))
  local fence = ("`"):rep(math.max(3, backticks(lines) + 1))
  local language = vim.bo.filetype:gsub("[^%w_+#.-]", "")
  local block = { heading, "", fence .. language }
  vim.list_extend(block, lines)
  block[#block + 1] = fence
  return table.concat(block, "\n")
end

return M
