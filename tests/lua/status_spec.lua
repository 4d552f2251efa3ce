--- The state of a chat above its windows and in status lines.
-- luacheck: globals test same

local chat = require("chat")
local status = require("flemma.status")

local api = vim.api

--- Describes a chat that does nothing, with these changes.
---@param buffer integer
---@param changes? table
local function shown(buffer, changes)
  local message = {
    buffer = buffer,
    text = "",
    provider = "anthropic",
    model = "claude-sonnet-4-6",
    phase = "idle",
    doing = "idle",
    running = 0,
    waiting = 0,
    queued = 0,
    sums = {},
    tokens = "",
    cost = "",
    plan = false,
    nearly_full = false,
  }
  chat.host("statusline", vim.tbl_extend("force", message, changes or {}))
end

local BUSY = {
  phase = "running",
  doing = "running 2 calls",
  running = 2,
  elapsed_ms = 125000,
  tokens = "12.3k in, 2140 out",
  cost = "$0.04",
  context = 45,
}

--- What Neovim draws for the winbar of the current window.
---@return string
local function drawn()
  local evaluated = api.nvim_eval_statusline(vim.wo.winbar, { winid = 0, use_winbar = true, highlights = true })
  return (evaluated.str:gsub("%s+$", ""))
end

--- The highlight groups of the winbar, from left to right.
---@return string[]
local function groups()
  local evaluated = api.nvim_eval_statusline(vim.wo.winbar, { winid = 0, use_winbar = true, highlights = true })
  return vim.tbl_map(function(it)
    return it.group or it.groups[#it.groups]
  end, evaluated.highlights)
end

test("a timer runs only while something happens", function()
  local buffer = chat.new({ "@You:" })
  local real, timers = vim.uv.new_timer, {}
  vim.uv.new_timer = function()
    local timer = { running = false }
    function timer.start(it, _, _, tick)
      it.running, it.tick = true, tick
    end
    function timer.close(it)
      it.running = false
    end
    timers[#timers + 1] = timer
    return timer
  end
  local function ticked(running)
    timers[1].tick()
    return vim.wait(1000, function()
      return timers[1].running == running
    end, 1)
  end

  shown(buffer)
  same(#timers, 0)
  shown(buffer, BUSY)
  shown(buffer, BUSY)
  -- vim.wait() of Neovim 0.13 needs a real one.
  vim.uv.new_timer = real
  same(#timers, 1)
  same(ticked(true), true)
  shown(buffer)
  same(ticked(false), true)
end)

test("a chat is described by one line", function()
  local buffer = chat.new({ "@You:" })
  same(status.line(), "")
  shown(buffer)
  same(status.line(), "anthropic claude-sonnet-4-6 · idle")
  shown(buffer, BUSY)
  same(
    status.line(),
    "anthropic claude-sonnet-4-6 · running 2 calls 2m05s · 12.3k in, 2140 out · $0.04 · context 45 %"
  )
end)

test("what matters least is left out of a narrow line first", function()
  local buffer = chat.new({ "@You:" })
  shown(buffer, vim.tbl_extend("force", BUSY, { plan = true, queued = 1 }))
  for room, expected in pairs({
    [120] = "plan · anthropic claude-sonnet-4-6 · running 2 calls 2m05s · 1 queued · 12.3k in, 2140 out · $0.04 · context 45 %",
    [80] = "plan · claude-sonnet-4-6 · running 2 calls 2m05s · $0.04 · context 45 %",
    [64] = "plan · claude-sonnet-4-6 · running 2 calls 2m05s · context 45 %",
    [40] = "claude-sonnet-4-6 · running 2 calls",
    [20] = "running 2 calls",
  }) do
    same(status.line(buffer, room), expected)
  end
end)

test("a window of a chat has a winbar that fits its width", function()
  local buffer = chat.new({ "@You:" })
  status.show_winbar(buffer)
  shown(buffer, BUSY)
  same(vim.list_contains(groups(), "FlemmaWinbarWarning"), false)
  same(drawn(), " anthropic claude-sonnet-4-6       running 2 calls 2m05s · $0.04 · context 45 %")
  shown(buffer, { context = 95, nearly_full = true })
  same(vim.list_contains(groups(), "FlemmaWinbarWarning"), true)
end)

test("two windows on one chat each have a winbar of their own width", function()
  local buffer = chat.new({ "@You:" })
  status.show_winbar(buffer)
  shown(buffer, BUSY)
  vim.cmd("vsplit | vertical resize 30")
  same(drawn(), "        running 2 calls 2m05s")
  vim.cmd("wincmd p")
  same(drawn(), " claude-sonnet-4-6         running 2 calls 2m05s")
  vim.cmd("only")
end)

test("the winbar says that there is no host program", function()
  local buffer = chat.new({ "@You:" })
  status.show_winbar(buffer)
  local host = require("flemma.host")
  local state, problem = host.state, nil
  host.state = function()
    return { problem = problem, restarts = 0 }
  end
  same(drawn(), "")
  problem = "There is no host program."
  same(drawn(), " not connected; see :checkhealth flemma")
  host.state = state
  vim.wo[0][0].winbar = ""
end)

test("a winbar of the user stays", function()
  local buffer = chat.new({ "@You:" })
  vim.wo.winbar = "mine"
  status.show_winbar(buffer)
  same(vim.wo.winbar, "mine")
  vim.wo.winbar = ""
end)

test("another buffer in the window of a chat has no winbar", function()
  local buffer = chat.new({ "@You:" })
  status.show_winbar(buffer)
  same(vim.wo.winbar ~= "", true)
  vim.cmd("enew")
  same(vim.wo.winbar, "")
  api.nvim_set_current_buf(buffer)
  same(vim.wo.winbar ~= "", true)
  vim.wo[0][0].winbar = ""
end)

test("the option ui.winbar removes the winbar", function()
  local buffer = chat.new({ "@You:" })
  local config = require("flemma.config")
  status.show_winbar(buffer)
  config.load({ ui = { winbar = false } })
  status.configure({ [buffer] = {} })
  same(vim.wo.winbar, "")
  config.load({})
end)

test("names of models cannot change a winbar", function()
  local buffer = chat.new({ "@You:" })
  status.show_winbar(buffer)
  shown(buffer, { provider = "", model = "%{execute('q')}\n%#Error#" })
  same(drawn(), " %{execute('q')}^J%#Error#" .. (" "):rep(49) .. "idle")
  vim.wo[0][0].winbar = ""
end)

test("the lualine component shows a chat and nothing else", function()
  local Component = {}
  Component.__index = Component
  function Component:extend()
    local class = setmetatable({ super = self }, { __index = self })
    class.__index = class
    return class
  end
  function Component:init(options)
    self.options = options
  end
  function Component.create_hl(_, color, hint)
    return ("<%s %s>"):format(hint, color.fg)
  end
  function Component.format_hl(_, token)
    return token
  end
  package.loaded["lualine.component"] = Component
  api.nvim_set_hl(0, "FlemmaWinbarWarning", { fg = "#ff0000" })
  local class = require("lualine.components.flemma")
  local component = setmetatable({}, class)
  component:init({ width = 40 })

  local buffer = chat.new({ "@You:" })
  same(component:update_status(), "")
  shown(buffer, BUSY)
  same(component:update_status(), "claude-sonnet-4-6 · running 2 calls")
  shown(buffer, { model = "m", context = 90, nearly_full = true })
  same(component:update_status(), "<warning #ff0000>anthropic m · idle · context 90 %%")
  package.loaded["lualine.component"] = nil
  api.nvim_set_hl(0, "FlemmaWinbarWarning", {})
end)
