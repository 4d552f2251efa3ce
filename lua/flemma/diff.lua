--- Turns the diffs of calls into virtual lines, with the syntax colors of their files on the
--- backgrounds of the diff.
---@class flemma.diff
local M = {}

local api = vim.api
local colors_of = require("flemma.diff.colors")
local wrap = require("flemma.wrap")

local SIGNS = { add = "+", delete = "-", context = " " }
local GROUPS = { add = "FlemmaDiffAdd", delete = "FlemmaDiffDelete" }
local WORDS = { add = "FlemmaDiffText", delete = "FlemmaDiffDeleteText" }

--- Returns which bytes of a row changed within its line.
---@return table<integer, boolean> changed By byte, from 1.
local function changed_bytes(row)
  local changed = {}
  for index = 1, #row.changed, 2 do
    for byte = row.changed[index] + 1, row.changed[index + 1] do
      changed[byte] = true
    end
  end
  return changed
end

--- Returns true if lines of this group are recognized by their background. Otherwise syntax
--- colors would hide that a line is removed, as with Neovim's own colors.
---@param group string?
---@return boolean
function M.has_background(group)
  local definition = group and api.nvim_get_hl(0, { name = group, link = false })
  return not definition or definition.bg ~= nil or definition.reverse == true
end

--- Splits the text of a row where its groups differ.
---@param colors table<integer, string> Syntax groups by byte, from 1.
---@return table[] chunks
local function text_chunks(row, colors)
  local chunks, changed, base = {}, changed_bytes(row), GROUPS[row.kind]
  local first = 1
  for byte = 1, #row.text do
    if colors[byte] ~= colors[byte + 1] or changed[byte] ~= changed[byte + 1] or byte == #row.text then
      local groups = { base }
      groups[#groups + 1] = changed[byte] and WORDS[row.kind] or nil
      -- Above the groups of the diff, of which only the background is left.
      groups[#groups + 1] = colors[byte]
      chunks[#chunks + 1] = { row.text:sub(first, byte), #groups > 0 and groups or nil }
      first = byte + 1
    end
  end
  return chunks
end

---@return table[] chunks
local function row_chunks(file, row, colors)
  local number = row.number > 0 and tostring(row.number) or ""
  local gutter = (" "):rep(file.digits - #number) .. number .. " "
  local sign = SIGNS[row.kind]
  if not sign then
    return { { gutter .. row.text, "FlemmaDiffNumber" } }
  end
  local base = GROUPS[row.kind]
  local chunks = { { gutter, "FlemmaDiffNumber" }, { sign .. " ", base } }
  vim.list_extend(chunks, text_chunks(row, colors))
  local room = file.width - #gutter - 2 - api.nvim_strwidth(row.text)
  if base and room > 0 then
    chunks[#chunks + 1] = { (" "):rep(room), base }
  end
  return chunks
end

---@return table[] chunks
local function title(file)
  local rest = file.counts .. (file.labels ~= "" and "  " .. file.labels or "")
  local name = wrap.cut(file.name, math.max(file.width - api.nvim_strwidth(rest) - 2, 10))
  local room = math.max(file.width - api.nvim_strwidth(name) - 2, 1)
  return { { name, "FlemmaDiffFile" }, { "  " .. wrap.cut(rest, room), "FlemmaToolPreview" } }
end

--- Returns the virtual lines of one file.
---@param file flemma.protocol.Diff
---@param colored fun() Called when the lines should be drawn again, because their colors are known.
---@return table[][] lines
function M.virtual_lines(file, colored)
  if file.name == "" then
    return vim.tbl_map(function(line)
      return { { line, "FlemmaToolError" } }
    end, wrap.wrap(file.labels, file.width))
  end
  local lines, colors = { title(file) }, colors_of.colors(file, colored)
  for index, row in ipairs(file.rows) do
    local is_colored = colors[index] and M.has_background(GROUPS[row.kind])
    lines[#lines + 1] = row_chunks(file, row, is_colored and colors[index] or {})
  end
  if file.more > 0 then
    local noun = file.more == 1 and "line" or "lines"
    lines[#lines + 1] = { { ("… %d more %s"):format(file.more, noun), "FlemmaHint" } }
  end
  return lines
end

return M
