--- Writes tables as XML, for prompts that show an example of a call.
---@class flemma.tools.xml
local M = {}

local function escaped(text)
  text = tostring(text)
  if vim.startswith(text, "<![CDATA[") then
    return text
  end
  return (text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
end

local function attributes_of(attributes)
  local text = ""
  for name, value in vim.spairs(attributes or {}) do
    text = ('%s %s="%s"'):format(text, name, (escaped(value):gsub('"', "&quot;")))
  end
  return text
end

local function write(value, name, indent, lines)
  if type(value) ~= "table" then
    lines[#lines + 1] = ("%s<%s>%s</%s>"):format(indent, name, escaped(value), name)
    return
  elseif vim.islist(value) and #value > 0 then
    for _, item in ipairs(value) do
      write(item, name, indent, lines)
    end
    return
  end
  lines[#lines + 1] = ("%s<%s%s>"):format(indent, name, attributes_of(value._attr))
  for key, item in vim.spairs(value) do
    if key ~= "_attr" then
      write(item, tostring(key), indent .. "  ", lines)
    end
  end
  lines[#lines + 1] = ("%s</%s>"):format(indent, name)
end

--- Converts a table to XML: `_attr` holds attributes, a list repeats its element, and
--- elements are sorted by name.
---@param value table
---@param name string The outermost element.
---@return string
function M.toXml(value, name)
  local lines = {}
  write(value, name, "", lines)
  return table.concat(lines, "\n")
end

return M
