--- Folds of a chat without a host: messages and thinking, as they are when it is opened. A host
--- that starts later replaces them.
---@class flemma.folds.guess
local M = {}

local api = vim.api
local mirror = require("flemma.mirror")
local notices = require("flemma.notices")
local regions = require("flemma.regions")

--- Bytes of a line in the text of a fold.
local MOST = 120

--- Returns the first text of a fold below its first line.
---@param lines string[]
---@param first integer
---@param last integer
---@return string
local function words(lines, first, last)
  for row = first + 1, last - 1 do
    if lines[row + 1]:find("%S") and not lines[row + 1]:find("^</?thinking") then
      return notices.escape(vim.trim(lines[row + 1]:sub(1, MOST)))
    end
  end
  return ""
end

--- Returns a message with its folds. The last one may grow, so it has none around it.
---@param lines string[]
---@param first integer
---@param last integer
---@param thinking flemma.regions.Region[] Of this message.
---@return flemma.protocol.FoldPart
local function part(lines, first, last, thinking)
  local items = {}
  local group, bytes = regions.marker(lines[first + 1])
  if group and last < #lines and last - first > 1 then
    local label = lines[first + 1]:sub(1, bytes)
    items[1] = { first, last, false, false, group, label, words(lines, first, last) }
  end
  for _, region in ipairs(thinking) do
    if region[2] - region[1] > 1 then
      local text = words(lines, region[1], region[2])
      items[#items + 1] = { region[1], region[2], true, false, "FlemmaThinking", "thinking", text }
    end
  end
  return { first = first, last = last, items = items }
end

--- Returns the folds of a text.
---@param lines string[]
---@return flemma.protocol.FoldPart[]
function M.parts(lines)
  local scan = regions.scan(function(row)
    return lines[row + 1] or ""
  end, 0, #lines)
  local parts, starts, at = {}, vim.list_extend({ 0 }, scan.markers), 1
  local thinking = vim.tbl_filter(function(region)
    return region[3] == "thinking"
  end, scan.found)
  for index, first in ipairs(starts) do
    local last, own = starts[index + 1] or #lines, {}
    while thinking[at] and thinking[at][1] < last do
      own[#own + 1], at = thinking[at], at + 1
    end
    if first < last then
      parts[#parts + 1] = part(lines, first, last, own)
    end
  end
  return parts
end

--- Makes the folds of a chat.
---@param buffer integer
function M.show(buffer)
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  require("flemma.folds").folds({
    buffer = buffer,
    seq = mirror.seq(buffer),
    enabled = true,
    opening = true,
    parts = M.parts(api.nvim_buf_get_lines(buffer, 0, -1, false)),
  })
end

return M
