--- Downloads, verifies, and unpacks the archive with the host program.
---
--- Nothing from an archive is read or run before its SHA-256 equals the one in the plugin's
--- commit, so neither the server nor the network has to be trusted.
---@class flemma.install.archive
local M = {}

local job = require("flemma.install.job")

--- Largest archive in bytes (64 MiB); a real one has about 10.
local MOST_BYTES = 64 * 1024 * 1024
--- Longest download in seconds.
local MOST_SECONDS = 300

local function programs(target)
  if target:find("windows", 1, true) then
    return { "flemma.exe" }
  end
  return { "flemma", "flemma-leash" }
end

--- Returns the file name of an archive.
---@param version string
---@param target string
---@return string
function M.name(version, target)
  return ("flemma-%s-%s.tar.gz"):format(version, target)
end

--- Returns the SHA-256 of a file in lower-case hexadecimal, with the first program that can
--- compute it; `nil` if there is none.
local function digest_of(path)
  local commands = {
    { "sha256sum", "--", path },
    { "shasum", "-a", "256", "--", path },
    { "certutil", "-hashfile", path, "SHA256" },
  }
  for _, command in ipairs(commands) do
    if vim.fn.executable(command[1]) == 1 then
      local result = job.run(command)
      -- `certutil` prints a heading; `sha256sum` puts a backslash before an escaped name.
      local digest = ("\n" .. (result.stdout or "")):match("\n\\?(%x+)")
      if result.code == 0 and digest and #digest == 64 then
        return digest:lower()
      end
    end
  end
end

--- Downloads a file with curl or wget.
---@return string? problem
local function download(url, path)
  local seconds = tostring(MOST_SECONDS)
  local command
  if vim.fn.executable("curl") == 1 then
    command = { "curl", "--fail", "--location", "--silent", "--show-error", "--max-time", seconds }
    vim.list_extend(command, { "--max-filesize", tostring(MOST_BYTES), "--output", path, "--", url })
  elseif vim.fn.executable("wget") == 1 then
    command = { "wget", "--quiet", "--tries", "1", "--timeout", seconds, "--output-document", path, "--", url }
  else
    return "Neither curl nor wget is in $PATH"
  end
  local result = job.run(command)
  if result.code ~= 0 then
    return ("%s could not download it (%s)"):format(command[1], vim.trim(result.stderr or ""):match("[^\n]*$"))
  end
end

--- Writes a file to disk, so that a crash after the rename leaves no empty program.
---@return string? problem
local function sync(path)
  local file, problem = vim.uv.fs_open(path, "r+", 0)
  if not file then
    return problem
  end
  local ok, reason = vim.uv.fs_fsync(file)
  vim.uv.fs_close(file)
  return not ok and reason or nil
end

--- Unpacks the programs into `stage` and runs one to see that it works on this machine.
---@return string? problem
local function unpack(path, stage, version, target)
  local names = programs(target)
  -- With the time of now, because the newest program is the one that starts.
  local command = { "tar", "-xzmf", path, "-C", stage, "--" }
  local result = job.run(vim.list_extend(command, names))
  if result.code ~= 0 then
    return ("tar could not unpack it (%s)"):format(vim.trim(result.stderr or ""):match("[^\n]*$"))
  end
  for _, name in ipairs(names) do
    local file = vim.fs.joinpath(stage, name)
    local stat = vim.uv.fs_lstat(file)
    if not stat or stat.type ~= "file" then
      return ("It holds no program %s"):format(name)
    end
    local problem = sync(file)
    if problem then
      return problem
    end
  end
  local answer = job.run({ vim.fs.joinpath(stage, names[1]), "--version" }, { text = true, timeout = 10000 })
  if answer.code ~= 0 then
    return "Its program does not run on this machine"
  end
  local found = vim.trim(answer.stdout or ""):match("^flemma (%S+)$")
  if found ~= version then
    return ("Its program has version %s instead of %s"):format(found or "unknown", version)
  end
end

--- Moves the programs over the installed ones.
---@return string? problem
local function move(stage, folder, target)
  local names = programs(target)
  -- The host last: it looks for its leash when it starts.
  for index = #names, 1, -1 do
    local new, old = vim.fs.joinpath(stage, names[index]), vim.fs.joinpath(folder, names[index])
    local ok, problem = vim.uv.fs_rename(new, old)
    if not ok and target:find("windows", 1, true) then
      -- Windows does not replace a running program, but it renames one.
      vim.uv.fs_rename(old, old .. ".old")
      ok, problem = vim.uv.fs_rename(new, old)
    end
    if not ok then
      return problem
    end
  end
end

--- Makes sure that `path` is the archive: one that the user put there, or a downloaded one.
---@return string? problem
local function fetch(plan, name, path, digest)
  if vim.uv.fs_stat(path) and digest_of(path) == digest then
    return nil
  end
  local base = plan.url or plan.release.url
  if not base then
    return "No address is set for it; set the option install.url"
  end
  -- Into another file, so that a cut download is never taken for the archive.
  local part = path .. ".part"
  local problem = download(base:gsub("/+$", "") .. "/" .. name, part)
  local found = not problem and digest_of(part)
  if found == nil then
    problem = "Neither sha256sum nor shasum is in $PATH, so it cannot be verified"
  elseif found and found ~= digest then
    problem = ("Its SHA-256 is %s instead of %s, so it was deleted"):format(found, digest)
  end
  if problem then
    vim.uv.fs_unlink(part)
    return problem
  end
  local ok, reason = vim.uv.fs_rename(part, path)
  return not ok and reason or nil
end

--- Installs the programs of an archive into `bin` in the plugin's folder. Call it in a
--- coroutine. What was installed before stays until the new programs have run.
---@param plan flemma.install.Plan
---@param target string
---@param digest string
---@return string? problem
function M.install(plan, target, digest)
  local folder = vim.fs.joinpath(plan.root, "bin")
  local name = M.name(plan.release.version, target)
  local path = vim.fs.joinpath(folder, name)
  -- On the same file system as the target, so that the rename is atomic.
  local stage = vim.fs.joinpath(folder, (".install-%d"):format(vim.uv.os_getpid()))
  if vim.fn.mkdir(stage, "p") == 0 then
    return ("The folder %s cannot be created. Correct its permissions and run :Flemma install again."):format(folder)
  end
  local problem = fetch(plan, name, path, digest)
    or unpack(path, stage, plan.release.version, target)
    or move(stage, folder, target)
  vim.fn.delete(stage, "rf")
  if problem then
    local text = "The archive %s was not installed. %s. Put the archive into %s yourself and run :Flemma install again, "
      .. "or run `cargo build --release` in %s."
    return text:format(name, problem, folder, plan.root)
  end
  vim.uv.fs_unlink(path)
end

return M
