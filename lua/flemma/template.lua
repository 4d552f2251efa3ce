--- The text of a new chat: `@You:` alone, or a template of `:Flemma new`.
---@class flemma.template
local M = {}

local api = vim.api

--- Extension of the user's templates.
local EXTENSION = ".chat"

---@type table<string, string> Texts of templates that the user may replace, by name.
local BUILT_IN = {}

BUILT_IN.default = [[
@System:
You help with the files in ${folder} on ${os}.
This conversation began on ${date}.

Read a file before you answer questions about it or change it.
Change files with `edit`, in small pieces, and follow the style around them.
Keep answers short, and say what you could not check.

${skills}

@You:
${rules}

]]

--- Of |:Flemma-edit|. Further tools and changes without a review would be a surprise.
BUILT_IN.edit = [[
```lua
flemma.opt.tools = { "edit" }
flemma.opt.tools.review = "always"
```

@System:
You change lines of a file as the user asks.

Answer with one call of `edit` and no other text. Change only the given lines, unless the
request needs other changes. Follow the style around them. Each `oldText` must occur once in the
file. When you have the result of the call, answer "Done."

${whole}

@You:
${rules}

]]

--- The text of a new chat.
---@class flemma.template.Text
---@field lines string[]
---@field cursor? [integer, integer] Where the template puts the cursor.
---@field unknown string[] Names of words such as `${name}` that are no variables.

---@type table<string, flemma.template.Text> Texts of chats that are about to be opened, by path.
local prepared = {}

--- Sets the text of the new chat that the caller opens next.
---@param path string Absolute.
---@param text flemma.template.Text
function M.prepare(path, text)
  prepared[path] = text
end

--- Returns the folder of the user's templates.
---@return string
local function folder()
  local own = require("flemma.config").get().chats.templates
  return own and vim.fs.normalize(own) or vim.fs.joinpath(vim.fn.stdpath("config"), "flemma", "templates")
end

--- Returns the folders of templates: the user's, then the project's.
---@param report flemma.project.Report
---@return string[]
local function folders(report)
  return { folder(), report.templates }
end

--- Returns the names of the templates.
---@param report flemma.project.Report
---@return string[]
function M.names(report)
  local names = {}
  for _, root in ipairs(folders(report)) do
    for file in vim.fs.dir(root) do
      local name = vim.endswith(file, EXTENSION) and file:sub(1, -#EXTENSION - 1)
      if name and not vim.list_contains(names, name) then
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  return names
end

--- Returns the message about a template that does not exist.
---@param name string
---@param report flemma.project.Report
---@return string
local function missing(name, report)
  local names = M.names(report)
  local nearest = require("flemma.edit_distance").nearest(name, names)
  local others = nearest and ('Did you mean "%s"?'):format(nearest)
    or #names > 0 and ("Templates: %s."):format(table.concat(names, ", "))
    or ("Put it into %s."):format(vim.fn.fnamemodify(folder(), ":~"))
  return ('There is no template "%s". %s'):format(name, others)
end

--- Reads a template.
---@param name string A file, or else a built-in one.
---@param report flemma.project.Report
---@return string? text
local function read(name, report)
  for _, root in ipairs(folders(report)) do
    local file = io.open(vim.fs.joinpath(root, name .. EXTENSION), "r")
    local text = file and file:read("*a")
    if file then
      file:close()
    end
    if text then
      return text
    end
  end
  return BUILT_IN[name]
end

--- Returns the text of a template, with its variables replaced.
---@param name string?
---@param place flemma.template.Place
---@return flemma.template.Text? text
---@return string? problem
function M.text(name, place)
  if name and name:find("[/\\]") then
    return nil, "The name of a template has no slashes."
  end
  local text = read(name or "default", place.report)
  if not text then
    return nil, missing(name --[[@as string]], place.report)
  end
  local variables = require("flemma.template.variables")
  return variables.fill(text, variables.of(place))
end

--- Puts `@You:`, or the template that was prepared, into a buffer whose file does not exist
--- yet, and the cursor below it, unless the user's own template has filled it.
---@param buffer integer
---@return boolean bare Whether it has `@You:` alone.
function M.fill(buffer)
  local path = api.nvim_buf_get_name(buffer)
  local own = prepared[path]
  local text = own or { lines = { "@You:", "" }, unknown = {} }
  prepared[path] = nil
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  if #lines > 1 or lines[1] ~= "" or not vim.bo[buffer].modifiable then
    return false
  end
  -- Without an undo step, so that `u` in a new chat undoes only what the user typed.
  local levels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1
  api.nvim_buf_set_lines(buffer, 0, -1, false, text.lines)
  vim.bo[buffer].undolevels = levels
  vim.bo[buffer].modified = false
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    api.nvim_win_set_cursor(window, text.cursor or { #text.lines, 0 })
  end
  return not own
end

return M
