--- What users call. Everything here forwards; nothing else is loaded until a chat
--- is open, or something is wrong with the options.
---@class flemma
local M = {}

-- What each option must be; the host's tests write it, see CONTRIBUTING.md.
-- The options:
-- stylua: ignore start
local PRESETS = { ["$default"] = true, ["$readonly"] = true, ["$shell-safe"] = true, ["$standard"] = true }
local SERVER = { "options", { api_key = "string", api_key_command = { "list", "string" }, base_url = "string", ca_file
  = "string", max_tokens = { "any", { "integer", 1 }, "share" }, temperature = { "number", 0, 2 }, thinking = { "any",
  { "choice", "minimal", "low", "medium", "high", "max" }, { "integer", 0 }, "off" }, cache_retention = { "choice",
  "none", "short", "long" }, timeout = { "number", 1, 86400 }, connect_timeout = { "number", 0.1, 86400 }, max_retries
  = { "integer", 0, 100 }, max_retry_wait = { "number", 0, 86400 } } }
local OPTIONS = { "options", { provider = { "choice", "anthropic", "openai", "gemini", "vertex", "local",
  "openai_compatible", "ollama", "llamacpp", "groq", "together", "openrouter", "deepseek", "moonshot", "tutor", "auto"
  }, model = "string", parameters = { "options", { max_tokens = { "any", { "integer", 1 }, "share" }, temperature = {
  "number", 0, 2 }, thinking = { "any", { "choice", "minimal", "low", "medium", "high", "max" }, { "integer", 0 },
  "off" }, cache_retention = { "choice", "none", "short", "long" }, timeout = { "number", 1, 86400 }, connect_timeout
  = { "number", 0.1, 86400 }, max_retries = { "integer", 0, 100 }, max_retry_wait = { "number", 0, 86400 },
  tool_protocol = { "choice", "auto", "native", "text" }, anthropic = { "options", { api_key = "string",
  api_key_command = { "list", "string" }, base_url = "string", ca_file = "string", max_tokens = { "any", { "integer",
  1 }, "share" }, temperature = { "number", 0, 2 }, thinking = { "any", { "choice", "minimal", "low", "medium",
  "high", "max" }, { "integer", 0 }, "off" }, cache_retention = { "choice", "none", "short", "long" }, timeout = {
  "number", 1, 86400 }, connect_timeout = { "number", 0.1, 86400 }, max_retries = { "integer", 0, 100 },
  max_retry_wait = { "number", 0, 86400 }, thinking_budget = { "integer", 1 } } }, openai = { "options", { api_key =
  "string", api_key_command = { "list", "string" }, base_url = "string", ca_file = "string", max_tokens = { "any", {
  "integer", 1 }, "share" }, temperature = { "number", 0, 2 }, thinking = { "any", { "choice", "minimal", "low",
  "medium", "high", "max" }, { "integer", 0 }, "off" }, cache_retention = { "choice", "none", "short", "long" },
  timeout = { "number", 1, 86400 }, connect_timeout = { "number", 0.1, 86400 }, max_retries = { "integer", 0, 100 },
  max_retry_wait = { "number", 0, 86400 }, reasoning = { "choice", "none", "minimal", "low", "medium", "high",
  "xhigh", "max" }, reasoning_summary = { "choice", "auto", "concise", "detailed", "none" } } }, gemini = { "options",
  { api_key = "string", api_key_command = { "list", "string" }, base_url = "string", ca_file = "string", max_tokens =
  { "any", { "integer", 1 }, "share" }, temperature = { "number", 0, 2 }, thinking = { "any", { "choice", "minimal",
  "low", "medium", "high", "max" }, { "integer", 0 }, "off" }, cache_retention = { "choice", "none", "short", "long"
  }, timeout = { "number", 1, 86400 }, connect_timeout = { "number", 0.1, 86400 }, max_retries = { "integer", 0, 100
  }, max_retry_wait = { "number", 0, 86400 }, thinking_budget = { "integer", 1 } } }, vertex = { "options", { api_key
  = "string", api_key_command = { "list", "string" }, base_url = "string", ca_file = "string", max_tokens = { "any", {
  "integer", 1 }, "share" }, temperature = { "number", 0, 2 }, thinking = { "any", { "choice", "minimal", "low",
  "medium", "high", "max" }, { "integer", 0 }, "off" }, cache_retention = { "choice", "none", "short", "long" },
  timeout = { "number", 1, 86400 }, connect_timeout = { "number", 0.1, 86400 }, max_retries = { "integer", 0, 100 },
  max_retry_wait = { "number", 0, 86400 }, thinking_budget = { "integer", 1 }, project_id = "string", location =
  "string" } }, ["local"] = { "options", { model_path = "string", server = "string", extra_args = { "list", "string"
  }, max_tokens = { "any", { "integer", 1 }, "share" }, temperature = { "number", 0, 2 }, thinking = { "any", {
  "choice", "minimal", "low", "medium", "high", "max" }, { "integer", 0 }, "off" }, cache_retention = { "choice",
  "none", "short", "long" }, timeout = { "number", 1, 86400 }, connect_timeout = { "number", 0.1, 86400 }, max_retries
  = { "integer", 0, 100 }, max_retry_wait = { "number", 0, 86400 } } }, openai_compatible = SERVER, ollama = SERVER,
  llamacpp = SERVER, groq = SERVER, together = SERVER, openrouter = SERVER, deepseek = SERVER, moonshot = SERVER } },
  models = { "map", { "options", { context = { "integer", 1 }, output = { "integer", 1 }, price = { "options", { input
  = { "number", 0, 1000000 }, output = { "number", 0, 1000000 }, cache_read = { "number", 0, 1000000 }, cache_write =
  { "number", 0, 1000000 }, cache_write_long = { "number", 0, 1000000 } } }, thinking = { "choice", "none", "budget",
  "levels" }, levels = { "list", "string" }, thinking_min = { "integer", 1 }, thinking_max = { "integer", 1 },
  thinking_off = "boolean", thinking_shown = "boolean", temperature = "boolean", tools = "boolean", images =
  "boolean", pdf = "boolean" } } }, presets = { "map", { "any", "string", "table" } }, tools = { "tools", {
  require_approval = "boolean", auto_approve = { "any", { "list", "string" }, "function", "module" }, presets = {
  "map", { "options", { approve = { "list", "string" }, deny = { "list", "string" } } } }, offer = { "list", "string"
  }, autopilot = { "options", { enabled = "boolean", max_turns = { "integer", 1 } } }, default_timeout = { "number",
  0.1, 86400 }, review_delay = { "integer", 0, 10000 }, max_concurrent = { "integer", 0 }, show_spinner = "boolean",
  cursor_after_result = { "choice", "result", "stay", "next" }, lock_buffer = "boolean", script_paths = { "list",
  "string" }, script_libraries = { "list", "string" }, bash = { "options", { shell = "string", cwd = "string", env = {
  "map", "string" }, allow = { "list", "string" }, deny = { "list", "string" }, unlisted = { "choice", "ask", "deny" }
  } }, http_get = { "options", { allow = { "list", "string" } } } } }, sandbox = { "options", { enabled = "boolean",
  backend = { "choice", "auto", "required", "bwrap" }, sockets = { "list", "string" }, env = { "list", "string" },
  reveal = { "list", "string" }, policy = { "options", { rw_paths = { "list", "string" }, network = "boolean",
  allow_privileged = "boolean" } }, backends = { "options", { bwrap = { "options", { path = "string", extra_args = {
  "list", "string" } } } } } } }, mcp = { "options", { servers = { "map", { "options", { command = { "any", "string",
  { "list", "string" } }, args = { "list", "string" }, env = { "map", "string" }, cwd = "string", url = "string",
  headers = { "map", "string" }, timeout = { "integer", 1 }, type = { "choice", "stdio", "http" } } } }, project =
  "boolean" } }, trust = { "options", { frontmatter = { "choice", "ask", "always" }, unrecognized_calls = { "choice",
  "review", "policy" } } }, ui = { "options", { usage = { "any", { "integer", 1, 3600 }, "off" }, bell = { "any", {
  "choice", "bell", "osc9" }, "off" } } }, folds = { "options", { enabled = "boolean", closed = { "list", { "choice",
  "frontmatter", "message", "thinking", "tool_use", "tool_result" } } } }, keymaps = { "options", { enabled =
  "boolean", normal = { "options", { send = { "any", "string", "off" }, tool_execute = { "any", "string", "off" },
  approve_all = { "any", "string", "off" }, reject = { "any", "string", "off" }, cancel = { "any", "string", "off" } }
  }, insert = { "options", { send = { "any", "string", "off" } } } } }, highlights = { "map", { "any", "string",
  "table" } }, host = { "options", { path = "string", log = "string" } } } }
-- stylua: ignore end
-- End.

---@type flemma.Options What the user gave to `setup()`, as it was given.
M.options = {}
---@type table The part of it that fits.
M.fitting = {}

local MANY = 2 ^ 32 - 1 -- where a whole number ends that has no end of its own

---@alias flemma.Report fun(kind: any, value: any, path: string, name: string?)

local fits

--- Kinds that have parameters.
---@type table<string, fun(kind: any[], value: any, path: string, report: flemma.Report): boolean>
local KINDS = {
  choice = function(kind, value)
    for index = 2, #kind do
      if kind[index] == value then
        return true
      end
    end
    return false
  end,
  number = function(kind, value)
    return type(value) == "number" and value >= kind[2] and value <= kind[3]
  end,
  integer = function(kind, value)
    return type(value) == "number" and value % 1 == 0 and value >= kind[2] and value <= (kind[3] or MANY)
  end,
  any = function(kind, value)
    for index = 2, #kind do
      if fits(kind[index], value) then
        return true
      end
    end
    return false
  end,
  list = function(kind, value)
    local count = 0
    for _, item in pairs(type(value) == "table" and value or {}) do
      count = count + 1
      if value[count] == nil or not fits(kind[2], item) then
        return false
      end
    end
    return type(value) == "table"
  end,
}

--- Whether a value is of a kind. What a table may hold is looked at by `fitting`.
function fits(kind, value)
  if type(kind) == "table" then
    local check = KINDS[kind[1]]
    return not check and type(value) == "table" or check ~= nil and check(kind, value)
  elseif kind == "off" then
    return value == false
  elseif kind == "module" then
    return type(value) == "string" and value:find(".", 1, true) ~= nil
  elseif kind == "share" then
    local percents = type(value) == "string" and tonumber(value:match("^(%d+)%%$"))
    return percents and percents >= 1 and percents <= 100
  end
  return type(value) == kind
end

--- Reports the numbers in a table of the user's own form that are none: on the way to
--- the host they would be lost.
---@param value any
---@param path string
---@param report flemma.Report
---@param depth integer How deep it is, so that a table that holds itself ends.
local function check_numbers(value, path, report, depth)
  if type(value) == "number" and (value ~= value or math.abs(value) == math.huge) then
    report("finite", value, path)
  elseif type(value) == "table" and depth < 32 then
    for name, item in pairs(value) do
      check_numbers(item, path .. tostring(name) .. ".", report, depth + 1)
    end
  end
end

--- The part of a value that is of its kind.
---@param kind any See OPTIONS.
---@param value any
---@param path string The option's name, ending in a dot; empty for all options.
---@param report flemma.Report Hears of every other part.
local function fitting(kind, value, path, report)
  if not fits(kind, value) then
    report(kind, value, path)
    return nil
  end
  local word = type(kind) == "table" and kind[1]
  if word ~= "options" and word ~= "tools" and word ~= "map" then
    check_numbers(value, path, report, 0)
    return value
  end
  local part = {}
  for name, item in pairs(value) do
    local inner = word == "map" and kind[2] or kind[2][name]
    if inner == nil then
      report(kind, item, path, tostring(name))
      check_numbers(word == "tools" and item or nil, path .. tostring(name) .. ".", report, 0)
    else
      part[name] = fitting(inner, item, path .. tostring(name) .. ".", report)
    end
  end
  return part
end

--- Reports the presets in the rules that nothing has. Which tools there are only the
--- host knows.
---@param tools table The part of `tools` that fits.
---@param report flemma.Report
local function check_names(tools, report)
  local presets = vim.tbl_extend("force", PRESETS, tools.presets or {})
  local function look(names, path, known)
    for _, name in ipairs(type(names) == "table" and names or {}) do
      if name:sub(1, 1) == "$" and not known[name] then
        report({ "name", known }, name, path)
      end
    end
  end
  look(tools.auto_approve, "tools.auto_approve.", presets)
  for preset, lists in pairs(tools.presets or {}) do
    look(lists.approve, ("tools.presets.%s.approve."):format(preset), {})
    look(lists.deny, ("tools.presets.%s.deny."):format(preset), {})
  end
end

--- Keeps the options. They are read when the first `.chat` is opened; a later
--- call replaces them in a running host too. What is wrong with them is told here,
--- where it is known who called.
---@param options? flemma.Options See |flemma-options|.
function M.setup(options)
  options = options == nil and {} or options
  local wrong = {}
  local function report(...)
    wrong[#wrong + 1] = { ... }
  end
  local part = fitting(OPTIONS, options, "", report)
  if part and part.tools then
    check_names(part.tools, report)
  end
  M.options, M.fitting = type(options) == "table" and options or {}, part or {}
  if #wrong > 0 then
    require("flemma.check").tell(wrong, debug.getinfo(2, "Sl"))
  end
  local buffer = package.loaded["flemma.buffer"]
  if buffer then
    buffer.configure()
  end
end

--- What the host has to say about the current buffer, for a status line.
---@return string text Empty when there is nothing to say.
function M.statusline()
  local notices = package.loaded["flemma.notices"]
  return notices and notices.text(vim.api.nvim_get_current_buf()) or ""
end

return M
