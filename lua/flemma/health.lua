--- `:checkhealth flemma`.
---@class flemma.health
local M = {}

local INSTALL = "Run `:Flemma install`."
--- Longest wait for the host program, which itself waits 3 s for a provider and 5 s for servers.
local PATIENCE_MS = 12000

--- Returns true if the program runs and belongs to this plugin.
local function check_binary(path)
  if vim.fn.executable(path) == 0 then
    vim.health.error(("There is no host program at %s, so nothing can be sent."):format(path), INSTALL)
    return false
  end
  local ok, result = pcall(function()
    return vim.system({ path, "--version" }, { text = true, timeout = 2000 }):wait()
  end)
  if not ok or result.code ~= 0 then
    vim.health.error(("The host program %s does not run."):format(path), INSTALL)
    return false
  end
  local said, wanted = vim.trim(result.stdout), require("flemma.release").version
  local version = said:match("^flemma (%S+)")
  if version ~= wanted then
    local text = "The host program %s is version %s, and the plugin is version %s."
    vim.health.error(text:format(path, version or said, wanted), INSTALL .. " Then run `:Flemma restart`.")
    return false
  end
  vim.health.ok(("Host program: %s (%s)."):format(path, said))
  return true
end

---@return boolean works Whether the host program runs and belongs to this plugin.
local function check_host()
  vim.health.start("Host")
  local host, protocol = require("flemma.host"), require("flemma.protocol")
  local works = check_binary(host.binary())
  local state = host.state()
  if state.welcome then
    local process, welcome = vim.fn.jobpid(state.channel), state.welcome
    local text = "Running, process %d, version %s, protocol %s of %d."
    vim.health.ok(text:format(process, welcome.version, welcome.protocol, protocol.VERSION))
  elseif state.channel then
    vim.health.warn("Started, but it has not answered yet.", "Wait a moment and run `:checkhealth flemma` again.")
  elseif state.problem then
    vim.health.error(state.problem)
  else
    vim.health.info("Not running. It starts with the first chat.")
  end
  vim.health.info(("Restarts since Neovim started: %d."):format(state.restarts))
  vim.health.info("Log: " .. require("flemma.config").get().host.log)
  return works
end

--- Reports what the host program finds: options, providers, the sandbox, MCP servers, and the
--- state folder.
---@param path string The host program.
local function check_by_host(path)
  local ok, result = pcall(function()
    local given = vim.json.encode(require("flemma.config").plain(require("flemma").given))
    return vim.system({ path, "health", "--json" }, { text = true, stdin = given, timeout = PATIENCE_MS }):wait()
  end)
  if not ok or result.code ~= 0 then
    vim.health.start("Options")
    vim.health.error("The host program could not check the options, keys, and folders.", INSTALL)
    return
  end
  for line in vim.gsplit(result.stdout, "\n", { trimempty = true }) do
    local finding = vim.json.decode(line)
    -- Neovim makes a link of what follows `:help`, with the quote behind it.
    local fix = finding.fix and finding.fix:gsub("`:help ([^%s`]+)`", "|%1|") or nil
    vim.health[finding.level](finding.text, fix)
  end
end

--- Runs all checks.
function M.check()
  local editor = require("flemma.health.editor")
  editor.check_version()
  editor.check_behavior()
  if check_host() then
    check_by_host(require("flemma.host").binary())
  end
  editor.check_parsers()
  editor.check_terminal()
end

return M
