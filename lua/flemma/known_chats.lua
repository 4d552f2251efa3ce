--- The chats of this user: their paths, titles, and dates. A file in Neovim's state folder
--- names each chat that was saved, wherever it is.
---@class flemma.known_chats
local M = {}

local flemma_path = require("flemma.path")

--- Bytes of a chat in which its title is looked for.
local TITLE_BYTES = 8192
--- Longest title in characters.
local TITLE_LENGTH = 72
--- Most columns of a title in a list: with the date and a short path, an item fits into 80.
local TITLE_COLUMNS = 44

---@class flemma.known_chats.Chat
---@field path string
---@field time integer When the file changed, in seconds since 1970.
---@field title string

---@type table<string, { time: integer, title: string }> Titles by path.
local titles = {}
---@type table<string, boolean>? The chats that the list has.
local listed

---@return string
local function list_path()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "flemma", "chats")
end

---@return table<string, boolean>
local function read_list()
  local paths = {}
  local file = io.open(list_path(), "r")
  if file then
    for path in file:lines() do
      paths[flemma_path.slashed(path)] = true
    end
    file:close()
  end
  return paths
end

--- Adds a chat to the list. Each Neovim appends whole lines, so that none loses another's.
---@param path string Absolute.
function M.add(path)
  path = flemma_path.slashed(path)
  listed = listed or read_list()
  -- A buffer may be unmodified although its file was never written.
  if listed[path] or path:find("\n", 1, true) or not vim.uv.fs_stat(path) then
    return
  end
  listed[path] = true
  -- Fails if another Neovim creates it at the same time. Without the list, a chat is still
  -- found in the folder for chats.
  pcall(vim.fn.mkdir, vim.fs.dirname(list_path()), "p")
  local file = io.open(list_path(), "a")
  if file then
    file:write(path .. "\n")
    file:close()
  end
end

--- Returns the first words that the user wrote.
---@param text string The start of a chat.
---@return string
function M.title(text)
  -- With a line feed in front, the marker may also be on the first line.
  local _, stop = ("\n" .. text):find("\n@You:", 1, true)
  local words = stop and text:sub(stop):match("^%s*([^\n]*)") or ""
  words = vim.trim(words):gsub("%c", " ")
  return words ~= "" and not words:find("^@%u") and vim.fn.strcharpart(words, 0, TITLE_LENGTH) or "(empty)"
end

--- Returns the title of a chat, which is read again if its file changed.
---@param path string
---@param time integer
---@return string
local function title_of(path, time)
  local known = titles[path]
  if known and known.time == time then
    return known.title
  end
  local file = io.open(path, "r")
  local title = require("flemma.wrap").cut(M.title(file and file:read(TITLE_BYTES) or ""), TITLE_COLUMNS)
  titles[path] = { time = time, title = title }
  if file then
    file:close()
  end
  return title
end

--- Adds the chats in a folder.
---@param folder string Absolute.
---@param paths table<string, boolean>
local function scan(folder, paths)
  local prefix = folder:sub(-1) == "/" and folder or folder .. "/"
  -- `vim.fs` takes three times as long for thousands of names.
  local entries = vim.uv.fs_scandir(folder)
  local name, kind
  repeat
    if entries then
      name, kind = vim.uv.fs_scandir_next(entries)
    end
    if name and kind ~= "directory" and name:sub(-5) == ".chat" then
      paths[prefix .. name] = true
    end
  until not name
end

--- Returns the paths of all chats that are known, and of those in the working directory and the
--- folder for chats.
---@return string[]
function M.paths()
  local paths = read_list()
  local project = vim.fs.normalize(require("flemma.directory").here())
  local folder = require("flemma.chat_folder").of_project(project)
  scan(folder, paths)
  if folder ~= project then
    scan(project, paths)
  end
  return vim.tbl_keys(paths)
end

--- Returns true if a chat is in a project, or in the state folder for it.
---@param path string
---@param project string
---@return boolean
local function is_of(path, project)
  local base = require("flemma.chat_folder").base(path)
  return base == project or flemma_path.below(path, project) ~= nil or flemma_path.below(base, project) ~= nil
end

--- Returns the chats, the last changed first.
---@param project string? Only chats below this folder.
---@return flemma.known_chats.Chat[] chats Without titles, which `read_titles` adds.
function M.chats(project)
  local found = {}
  -- By folder, because thousands of chats may be in one.
  local is_wanted = {} ---@type table<string, boolean>
  for _, path in ipairs(M.paths()) do
    local folder = path:match("^.*/") or ""
    if is_wanted[folder] == nil then
      is_wanted[folder] = not project or is_of(path, project)
    end
    local stat = is_wanted[folder] and vim.uv.fs_stat(path)
    if stat and stat.type == "file" then
      found[#found + 1] = { path = path, time = stat.mtime.sec, title = "" }
    end
  end
  table.sort(found, function(one, other)
    return one.time > other.time or one.time == other.time and one.path < other.path
  end)
  return found
end

--- Reads the titles of chats, which takes longer than to list them.
---@param chats flemma.known_chats.Chat[] Changed in place.
function M.read_titles(chats)
  for _, chat in ipairs(chats) do
    chat.title = title_of(chat.path, chat.time)
  end
end

return M
