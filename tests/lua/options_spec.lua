--- What `setup()` says to options that are wrong, and what it makes of the rest.
-- luacheck: globals test same

local config = require("flemma.config")
local flemma = require("flemma")
local notices = require("flemma.notices")

--- Gives options to `setup()`.
---@param options any
---@return string told The one message; empty when there was none.
local function told(options)
  local messages, notify = {}, notices.notify
  notices.notify = function(message)
    messages[#messages + 1] = message.message
  end
  local ok, why = pcall(flemma.setup, options)
  notices.notify = notify
  assert(ok, why)
  assert(#messages < 2, "more than one message")
  return messages[1] or ""
end

---@param text string
---@param part string
local function contains(text, part)
  assert(text:find(part, 1, true), ("%q does not contain %q"):format(text, part))
end

test("a kind of fold that there is none of gets the near name", function()
  local text = told({ folds = { closed = { "message", "thnking" } } })
  contains(text, 'folds.closed: nothing is named "thnking". Did you mean "thinking"?')
  contains(told({ folds = { closed = { "x" } } }), 'folds.closed: nothing is named "x".')
  contains(told({ folds = { closed = "thinking" } }), 'folds.closed is "thinking"; it must be a list of "frontmatter",')
end)

test("numbers that are none are named, wherever they are", function()
  local itself = {}
  itself.itself = itself
  for _, case in ipairs({
    { { parameters = { timeout = math.huge } }, "parameters.timeout is inf; it must be a number from 1 to 86400." },
    { { parameters = { temperature = 0 / 0 } }, "parameters.temperature is " },
    { { parameters = { max_tokens = math.huge } }, "parameters.max_tokens is inf;" },
    { { parameters = { max_tokens = 2 ^ 60 } }, "parameters.max_tokens is 1.15" },
    { { models = { x = { price = { input = -math.huge } } } }, "models.x.price.input is -inf;" },
    { { mcp = { servers = { x = { timeout = math.huge } } } }, "mcp.servers.x.timeout is inf;" },
    {
      { presets = { ["$x"] = { provider = "openai", temperature = math.huge } } },
      "presets.$x.temperature is inf; it must be a finite number. These options keep their defaults.",
    },
    {
      { presets = { ["$x"] = { stop = { 1, -math.huge } } } },
      "presets.$x.stop.2 is -inf; it must be a finite number.",
    },
    {
      { tools = { mine = { deep = { math.huge } } } },
      "tools.mine.deep.1 is inf; it must be a finite number. These options keep their defaults.",
    },
  }) do
    contains(told(case[1]), case[2])
  end
  same(told({ tools = { mine = itself } }), "")
  same(told({ presets = { ["$x"] = { temperature = 1e300 } } }), "")
end)

test("options that are right are taken without a word, and nothing is loaded for them", function()
  package.loaded["flemma.check"] = nil
  package.preload["my.module"] = function()
    return {}
  end
  local options = {
    provider = "auto",
    model = "m",
    parameters = { temperature = 0, thinking = false, anthropic = { thinking_budget = 2000, api_key = "k" } },
    tools = {
      auto_approve = { "$readonly", "calculator", "my.module" },
      presets = { ["$x"] = { approve = { "bash" }, deny = {} } },
      autopilot = { max_turns = 5 },
      bash = { env = { A = "b" } },
    },
    trust = { frontmatter = "always" },
    keymaps = { normal = { send = false } },
    highlights = { user = { bold = true }, tool_preview = "NonText" },
  }
  same(told(options), "")
  same(package.loaded["flemma.check"], nil)
  same(told({ tools = { export = { max_size = 1 }, auto_approve = function() end } }), "")
  same(told({ tools = { auto_approve = "my.module" } }), "")
  same(told(nil), "")
  package.preload["my.module"] = nil
end)

test("a name in the rules that nothing has is told, unless a tool may come that has it", function()
  local rows = {
    { { auto_approve = { "$readnly" } }, 'tools.auto_approve: nothing is named "$readnly". Did you mean "$readonly"?' },
    { { presets = { ["$x"] = { approve = { "$default" } } } }, 'nothing is named "$default".' },
    { { presets = { ["$yolo"] = {} }, auto_approve = { "$yol" } }, 'Did you mean "$yolo"?' },
  }
  for _, row in ipairs(rows) do
    local text = told({ tools = row[1] })
    contains(text, row[2])
    contains(text, "Until the tools options are right, every call waits for you.")
  end
  same(told({ tools = { auto_approve = { "web_search", "task", "$x" }, presets = { ["$x"] = {} } } }), "")
end)

test("a slip is told with what was meant", function()
  local text = told({ modle = "m" })
  contains(text, 'There is no option "modle". Did you mean "model"?')
  contains(text, "These options keep their defaults.")
end)

test("each wrong value is told with what it must be", function()
  local rows = {
    {
      { provider = "antropic" },
      'provider is "antropic"; it must be "anthropic", "openai", "gemini"',
    },
    { { parameters = { temperature = 3 } }, "parameters.temperature is 3; it must be a number from 0 to 2." },
    { { parameters = { anthropc = {} } }, 'There is no option "parameters.anthropc". Did you mean "anthropic"?' },
    { { parameters = { thinking = true } }, '"high" or "max", a whole number from 0 or false.' },
    { { tools = { max_concurrent = 1.5 } }, "tools.max_concurrent is 1.5; it must be a whole number from 0." },
    { { tools = { auto_approve = "read" } }, "a list of strings, a function or the path of a module." },
    { { tools = { auto_approve = { "read", 3 } } }, "a list of strings" },
    {
      { tools = { presets = { ["$x"] = { aprove = {} } } } },
      'There is no option "tools.presets.$x.aprove". Did you mean "approve"?',
    },
    { { tools = { bash = { env = { A = 1 } } } }, "tools.bash.env.A is 1; it must be a string." },
    { { tools = { autopliot = {} } }, 'Did you mean "autopilot"?' },
    { { tools = 3 }, "tools is 3; it must be a table." },
    { { keymaps = { enabled = "yes" } }, 'keymaps.enabled is "yes"; it must be true or false.' },
    { { keymaps = { normal = { send = true } } }, "keymaps.normal.send is true; it must be a string or false." },
    { { model = function() end }, "model is a function; it must be a string." },
    { 3, "what setup() was given is 3; it must be a table." },
  }
  for _, row in ipairs(rows) do
    contains(told(row[1]), row[2])
  end
end)

test("with a mistake in tools the user knows that every call waits", function()
  contains(told({ tools = { auto_aprove = {} } }), "every call waits for you")
  contains(told({ toolz = {} }), "every call waits for you")
end)

test("a key is not shown, also when it is wrong", function()
  local text = told({ parameters = { anthropic = { api_key = { "s3cret" } } } })
  contains(text, "parameters.anthropic.api_key is a table")
  assert(not text:find("s3cret", 1, true))
end)

test("what is right beside a slip counts, and what is wrong keeps its default", function()
  told({ keymaps = { enabled = "yes", normal = { send = "<C-s>" } } })
  config.load(flemma.fitting)
  same(config.get().keymaps, {
    enabled = true,
    normal = {
      send = "<C-s>",
      tool_execute = "<M-CR>",
      approve_all = "<M-a>",
      reject = "<M-r>",
      cancel = "<C-c>",
    },
    insert = { send = "<C-]>" },
  })
  told({})
  config.load({})
end)
