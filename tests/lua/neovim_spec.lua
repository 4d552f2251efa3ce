--- What the plugin relies on in Neovim beyond its documentation, and messages through notifiers.
-- luacheck: globals test same

local neovim = require("flemma.neovim")
local notices = require("flemma.notices")

local api = vim.api
local root = require("flemma.host").root()

test("this Neovim behaves as the plugin expects", function()
  -- In another process, because the probes change where they run.
  local script = vim.fn.tempname() .. ".lua"
  vim.fn.writefile({
    ("vim.opt.runtimepath:prepend(%q)"):format(root),
    'io.stdout:write(vim.json.encode(require("flemma.neovim").probe()))',
  }, script)
  local ended = vim.system({ vim.v.progpath, "--clean", "--headless", "-l", script }, { text = true }):wait()
  local results = vim.json.decode(ended.stdout)
  same(#results, #neovim.RELIANCES)
  local wrong = {}
  for index, reliance in ipairs(neovim.RELIANCES) do
    if not results[index] then
      wrong[#wrong + 1] = reliance.name
    end
  end
  same(wrong, {})
end)

test("a probe that fails or is false is reported as such", function()
  local reliances = neovim.RELIANCES
  neovim.RELIANCES = {
    { name = "fails", without = "", probe = error },
    {
      name = "is false",
      without = "",
      probe = function()
        return false
      end,
    },
    {
      name = "is true",
      without = "",
      probe = function()
        return true
      end,
    },
  }
  local results = neovim.probe()
  neovim.RELIANCES = reliances
  same(results, { false, false, true })
end)

--- Private names of Neovim: modules of its runtime, `nvim__` functions, and its source files.
local PRIVATE = {
  "nvim__",
  "vim%._%a",
  "vim/_",
  "_extui",
  'require%("vim[%.")]',
  'loaded%["vim[%."]',
  "undotree%([^)]*%)%.synced",
  "debug%.getinfo%(vim",
  "debug%.getupvalue",
  "vim%.F%.",
}

test("private names of Neovim are in neovim.lua only", function()
  local found = {}
  for _, folder in ipairs({ "lua", "plugin", "scripts", "tests" }) do
    for name, kind in vim.fs.dir(root .. "/" .. folder, { depth = 9 }) do
      local is_other = not vim.list_contains({ "flemma/neovim.lua", "lua/neovim_spec.lua" }, name)
      if kind == "file" and vim.endswith(name, ".lua") and is_other then
        for number, line in ipairs(vim.fn.readfile(vim.fs.joinpath(root, folder, name))) do
          for _, private in ipairs(PRIVATE) do
            if line:find(private) then
              found[#found + 1] = ("%s/%s:%d: %s"):format(folder, name, number, vim.trim(line))
            end
          end
        end
      end
    end
  end
  same(found, {})
end)

local own = vim.notify
--- Too wide for one line, with what a pattern would treat as special.
local WIDE = ("A wide message (100%). "):rep(20)

--- Gives the notifier a message, waits until it was shown, and returns what reached the user's
--- screen by `nvim_echo`, and what we showed.
---@param notifier fun(text: string, level?: integer, options?: table): any
---@param text string
---@return { echoed: string[], shown: string[] }
local function passes(notifier, text)
  local real = api.nvim_echo
  local result = { echoed = {}, shown = {} }
  local function record(chunks)
    table.insert(result.echoed, chunks[1][1])
  end
  api.nvim_echo = record
  neovim.notify(notifier, function(shown)
    table.insert(result.shown, shown)
  end, text, vim.log.levels.WARN)
  vim.wait(1000, function()
    return #result.shown + #result.echoed > 0
  end, 1)
  -- A message that comes late leaves the replacement for a moment.
  api.nvim_echo = real
  return result
end

test("a message that Neovim's own notifier gets is shown by us", function()
  same(passes(own, WIDE), { echoed = {}, shown = { WIDE } })
  same(passes(own, "short"), { echoed = {}, shown = { "short" } })
end)

test("so is one that passes through other notifiers", function()
  local function decorates(text, ...)
    own("[12:00] " .. text, ...)
  end
  same(passes(decorates, "short"), { echoed = {}, shown = { "[12:00] short" } })
  same(passes(vim.schedule_wrap(own), WIDE), { echoed = {}, shown = { WIDE } })
  same(passes(vim.schedule_wrap(decorates), WIDE), { echoed = {}, shown = { "[12:00] " .. WIDE } })
  local function delays(...)
    local arguments = { ... }
    vim.defer_fn(function()
      own(unpack(arguments))
    end, 5)
  end
  same(passes(delays, WIDE), { echoed = {}, shown = { WIDE } })
end)

test("a message that fits may come late by itself", function()
  same(passes(vim.schedule_wrap(own), "short"), { echoed = { "short" }, shown = {} })
end)

test("a message whose notifier fails is shown by us", function()
  same(passes(error, "short"), { echoed = {}, shown = { "short" } })
end)

test("a notifier of the user's gets the message once, and its other messages stay", function()
  local got = {}
  local result = passes(function(text, level)
    got[#got + 1] = { text, level }
    api.nvim_echo({ { "something else" } }, false, {})
  end, "short")
  same(got, { { "short", vim.log.levels.WARN } })
  same(result, { echoed = { "something else" }, shown = {} })
end)

test("nvim_echo is as before afterwards", function()
  local real = api.nvim_echo
  passes(own, "short")
  passes(error, "short")
  same(api.nvim_echo, real)
end)

test("a tool's messages go the same way, also what is not text", function()
  local real, got = vim.notify, {}
  vim.notify = function(text)
    got[#got + 1] = text
    return "a handle"
  end
  local inside
  local ok, handle = notices.quietly(function()
    inside = vim.notify
    vim.notify({ "a", "list" })
    vim.notify("")
    return vim.notify("text")
  end)
  same({ ok, handle, got }, { true, "a handle", { { "a", "list" }, "", "text" } })
  same(inside ~= vim.notify, true)
  vim.notify = real
end)

test("a message of several lines is one line on the screen, and has its lines for a notifier", function()
  vim.cmd("messages clear")
  notices.notify({ message = "Two files:\na\27.md\nb.md" })
  vim.wait(1000, function()
    return vim.fn.execute("messages") ~= ""
  end)
  same(vim.trim(vim.fn.execute("messages")), "Flemma: Two files: a^[.md b.md")
  local real, got = vim.notify, nil
  vim.notify = function(text)
    got = text
  end
  notices.notify({ message = "Two files:\na\27.md\nb.md" })
  vim.notify = real
  same(got, "Flemma: Two files:\na^[.md\nb.md")
end)

--- Returns what a check of the health reports.
---@param check fun()
---@return string[] lines "level text".
local function reported(check)
  local real, lines = {}, {}
  for _, level in ipairs({ "start", "ok", "info", "warn", "error" }) do
    real[level] = vim.health[level]
    vim.health[level] = function(text)
      lines[#lines + 1] = level .. " " .. text
    end
  end
  check()
  for level, report in pairs(real) do
    vim.health[level] = report
  end
  return lines
end

test("the health check warns about a Neovim that is newer than what was tested", function()
  local check, tested = require("flemma.health.editor").check_version, neovim.TESTED
  local version = tostring(vim.version())
  for newest, expected in pairs({
    ["0.11.0"] = ("warn Version %s; tested with 0.1.0, 0.11.0. It is newer than what was tested."):format(version),
    ["99.0.0"] = ("ok Version %s; tested with 0.1.0, 99.0.0."):format(version),
  }) do
    neovim.TESTED = { "0.1.0", newest }
    same(reported(check)[2], expected)
  end
  neovim.TESTED = tested
end)

test("README and help name the tested versions", function()
  for _, file in ipairs({ "README.md", "doc/flemma.txt" }) do
    local text = table.concat(vim.fn.readfile(vim.fs.joinpath(root, file)), " ")
    for _, version in ipairs(neovim.TESTED) do
      same({ file, version, text:find(version, 1, true) ~= nil }, { file, version, true })
    end
  end
end)

test("the health check says what does not work if a behavior is missing", function()
  local reliances = neovim.RELIANCES
  local check = require("flemma.health.editor").check_behavior
  local lines = reported(check)
  same(lines, { ("ok Behaves as expected in all %d points that are not documented."):format(#reliances) })
  -- The new Neovim runs the probes of the file, in the same order.
  local spawn = vim.system
  vim.system = function()
    local results = vim.tbl_map(function()
      return true
    end, reliances)
    results[1] = false
    return {
      wait = function()
        return { stdout = vim.json.encode(results) }
      end,
    }
  end
  lines = reported(check)
  vim.system = spawn
  same(lines, { ("warn Not true of this Neovim: %s %s"):format(reliances[1].name, reliances[1].without) })
end)
