--- `:checkhealth flemma`. Reports and changes nothing.
---@class flemma.health
local M = {}

local BUILD = "Run `cargo build --release` in the plugin's folder."

--- Environment variables that hold keys; only whether they are set is shown.
local KEYS = { "ANTHROPIC_API_KEY", "OPENAI_COMPATIBLE_API_KEY" }

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
    vim.health.error(("There is no host program at %s, so nothing can be sent."):format(path), BUILD)
    return
  end
  local ok, result = pcall(function()
    return vim.system({ path, "--version" }, { text = true, timeout = 2000 }):wait()
  end)
  if ok and result.code == 0 then
    vim.health.ok(("Host program: %s (%s)."):format(path, vim.trim(result.stdout)))
  else
    vim.health.error(("The host program %s does not run."):format(path), BUILD)
  end
end

local function check_host()
  vim.health.start("Host")
  local host, protocol = require("flemma.host"), require("flemma.protocol")
  check_binary(host.binary())
  local state = host.state()
  if state.welcome then
    vim.health.ok(
      ("Running, process %d, version %s, protocol %s of %d."):format(
        vim.fn.jobpid(state.channel),
        state.welcome.version,
        state.welcome.protocol,
        protocol.VERSION
      )
    )
  elseif state.channel then
    vim.health.warn("Started, but it has not answered yet.")
  elseif state.problem then
    vim.health.error(state.problem)
  else
    vim.health.info("Not running. It starts with the first chat.")
  end
  vim.health.info(("Restarts since Neovim started: %d."):format(state.restarts))
  vim.health.info("What holds commands, or why nothing does: `:Flemma sandbox:status`.")
  vim.health.info("Log: " .. require("flemma.config").get().host.log)
end

local function check_keys()
  vim.health.start("Keys of providers")
  local found = false
  for _, name in ipairs(KEYS) do
    if (vim.env[name] or "") ~= "" then
      vim.health.ok("$" .. name .. " is set.")
      found = true
    end
  end
  if not found then
    vim.health.info("No key is set. A local server or :Flemma tutor works without one.")
  end
end

--- Runs all checks.
function M.check()
  check_neovim()
  check_host()
  check_keys()
end

return M
