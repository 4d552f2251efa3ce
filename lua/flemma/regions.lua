--- The regions of a chat as far as the lines near the screen show, until the host sends them. The
--- rules are those of the host, except that a role marker counts inside a fence as well.
---@class flemma.regions
local M = {}

--- Most lines that are read above a line to find its message, and from there on.
local MOST = 1000

---@class flemma.regions.Region Lines of one language.
---@field [1] integer First line.
---@field [2] integer Line after the last.
---@field [3] "markdown"|"language"|"file"|"thinking"|"plain"|"line" A "line" has one color.
---@field [4] string Name of the language or file, or the group of the line.

local MARKERS = { System = "FlemmaSystem", You = "FlemmaUser", Assistant = "FlemmaAssistant" }

---@param line string
---@return string? group Nil if the line is no role marker.
---@return integer? bytes Of the marker.
function M.marker(line)
  local role, rest = line:match("^@(%a+):(.?)")
  if role and MARKERS[role] and rest:find("^%s?$") then
    return MARKERS[role], #role + 2
  end
end

--- Returns the marks of a fence and its info string.
---@param line string
---@return string? marks Nil if the line is no fence.
---@return string info
function M.fence(line)
  local marks = line:match("^```+") or line:match("^~~~+")
  local info = marks and line:sub(#marks + 1) or ""
  -- The info string of a fence of backticks contains none.
  if marks and marks:sub(1, 1) == "`" and info:find("`") then
    return nil, ""
  end
  return marks, vim.trim(info)
end

---@param line string
---@return string? group Of a line that begins a call, a result, or a comment of ours.
local function header(line)
  if line:find("^%*%*Tool Use:%*%* `") then
    return "FlemmaToolUse"
  elseif line:find("^%*%*Tool Result:%*%* `") then
    return line:find("%(error%)%s*$") and "FlemmaToolError" or "FlemmaToolResult"
  end
  return line:find("^<!%-%- flemma:aborted") and "FlemmaAborted" or nil
end

--- Returns the line to read from: a role marker, or a line too far above to look further.
---@param line fun(row: integer): string
---@param row integer
---@return integer
local function start_of(line, row)
  for at = row, math.max(0, row - MOST), -1 do
    if M.marker(line(at)) then
      return at
    end
  end
  return math.max(0, row - MOST)
end

---@class flemma.regions.Scan Lines that are being read.
---@field line fun(row: integer): string
---@field at integer The current line.
---@field last integer Line after the last that is read.
---@field from integer First line that belongs to no region yet.
---@field is_result boolean Whether the next fence is that of a result.
---@field found flemma.regions.Region[]
---@field markers integer[] Lines of role markers.

--- Ends the region before a line, which belongs to none.
---@param scan flemma.regions.Scan
---@param behind integer
---@param kind string
---@param name string
local function close(scan, behind, kind, name)
  if scan.from < behind then
    table.insert(scan.found, { scan.from, behind, kind, name })
  end
  scan.from = behind + 1
end

--- Moves below the current line to the first that fits.
---@param scan flemma.regions.Scan
---@param fits fun(text: string): boolean
local function skip(scan, fits)
  repeat
    scan.at = scan.at + 1
  until scan.at >= scan.last or fits(scan.line(scan.at))
end

---@param scan flemma.regions.Scan
local function thinking(scan)
  scan.from = scan.at
  skip(scan, function(text)
    return text:find("^</thinking>") ~= nil
  end)
  local behind = math.min(scan.at + 1, scan.last)
  close(scan, behind, "thinking", "")
  scan.from = behind
end

---@param scan flemma.regions.Scan
---@param marks string
---@param info string
local function code(scan, marks, info)
  skip(scan, function(text)
    local closing, rest = M.fence(text)
    -- A closing fence is as long as the opening one, or longer.
    return closing ~= nil and rest == "" and vim.startswith(closing, marks)
  end)
  close(scan, scan.at, scan.is_result and "plain" or "language", info)
  scan.is_result = false
end

--- Reads the current line, and those below that belong to it.
---@param scan flemma.regions.Scan
local function step(scan)
  local text, at = scan.line(scan.at), scan.at
  local group, marks, info = header(text), M.fence(text)
  if M.marker(text) then
    close(scan, at, "markdown", "")
    table.insert(scan.markers, at)
    scan.is_result = false
  elseif group then
    close(scan, at, "markdown", "")
    table.insert(scan.found, { at, at + 1, "line", group })
    scan.is_result = group == "FlemmaToolResult" or group == "FlemmaToolError"
  elseif text:find("^<thinking[%s>]") and not text:find("/>%s*$") then
    close(scan, at, "markdown", "")
    thinking(scan)
  elseif marks then
    close(scan, at, "markdown", "")
    code(scan, marks, info)
  end
  scan.at = scan.at + 1
end

--- Reads lines.
---@param line fun(row: integer): string
---@param first integer
---@param last integer
---@return flemma.regions.Scan
function M.scan(line, first, last)
  local scan = { line = line, at = first, last = last, from = first, is_result = false, found = {}, markers = {} }
  while scan.at < last do
    step(scan)
  end
  close(scan, last, "markdown", "")
  return scan
end

--- Returns the regions around a line.
---@param line fun(row: integer): string
---@param row integer
---@param count integer Number of lines.
---@return flemma.regions.Region[]
---@return integer first Line that they begin at.
---@return integer last Line that they end before.
function M.around(line, row, count)
  local first, last = start_of(line, row), math.min(count, row + MOST)
  return M.scan(line, first, last).found, first, last
end

return M
