--- The variables of a template, and their values as text that is never structure of a chat.
---@class flemma.template.variables
local M = {}

--- Where a new chat is made.
---@class flemma.template.Place
---@field chat string The chat's folder, absolute.
---@field project string The working directory, absolute.
---@field report flemma.project.Report
---@field range? flemma.selection.Range What `${selection}` contains.
---@field whole? string What `${whole}` contains.

--- Where the cursor goes.
local CURSOR = "${cursor}"

--- What begins a line that is structure of a chat.
local STRUCTURE = {
  "@System:",
  "@You:",
  "@Assistant:",
  "**Tool Use:**",
  "**Tool Result:**",
  "<thinking",
  "</thinking>",
  "<!-- flemma:",
}

--- Words after an `@` that make a reference.
local REFERENCES = { "diagnostics", "quickfix", "symbols", "diff", "buffer:" }

--- Makes a value plain text of one line: a folder may have any name.
---@param value string
---@return string
local function plain(value)
  local text = value:gsub("%c", "?"):gsub("```+", "'"):gsub("{{", "\\{{"):gsub("@([./~])", "\\@%1")
  for _, word in ipairs(REFERENCES) do
    -- Within a word, the host takes no reference, and would keep the backslash.
    text = text:gsub("%f[%w_@/.%%+\\-]@" .. word, "\\@" .. word)
  end
  return text
end

--- Returns the lines about skills for a system prompt.
---@param report flemma.project.Report
---@return string[]
function M.skill_lines(report)
  if #report.skills == 0 then
    return {}
  end
  local lines = { "Before a task that one of these skills describes, read its file with `read`:" }
  for _, skill in ipairs(report.skills) do
    lines[#lines + 1] = ("- %s: %s (%s)"):format(skill.name, plain(skill.description), plain(skill.path))
  end
  return lines
end

--- Returns the values of the variables, which are computed only if a template uses them.
---@param place flemma.template.Place
---@return table<string, fun(): string>
function M.of(place)
  local function cwd()
    return plain(vim.fn.fnamemodify(place.project, ":~"))
  end
  return {
    folder = cwd,
    cwd = cwd,
    project = function()
      return plain(vim.fs.basename(place.project))
    end,
    os = function()
      local system = vim.uv.os_uname()
      return plain(("%s %s"):format(system.sysname, system.machine))
    end,
    date = function()
      return os.date("%Y-%m-%d") --[[@as string]]
    end,
    file = function()
      return plain(require("flemma.selection").path())
    end,
    selection = function()
      return place.range and require("flemma.selection").text(place.range) or ""
    end,
    whole = function()
      return place.whole or ""
    end,
    rules = function()
      return table.concat(require("flemma.project_rules").references(place.chat, place.project), "\n")
    end,
    skills = function()
      return table.concat(M.skill_lines(place.report), "\n")
    end,
  }
end

--- Returns whether a line is structure, also if it is escaped.
---@param line string
---@return boolean
local function is_structure(line)
  local rest = line:gsub("^\\+", "")
  return vim.iter(STRUCTURE):any(function(start)
    return vim.startswith(rest, start)
  end)
end

--- Replaces the variables in one line of a template.
---@param line string
---@param values table<string, fun(): string>
---@param unknown string[] Gets the names of other words.
---@return string[]
local function fill_line(line, values, unknown)
  local filled = line:gsub("%${(%l+)}", function(name)
    if values[name] then
      return values[name]()
    elseif name ~= "cursor" and not vim.list_contains(unknown, name) then
      unknown[#unknown + 1] = name
    end
  end)
  if filled == line then
    return { line }
  end
  local lines = vim.split(filled, "\n", { plain = true })
  for at, text in ipairs(lines) do
    -- A marker that the template itself has stays one.
    if is_structure(text) and not (at == 1 and is_structure(line)) then
      lines[at] = "\\" .. text
    end
  end
  return lines
end

--- Returns the number of lines of a frontmatter. Nothing is replaced in it, because a value
--- would become code there.
---@param lines string[]
---@return integer
local function frontmatter(lines)
  local fence = (lines[1] or ""):match("^```+")
  for at = 2, fence and #lines or 0 do
    if vim.trim(lines[at]) == fence then
      return at
    end
  end
  -- An open fence swallows everything.
  return fence and #lines or 0
end

--- Takes the word for the cursor out of the lines.
---@param lines string[]
---@return [integer, integer]?
local function take_cursor(lines)
  for at, line in ipairs(lines) do
    local column = line:find(CURSOR, 1, true)
    if column then
      lines[at] = line:sub(1, column - 1) .. line:sub(column + #CURSOR)
      return { at, column - 1 }
    end
  end
end

--- Replaces the variables of a template.
---@param text string
---@param values table<string, fun(): string>
---@return flemma.template.Text
function M.fill(text, values)
  local source = vim.split(text:gsub("\r\n", "\n"), "\n", { plain = true })
  -- The last line break ends a line.
  if source[#source] == "" and #source > 1 then
    source[#source] = nil
  end
  local head, lines, unknown = frontmatter(source), {}, {}
  for at, line in ipairs(source) do
    local filled = at > head and fill_line(line, values, unknown) or { line }
    local is_empty = #filled == 1 and filled[1] == "" and line ~= ""
    local is_gap = #filled == 1 and filled[1] == "" and lines[#lines] == "" and at > head
    -- A project without rules leaves no gap.
    if not is_empty and not is_gap then
      vim.list_extend(lines, filled)
    end
  end
  return { lines = lines, cursor = take_cursor(lines), unknown = unknown }
end

return M
