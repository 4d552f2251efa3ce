--- Offers to keep chats out of Git, where the user has them in a project: `git add -A` would stage
--- them. Never does so unasked.
---@class flemma.exclude
local M = {}

local notices = require("flemma.notices")

--- What is added to `info/exclude`.
local PATTERN = "*.chat"

--- The file with the folders in which the user does not want that.
---@return string
local function declined_path()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "flemma", "chats-in-git")
end

---@param file string
---@return string[]
local function lines_of(file)
  return vim.uv.fs_stat(file) and vim.fn.readfile(file) or {}
end

---@param message string
---@param level "info"|"error"
local function say(message, level)
  notices.notify({ level = level, message = message })
end

---@param file string
---@param line string
local function append(file, line)
  vim.fn.mkdir(vim.fs.dirname(file), "p")
  local ok, why = pcall(vim.fn.writefile, vim.list_extend(lines_of(file), { line }), file)
  if not ok then
    say(("%s was not written: %s"):format(file, tostring(why):gsub("^Vim:", "")), "error")
  end
  return ok
end

--- Asks whether chats are kept out of Git.
---@param folder string
---@param file string The repository's `info/exclude`.
local function ask(folder, file)
  local items = { "Leave that as it is", ("Add %s to .git/info/exclude"):format(PATTERN) }
  local prompt = "Git does not ignore the chats of this folder:"
  require("flemma.window").select(items, { prompt = prompt, kind = "flemma.exclude" }, function(_, at)
    if at == 1 then
      append(declined_path(), folder)
    elseif at == 2 and append(file, PATTERN) then
      say(("Git ignores chats here now: %s is in %s."):format(PATTERN, vim.fn.fnamemodify(file, ":~:.")), "info")
    end
  end)
end

--- Runs Git in a folder, and passes on what it prints.
---@param folder string
---@param arguments string[]
---@param callback fun(code: integer, output: string)
local function git(folder, arguments, callback)
  local command = vim.list_extend({ "git", "-C", folder }, arguments)
  pcall(
    vim.system,
    command,
    { text = true, timeout = 5000 },
    vim.schedule_wrap(function(done)
      callback(done.code, vim.trim(done.stdout or ""))
    end)
  )
end

--- Asks once about a folder for chats that Git would stage.
---@param folder string Absolute.
function M.offer(folder)
  if vim.list_contains(lines_of(declined_path()), folder) then
    return
  end
  git(folder, { "check-ignore", "-q", "a.chat" }, function(code)
    -- 0: ignored; 128: no repository.
    if code == 1 then
      git(folder, { "rev-parse", "--git-path", "info/exclude" }, function(_, file)
        if file ~= "" then
          ask(folder, require("flemma.path").is_absolute(file) and file or vim.fs.joinpath(folder, file))
        end
      end)
    end
  end)
end

return M
