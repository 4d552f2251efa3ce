--- Progress of long runs in chats that no window shows.
-- luacheck: globals test same

local chat = require("chat")
local hidden = require("flemma.hidden")
local notices = require("flemma.notices")
local progress = require("flemma.progress")

local api = vim.api

--- Runs `body` in a Neovim with or without progress messages, and returns what was shown.
---@param has_progress boolean
---@param body fun(buffer: integer, phase: fun(name: string, seconds?: integer))
---@return string[]
local function shown(has_progress, body)
  package.loaded["flemma.progress"] = nil
  progress = require("flemma.progress")
  local echo, notify, now = api.nvim_echo, notices.notify, vim.uv.now
  local told, time = {}, now()
  api.nvim_echo = function(chunks, _, options)
    if not has_progress then
      error("invalid key: status")
    end
    told[#told + 1] = ("%s %s"):format(options.status, chunks[1][1])
    return options.id or 7
  end
  notices.notify = function(message)
    told[#told + 1] = message.message
  end
  vim.uv.now = function()
    return time
  end

  local buffer = chat.new({ "@You:" })
  api.nvim_buf_set_name(buffer, vim.fn.tempname() .. "/long.chat")
  vim.cmd("enew")
  local function phase(name, seconds)
    progress.update(buffer, { phase = name, doing = name })
    time = time + (seconds or 0) * 1000
    progress.update(buffer, { phase = name, doing = name })
  end
  local ok, why = xpcall(body, debug.traceback, buffer, phase)
  api.nvim_echo, notices.notify, vim.uv.now = echo, notify, now
  assert(ok, why)
  return told
end

--- The end of a run, as the host reports it.
---@param buffer integer
local function rests(buffer)
  local function event(name, data)
    data.bufnr = buffer
    api.nvim_exec_autocmds("User", { pattern = name, data = data, modeline = false })
  end
  event("FlemmaRequestFinished", { status = "success" })
  event("FlemmaRested", { waiting = {} })
end

test("a short run has no progress messages", function()
  local told = shown(true, function(_, phase)
    phase("sending", 2)
    phase("streaming", 3)
    phase("idle")
  end)
  same(told, {})
end)

test("a long run has one message per phase, and each replaces the one before", function()
  hidden.start()
  local told = shown(true, function(buffer, phase)
    phase("thinking", 6)
    phase("running", 9)
    phase("running", 9)
    rests(buffer)
  end)
  same(
    told,
    { "running long.chat: thinking", "running long.chat: running", "success long.chat: the answer is complete." }
  )
end)

test("a Neovim without progress messages notifies once per phase", function()
  local told = shown(false, function(buffer, phase)
    for _ = 1, 3 do
      phase("thinking", 6)
      phase("running", 6)
    end
    rests(buffer)
  end)
  same(told, { "long.chat: thinking.", "long.chat: running.", "long.chat: the answer is complete." })
end)

test("a chat that a window shows has no progress messages", function()
  local told = shown(true, function(buffer, phase)
    api.nvim_set_current_buf(buffer)
    phase("thinking", 60)
  end)
  same(told, {})
end)

test("the next run has messages of its own", function()
  local told = shown(false, function(buffer, phase)
    phase("thinking", 6)
    rests(buffer)
    phase("idle")
    phase("thinking", 6)
  end)
  same(told, { "long.chat: thinking.", "long.chat: the answer is complete.", "long.chat: thinking." })
end)
