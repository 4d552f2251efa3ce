--- The text of a new chat: `@You:` alone, or a template of `:Flemma new`.
---@class flemma.template
local M = {}

local api = vim.api

--- Extension of the user's templates.
local EXTENSION = ".chat"

--- The template without a name.
local DEFAULT = [[
@System:
You help with the files in ${folder} on ${os}.
This conversation began on ${date}.

Read a file before you answer questions about it or change it.
Change files with `edit`, in small pieces, and follow the style around them.
Keep answers short, and say what you could not check.

${rules}

@You:

]]

---@type table<string, string[]> Texts of chats that are about to be opened, by path.
local prepared = {}

--- Sets the text of the new chat that the caller opens next.
---@param path string Absolute.
---@param lines string[]
function M.prepare(path, lines)
  prepared[path] = lines
end

--- Returns the folder of the user's templates.
---@return string
local function folder()
  local own = require("flemma.config").get().chats.templates
  return own and vim.fs.normalize(own) or vim.fs.joinpath(vim.fn.stdpath("config"), "flemma", "templates")
end

--- Returns the names of the user's templates.
---@return string[]
function M.names()
  local names = {}
  for file in vim.fs.dir(folder()) do
    if vim.endswith(file, EXTENSION) then
      names[#names + 1] = file:sub(1, -#EXTENSION - 1)
    end
  end
  table.sort(names)
  return names
end

--- Makes a value plain text of one line: a folder may have any name.
---@param value string
---@return string
local function plain(value)
  local text = value:gsub("%c", "?"):gsub("{{", "\\{{"):gsub("@([./~])", "\\@%1")
  return text
end

--- Returns the values of the variables.
---@param chat string The chat's folder, absolute.
---@param project string The working directory, absolute.
---@return table<string, string>
local function variables(chat, project)
  local system = vim.uv.os_uname()
  return {
    folder = plain(vim.fn.fnamemodify(project, ":~")),
    os = plain(("%s %s"):format(system.sysname, system.machine)),
    date = os.date("%Y-%m-%d") --[[@as string]],
    rules = table.concat(require("flemma.project_rules").references(chat, project), "\n"),
  }
end

--- Reads a template.
---@param name string? The user's template; nil for `default`, or the built-in one.
---@return string? text
---@return string? problem
local function read(name)
  local path = vim.fs.joinpath(folder(), (name or "default") .. EXTENSION)
  local file = io.open(path, "r")
  if file then
    local text = file:read("*a")
    file:close()
    if text then
      return text
    end
  elseif not name then
    return DEFAULT
  end
  local names = M.names()
  local others = #names > 0 and ("Templates: %s."):format(table.concat(names, ", "))
    or ("Put it into %s."):format(vim.fn.fnamemodify(folder(), ":~"))
  return nil, ('There is no template "%s". %s'):format(name, others)
end

--- Returns the lines of a template, with its variables replaced.
---@param name string?
---@param chat string The chat's folder, absolute.
---@param project string The working directory, absolute.
---@return string[]? lines
---@return string? problem
function M.lines(name, chat, project)
  if name and name:find("[/\\]") then
    return nil, "The name of a template has no slashes."
  end
  local text, problem = read(name)
  if not text then
    return nil, problem
  end
  local values = variables(chat, project)
  local filled = text:gsub("\r\n", "\n"):gsub("%${(%l+)}", values)
  -- A project without rules leaves no gap.
  local lines = vim.split(filled:gsub("\n\n\n+", "\n\n"), "\n", { plain = true })
  -- The last line break ends a line.
  if lines[#lines] == "" and #lines > 1 then
    lines[#lines] = nil
  end
  return lines
end

--- Puts `@You:`, or the template that was prepared, into a buffer whose file does not exist
--- yet, and the cursor below it, unless the user's own template has filled it.
---@param buffer integer
function M.fill(buffer)
  local path = api.nvim_buf_get_name(buffer)
  local text = prepared[path] or { "@You:", "" }
  prepared[path] = nil
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  if #lines > 1 or lines[1] ~= "" or not vim.bo[buffer].modifiable then
    return
  end
  -- Without an undo step, so that `u` in a new chat undoes only what the user typed.
  local levels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1
  api.nvim_buf_set_lines(buffer, 0, -1, false, text)
  vim.bo[buffer].undolevels = levels
  vim.bo[buffer].modified = false
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    api.nvim_win_set_cursor(window, { #text, 0 })
  end
end

return M
