--- Installs the host program: the archive of exactly this version for this platform, or a
--- build with cargo where the commit has no archive. Runs in the background.
---@class flemma.install
local M = {}

local archive = require("flemma.install.archive")
local job = require("flemma.install.job")
local notices = require("flemma.notices")

---@class flemma.install.Plan
---@field root string The plugin's folder; the programs are installed into its `bin`.
---@field release { version: string, url: string?, sha256: table<string, string> }
---@field url? string The user's URL of the folder with the archives.
---@field target? string The target triple, if it is not this machine's.

--- Target triples by system and machine, as |uv.os_uname()| names them.
local TARGETS = {
  Linux = { x86_64 = "x86_64-unknown-linux-musl", aarch64 = "aarch64-unknown-linux-musl" },
  Darwin = { x86_64 = "x86_64-apple-darwin", arm64 = "aarch64-apple-darwin" },
  Windows_NT = { x86_64 = "x86_64-pc-windows-msvc" },
}

local running = false

--- Returns the target triple of this machine, if there are archives for it.
---@return string?
function M.target()
  local machine = vim.uv.os_uname()
  return (TARGETS[machine.sysname] or {})[machine.machine]
end

local function default_plan()
  return {
    root = require("flemma.host").root(),
    release = require("flemma.release"),
    url = require("flemma.config").get().install_url,
  }
end

--- Builds the host program with cargo.
---@return string? problem
local function build(root)
  if vim.fn.executable("cargo") == 0 then
    return "This commit has no prebuilt program, and cargo is not in $PATH. "
      .. "Check out a release, or install Rust and run :Flemma install again."
  end
  notices.notify({ level = "info", message = "Building the host program with cargo; this takes minutes." })
  local result = job.run({ "cargo", "build", "--release", "--package", "flemma" }, { cwd = root, text = true })
  if result.code ~= 0 then
    local last = vim.trim(result.stderr or ""):match("[^\n]*$")
    return ("cargo build --release failed in %s: %s. Run it in a terminal to see all of its output."):format(root, last)
  end
end

--- Installs the program. Runs in a coroutine.
---@return string? problem
---@return string? message
local function install(plan)
  local target = plan.target or M.target()
  local digest = target and plan.release.sha256[target]
  if digest then
    local problem = archive.install(plan, target, digest)
    return problem, ("Installed flemma %s in %s."):format(plan.release.version, vim.fs.joinpath(plan.root, "bin"))
  end
  return build(plan.root), "Built the host program."
end

--- Returns what the user has to do after an installation: a running host is still the old one.
local function next_step()
  local state = require("flemma.host").state()
  if state.channel then
    return " Run :Flemma restart to use it."
  end
  if state.problem then
    require("flemma.host").restart()
  end
  return ""
end

--- Installs the program in the background, and reports how it ended.
---@param plan? flemma.install.Plan Defaults to this plugin's.
---@param done? fun(problem: string?) Called at the end.
function M.start(plan, done)
  if running then
    return notices.notify({ level = "warn", message = "The host program is being installed already." })
  end
  running = true
  coroutine.wrap(function()
    local ok, problem, message = xpcall(install, debug.traceback, plan or default_plan())
    running = false
    if not ok or problem then
      notices.notify({ level = "error", message = tostring(problem) })
    else
      notices.notify({ level = "info", message = message .. next_step() })
    end
    if done then
      done(problem)
    end
  end)()
end

--- Returns true while an installation runs.
---@return boolean
function M.is_running()
  return running
end

return M
