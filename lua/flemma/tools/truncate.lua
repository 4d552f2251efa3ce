--- Cuts long text to what a model is given: whole lines, the head or the tail. The
--- host cuts by the same rules, and one list of cases tests both.
---@class flemma.tools.truncate
local M = {}

--- Most lines and bytes kept: "Output truncation" in the tools specification.
M.MAX_LINES = 2000
M.MAX_BYTES = 50 * 1024

---@class flemma.tools.Truncated
---@field content string The kept part, without a final newline.
---@field truncated boolean
---@field truncated_by "lines"|"bytes"|nil
---@field total_lines integer A final newline ends the last line and starts none.
---@field total_bytes integer
---@field output_lines integer
---@field output_bytes integer
---@field last_line_partial boolean Whether `content` is the end of one line that is too long.
---@field first_line_exceeds_limit boolean Whether nothing is kept, as the first line is too long.

---@class flemma.tools.Limits
---@field max_lines? integer
---@field max_bytes? integer

---@param text string
---@return integer
local function count_lines(text)
  return text == "" and 0 or select(2, text:gsub("\n", "")) + 1
end

---@param text string
---@param content string
---@param fields table
---@return flemma.tools.Truncated
local function truncated(text, content, fields)
  return vim.tbl_extend("force", {
    content = content,
    truncated = fields.truncated_by ~= nil,
    total_lines = count_lines(text),
    total_bytes = #text,
    output_lines = count_lines(content),
    output_bytes = #content,
    last_line_partial = false,
    first_line_exceeds_limit = false,
  }, fields)
end

--- The text that is cut, and by what.
---@param text any
---@param limits flemma.tools.Limits?
---@return string text
---@return integer lines
---@return integer bytes
---@return boolean fits
local function prepare(text, limits)
  text = tostring(text):gsub("\n$", "", 1)
  local lines, bytes = (limits or {}).max_lines or M.MAX_LINES, (limits or {}).max_bytes or M.MAX_BYTES
  return text, lines, bytes, #text <= bytes and count_lines(text) <= lines
end

--- Keeps the start, for what is read from the top. A first line that is too long
--- alone leaves nothing.
---@param content string
---@param limits? flemma.tools.Limits
---@return flemma.tools.Truncated
function M.truncate_head(content, limits)
  local text, most_lines, most_bytes, fits = prepare(content, limits)
  if fits then
    return truncated(text, text, {})
  end
  local kept, lines, from = 0, 0, 1
  while lines < most_lines do
    local stop = (text:find("\n", from, true) or #text + 1) - 1
    if stop > most_bytes then
      break
    end
    kept, lines, from = stop, lines + 1, stop + 2
    if stop == #text then
      break
    end
  end
  local by = lines == most_lines and "lines" or "bytes"
  return truncated(text, text:sub(1, kept), {
    truncated_by = by,
    output_lines = lines,
    first_line_exceeds_limit = lines == 0 and by == "bytes",
  })
end

--- The end of a text, between characters.
---@param text string
---@param bytes integer
---@return string
local function last_bytes(text, bytes)
  local from = #text - bytes + 1
  while from <= #text and text:byte(from) >= 0x80 and text:byte(from) < 0xC0 do
    from = from + 1
  end
  return text:sub(from)
end

--- Keeps the end, for output whose end matters. Of a last line that is too long
--- alone its end is kept.
---@param content string
---@param limits? flemma.tools.Limits
---@return flemma.tools.Truncated
function M.truncate_tail(content, limits)
  local text, most_lines, most_bytes, fits = prepare(content, limits)
  if fits then
    return truncated(text, text, {})
  end
  local first, lines, at = #text + 1, 0, #text
  while lines < most_lines do
    while at > 0 and text:byte(at) ~= 10 do
      at = at - 1
    end
    if #text - at > most_bytes then
      break
    end
    first, lines = at + 1, lines + 1
    if at == 0 then
      break
    end
    at = at - 1
  end
  local by = lines == most_lines and "lines" or "bytes"
  if lines == 0 then
    local rest = by == "bytes" and last_bytes(text, most_bytes) or ""
    return truncated(text, rest, { truncated_by = by, last_line_partial = rest ~= "" })
  end
  return truncated(text, text:sub(first), { truncated_by = by, output_lines = lines })
end

--- A byte count for people: `3 B`, `12.1 KB`, `1.5 MB`, in steps of 1024.
---@param bytes number
---@return string
function M.format_size(bytes)
  if bytes < 1024 then
    return ("%d B"):format(bytes)
  end
  local units, unit, size = { "KB", "MB", "GB", "TB" }, 1, bytes / 1024
  -- 1023.95 would be printed as "1024.0".
  while size >= 1023.95 and unit < #units do
    size, unit = size / 1024, unit + 1
  end
  return ("%.1f %s"):format(size, units[unit])
end

return M
