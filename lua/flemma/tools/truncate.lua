--- Truncates text for tools that shorten their own output: `ctx.truncate`. The host
--- truncates results by the same rules; tests/cases/truncate.json holds for both.
---@class flemma.tools.truncate
local M = {}

--- Most lines and bytes that are kept by default.
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

---@alias flemma.tools.Limits { max_lines?: integer, max_bytes?: integer }

--- Returns the end of a text, cut between characters.
local function last_bytes(text, bytes)
  return (text:sub(#text - bytes + 1):gsub("^[\128-\191]+", ""))
end

--- Keeps whole lines up to both limits.
---@param from_end boolean Whether the last lines are kept.
local function truncate(content, limits, from_end)
  local most_lines, most_bytes = (limits or {}).max_lines or M.MAX_LINES, (limits or {}).max_bytes or M.MAX_BYTES
  local text = tostring(content):gsub("\n$", "", 1)
  local lines = text == "" and {} or vim.split(text, "\n", { plain = true })
  local kept, bytes = 0, -1
  while kept < math.min(#lines, most_lines) do
    bytes = bytes + 1 + #lines[from_end and #lines - kept or kept + 1]
    if bytes > most_bytes then
      break
    end
    kept = kept + 1
  end
  local by = kept < #lines and (kept == most_lines and "lines" or "bytes") or nil
  local first = from_end and #lines - kept + 1 or 1
  local output = table.concat(lines, "\n", first, first + kept - 1)
  local partial = kept == 0 and by == "bytes"
  if partial and from_end then
    output = last_bytes(text, most_bytes)
  end
  return {
    content = output,
    truncated = by ~= nil,
    truncated_by = by,
    total_lines = #lines,
    total_bytes = #text,
    output_lines = partial and output ~= "" and 1 or kept,
    output_bytes = #output,
    last_line_partial = partial and output ~= "",
    first_line_exceeds_limit = partial and not from_end,
  }
end

--- Keeps the start of a text. If the first line alone is too long, nothing is kept.
---@param content string
---@param limits? flemma.tools.Limits
---@return flemma.tools.Truncated
function M.truncate_head(content, limits)
  return truncate(content, limits, false)
end

--- Keeps the end of a text. If the last line alone is too long, its end is kept.
---@param content string
---@param limits? flemma.tools.Limits
---@return flemma.tools.Truncated
function M.truncate_tail(content, limits)
  return truncate(content, limits, true)
end

--- Formats a number of bytes, in steps of 1024: `3 B`, `12.1 KB`, `1.5 MB`.
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
