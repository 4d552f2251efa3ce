--- Languages by the names that models and files give. A name comes from outside, so it selects
--- among what is installed and can name nothing else.
---@class flemma.syntax.names
local M = {}

--- Scripts in the syntax folder that are not a syntax: `2html` would change the buffer.
local NOT_SYNTAX = "2html colortest hitest manual nosyntax syncolor synload syntax on off"
--- Names that are neither a filetype nor the extension of one.
local ALIASES = {
  console = "sh",
  csharp = "cs",
  docker = "dockerfile",
  golang = "go",
  makefile = "make",
  objectivec = "objc",
  plain = "text",
  plaintext = "text",
  shell = "sh",
  viml = "vim",
  zig = "zig",
}

---@class flemma.syntax.Language
---@field parser string? Tree-sitter parser.
---@field file string? Syntax file, if there is no parser.

---@type table<string, flemma.syntax.Language|false> By filetype.
local languages = {}
---@type table<string, string|false> Filetypes by the name in a fence.
local filetypes = {}
--- Files whose filetype is kept: finding it takes longer than a key may.
local MOST_FILES = 200
---@type table<string, string|false> Filetypes by the name of a file and its first line.
local of_files = {}
local file_count = 0

local function has_syntax_file(name)
  if vim.list_contains(vim.split(NOT_SYNTAX, " "), name) then
    return false
  end
  return vim.uv.fs_stat(vim.fs.joinpath(vim.env.VIMRUNTIME, "syntax", name .. ".vim")) ~= nil
end

local function installed(filetype)
  if not filetype:find("^[%w_+-]+$") then
    return false
  end
  local parser = vim.treesitter.language.get_lang(filetype) or filetype
  if parser:find("^[%w_]+$") then
    local ok, added = pcall(vim.treesitter.language.add, parser)
    local _, query = pcall(vim.treesitter.query.get, parser, "highlights")
    if ok and added and type(query) == "table" then
      return { parser = parser }
    end
  end
  return has_syntax_file(filetype) and { file = filetype } or false
end

--- Returns the language of a filetype.
---@param filetype string
---@return flemma.syntax.Language? language Nil if nothing is installed for it.
function M.of_filetype(filetype)
  if languages[filetype] == nil then
    languages[filetype] = installed(filetype)
  end
  return languages[filetype] or nil
end

---@param name string In lower case, of plain characters.
local function filetype_of(name)
  if ALIASES[name] or M.of_filetype(name) then
    return ALIASES[name] or name
  end
  -- `rs` and `py` are extensions of files.
  local ok, filetype = pcall(vim.filetype.match, { filename = "x." .. name, contents = { "" } })
  return ok and filetype or false
end

--- Returns the language that a fence names, as in `python` or `rust,ignore`.
---@param info string The text after the backticks.
---@return flemma.syntax.Language?
function M.of_fence(info)
  local name = info:match("^%s*{?%.?([%w_+-]+)[%s,;:{}#]?")
  -- A path or a call is no name, nor is a part of it.
  if not name or #name > 30 or info:find("^[%w_+-]*[^%w_+%-%s,;:{}#]") then
    return nil
  end
  name = name:lower()
  if filetypes[name] == nil then
    filetypes[name] = filetype_of(name)
  end
  return filetypes[name] and M.of_filetype(filetypes[name]) or nil
end

--- Returns the filetype of a file.
---@param name string
---@param lines string[] Its first lines.
---@return string?
function M.filetype_of_file(name, lines)
  local head = name .. "\n" .. (lines[1] or "")
  if of_files[head] == nil then
    local ok, filetype = pcall(vim.filetype.match, { filename = name, contents = lines })
    -- Too many to keep them all.
    of_files = file_count < MOST_FILES and of_files or {}
    file_count = file_count % MOST_FILES + 1
    of_files[head] = ok and filetype or false
  end
  return of_files[head] or nil
end

--- Returns the language of a file.
---@param name string
---@param lines string[] Its first lines.
---@return flemma.syntax.Language?
function M.of_file(name, lines)
  local filetype = M.filetype_of_file(name, lines)
  return filetype and M.of_filetype(filetype)
end

return M
