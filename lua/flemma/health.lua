--- `:checkhealth flemma`.
---@class flemma.health
local M = {}

local INSTALL = "Run `:Flemma install`."

local function check_neovim()
  vim.health.start("Neovim")
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.ok("Version " .. tostring(vim.version()) .. ".")
  else
    vim.health.error("Version " .. tostring(vim.version()) .. " is too old.", "Install Neovim 0.11 or later.")
  end
end

---@param path string
local function check_binary(path)
  if vim.fn.executable(path) == 0 then
    vim.health.error(("There is no host program at %s, so nothing can be sent."):format(path), INSTALL)
    return
  end
  local ok, result = pcall(function()
    return vim.system({ path, "--version" }, { text = true, timeout = 2000 }):wait()
  end)
  if ok and result.code == 0 then
    vim.health.ok(("Host program: %s (%s)."):format(path, vim.trim(result.stdout)))
  else
    vim.health.error(("The host program %s does not run."):format(path), INSTALL)
  end
end

local function check_host()
  vim.health.start("Host")
  local host, protocol = require("flemma.host"), require("flemma.protocol")
  check_binary(host.binary())
  local state = host.state()
  if state.welcome then
    local process, welcome = vim.fn.jobpid(state.channel), state.welcome
    local text = "Running, process %d, version %s, protocol %s of %d."
    vim.health.ok(text:format(process, welcome.version, welcome.protocol, protocol.VERSION))
  elseif state.channel then
    vim.health.warn("Started, but it has not answered yet.")
  elseif state.problem then
    vim.health.error(state.problem)
  else
    vim.health.info("Not running. It starts with the first chat.")
  end
  vim.health.info(("Restarts since Neovim started: %d."):format(state.restarts))
  vim.health.info("Sandbox: see `:Flemma sandbox:status`.")
  vim.health.info("Log: " .. require("flemma.config").get().host.log)
end

--- Reports on options and providers, as the host program validates them.
---@param path string The host program.
local function check_options(path)
  local ok, result = pcall(function()
    local given = vim.json.encode(require("flemma.config").plain(require("flemma").given))
    return vim.system({ path, "health" }, { text = true, stdin = given, timeout = 2000 }):wait()
  end)
  if not ok or result.code ~= 0 then
    vim.health.start("Options")
    vim.health.warn("The host program could not validate the options.", INSTALL)
    return
  end
  for line in vim.gsplit(result.stdout, "\n", { trimempty = true }) do
    local finding = vim.json.decode(line)
    vim.health[finding.level](finding.text, finding.fix)
  end
end

--- Runs all checks.
function M.check()
  check_neovim()
  check_host()
  check_options(require("flemma.host").binary())
end

return M
