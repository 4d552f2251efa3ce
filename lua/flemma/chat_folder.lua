--- Where new chats are, and the folder that a chat's relative paths start from: its own, or the
--- project's if the chat is in the state folder.
---@class flemma.chat_folder
local M = {}

--- The file in a folder of the state folder that holds the project's path.
local PROJECT = "project"
--- Most bytes of a project's name in the name of its folder.
local NAME_BYTES = 40

--- Returns the path of a folder in the state folder.
---@param name string
---@return string
local function in_state(name)
  return vim.fs.normalize(vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "flemma", name))
end

--- Returns true if a chat is in the folder of a project in the state folder.
---@param path string Absolute.
---@return boolean
local function is_by_project(path)
  return vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(path))) == in_state("by-project")
end

--- Returns the folder for the chats of a project, absolute.
---@param project string Absolute.
---@return string folder
---@return boolean is_chosen Whether the user chose it, instead of the state folder.
function M.of_project(project)
  local given = require("flemma.config").get().chats.folder
  if given then
    return vim.fs.normalize(vim.fs.abspath(vim.fs.normalize(given))), true
  end
  local name = vim.fs.basename(project):gsub("[^%w._-]", "_"):sub(1, NAME_BYTES)
  return vim.fs.joinpath(in_state("by-project"), ("%s-%s"):format(name, vim.fn.sha256(project):sub(1, 12))), false
end

--- Makes the folder for the chats of a project.
---@param project string Absolute.
---@return string folder
function M.make(project)
  local folder, is_chosen = M.of_project(project)
  -- Also creates the folders above it; there is no error if it exists.
  vim.fn.mkdir(folder, "p", is_chosen and 493 or 448)
  local file = vim.fs.joinpath(folder, PROJECT)
  if not is_chosen and not vim.uv.fs_stat(file) then
    vim.fn.writefile({ project }, file)
  end
  return folder
end

--- Returns true if a chat is in the state folder, where only `:Flemma new` and `:Flemma tutor`
--- make them.
---@param path string Absolute.
---@return boolean
function M.is_ours(path)
  return is_by_project(path) or vim.fs.dirname(vim.fs.normalize(path)) == in_state("tutor")
end

--- Returns the folder that the relative paths of a chat start from. The host finds the same.
---@param path string The chat's, absolute.
---@return string
function M.base(path)
  local own = vim.fs.dirname(vim.fs.normalize(path))
  if is_by_project(path) then
    local file = io.open(vim.fs.joinpath(own, PROJECT), "r")
    local project = file and file:read("*l")
    if file then
      file:close()
    end
    return project and require("flemma.path").is_absolute(project) and project or own
  end
  return own
end

return M
