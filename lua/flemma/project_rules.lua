--- The files in which a project tells models its rules: found, and written as references.
---@class flemma.project_rules
local M = {}

local below = require("flemma.path").below

--- A folder's rules are in the first of these files, else in all of the others.
local FIRST = "AGENTS.md"
local OTHERS = { "CLAUDE.md", ".github/copilot-instructions.md" }
--- Most folders to search between a chat and the working directory.
local MOST_FOLDERS = 32

---@param path string
---@return boolean
local function is_file(path)
  local stat = vim.uv.fs_stat(path)
  return stat ~= nil and stat.type == "file"
end

--- Returns the rules of one folder.
---@param folder string
---@return string[] paths
local function of(folder)
  local first = vim.fs.joinpath(folder, FIRST)
  if is_file(first) then
    return { first }
  end
  return vim.tbl_filter(
    is_file,
    vim.tbl_map(function(name)
      return vim.fs.joinpath(folder, name)
    end, OTHERS)
  )
end

--- Returns a path as it is written in a reference.
---@param path string
---@return string
function M.encoded(path)
  local encoded = path:gsub("[^%w/._~+@,=-]", function(byte)
    return ("%%%02X"):format(byte:byte())
  end)
  return encoded
end

--- Returns a path that starts from a folder as a reference.
---@param path string
---@param folder string
---@return string
function M.reference(path, folder)
  local up, base = "", folder
  local rest = below(path, base)
  -- Above the root there is no folder left to try.
  while not rest and base ~= vim.fs.dirname(base) do
    up, base = up .. "../", vim.fs.dirname(base)
    rest = below(path, base)
  end
  if not rest then
    -- On another drive.
    return "@//" .. M.encoded(path)
  end
  return "@" .. (up ~= "" and up or "./") .. M.encoded(rest)
end

--- Returns references to the rules that apply to a chat, the nearest first. Files above the
--- working directory are outside the project, and could not be sent without a question.
---@param folder string The chat's folder, absolute.
---@param project string The working directory, absolute.
---@return string[]
function M.references(folder, project)
  local folders = { folder }
  while below(folder, project) and #folders < MOST_FOLDERS do
    folder = vim.fs.dirname(folder)
    folders[#folders + 1] = folder
  end
  if not vim.list_contains(folders, project) then
    folders[#folders + 1] = project
  end
  local found = {}
  for _, at in ipairs(folders) do
    for _, path in ipairs(of(at)) do
      found[#found + 1] = M.reference(path, folders[1])
    end
  end
  return found
end

return M
