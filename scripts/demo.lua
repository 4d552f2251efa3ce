--- Plays the session of `make demo` without a terminal: sends a user's keys to a second
--- Neovim with a screen and prints the finished chats. It waits for text in the buffer,
--- never for a time, and uses no internals of the plugin.
---
--- nvim -l scripts/demo.lua NVIM INIT CHAT

local nvim, init, chat = arg[1], arg[2], arg[3]

--- Longer than the answer of a slow model; the tutor takes three seconds.
local PATIENCE_MS = 120 * 1000
local POLL_MS = 20
--- Longer than `tools.review_delay`.
local READING_MS = 1000

---@class demo.Editor
---@field job integer
---@field channel integer
---@field pressed string[] Descriptions of the keys pressed so far.

--- A pseudo-terminal gives it a screen, so that prompts and typed keys work as for a
--- user. (A Neovim that embeds another one gets no redraws.)
---@param path string
---@return demo.Editor
local function open(path)
  local socket = vim.fn.tempname()
  local command = { nvim, "--clean", "-u", init, "--listen", socket, path }
  local terminal = { pty = true, width = 100, height = 40, env = { TERM = "xterm-256color" } }
  local started, job = pcall(vim.fn.jobstart, command, terminal)
  local channel
  local connected = started
    and vim.wait(PATIENCE_MS, function()
      local ok, id = pcall(vim.fn.sockconnect, "pipe", socket, { rpc = true })
      channel = ok and id or nil
      return ok
    end, POLL_MS)
  if not connected then
    error(("demo: %s does not start. Run `make demo` again."):format(nvim), 0)
  end
  return { job = job, channel = channel, pressed = {} }
end

---@param editor demo.Editor
---@param method string
---@return any
local function ask(editor, method, ...)
  return vim.rpcrequest(editor.channel, method, ...)
end

--- During a prompt, Neovim answers only this request.
---@param editor demo.Editor
---@return boolean
local function blocked(editor)
  return ask(editor, "nvim_get_mode").blocking
end

---@param editor demo.Editor
---@return string
local function text(editor)
  return table.concat(ask(editor, "nvim_buf_get_lines", 0, 0, -1, true), "\n") .. "\n"
end

---@param editor demo.Editor
---@param keys string As in |nvim_input()|.
---@param words string A description of the keys.
local function press(editor, keys, words)
  ask(editor, "nvim_input", keys)
  table.insert(editor.pressed, words)
end

--- Fails and shows the chat and the messages.
---@param editor demo.Editor
---@param what string
local function fail(editor, what)
  local seen = "(Neovim is waiting for a key, so its text cannot be read.)\n"
  if not blocked(editor) then
    seen = text(editor) .. "\n--- messages\n" .. ask(editor, "nvim_exec2", "messages", { output = true }).output
  end
  error(("demo: %s did not appear.\n--- the chat\n%s"):format(what, seen), 0)
end

---@param editor demo.Editor
---@param what string Name for the error message.
---@param condition fun(text: string): boolean
local function await(editor, what, condition)
  local met = vim.wait(PATIENCE_MS, function()
    return not blocked(editor) and condition(text(editor))
  end, POLL_MS)
  if not met then
    fail(editor, what)
  end
end

---@param shown string
---@return boolean Whether a call is pending.
local function waits(shown)
  return shown:find("```flemma:tool status=pending\n", 1, true) ~= nil
end

---@param shown string
---@return boolean Whether it is the user's turn to write.
local function ended(shown)
  return shown:find("\n@You:%s*$") ~= nil
end

--- Presses Ctrl-] in the first chat, calls `decide` at the first pending call, and returns
--- the finished chat. A real model may call nothing, or call again: a second call stays
--- pending, because there is no user to review it.
---@param path string
---@param decide fun(editor: demo.Editor)
---@return string title
---@return string text
local function play(path, decide)
  local editor = open(path)
  await(editor, "the first chat", function(shown)
    return shown:find("@You:", 1, true) == 1
  end)
  press(editor, "<C-]>", "Ctrl-]")
  await(editor, "an answer", function(shown)
    return waits(shown) or ended(shown)
  end)
  if waits(text(editor)) then
    decide(editor)
    local decided = false
    await(editor, "the end", function(shown)
      decided = decided or not waits(shown)
      return ended(shown) or (decided and waits(shown))
    end)
  end
  press(editor, ":w<CR>", ":w")
  await(editor, "the saved file", function()
    return not ask(editor, "nvim_get_option_value", "modified", { buf = 0 })
  end)
  local finished = text(editor)
  vim.fn.jobstop(editor.job)
  return table.concat(editor.pressed, ", "), finished
end

---@param editor demo.Editor
local function approve(editor)
  await(editor, "the cursor at the call that waits", function()
    local line = ask(editor, "nvim_get_current_line")
    return line:find("**Tool Result:**", 1, true) ~= nil or line:find("```flemma:tool", 1, true) == 1
  end)
  press(editor, "<M-CR>", "Alt-Enter")
  -- A key that arrives just as the call appears runs nothing, and a message says so.
  local refused = 0
  await(editor, "the approved call", function(shown)
    local messages = ask(editor, "nvim_exec2", "messages", { output = true }).output
    local _, count = messages:gsub("press the key again", "")
    if waits(shown) and count > refused then
      refused = count
      -- As a person would: a key that comes at once is refused again.
      vim.wait(READING_MS)
      ask(editor, "nvim_input", "<M-CR>")
    end
    return not waits(shown)
  end)
end

---@param editor demo.Editor
local function refuse(editor)
  press(editor, "/status=pending/e<CR>ciwrejected<Esc>", "`pending` changed to `rejected`")
  press(editor, "oNot today: I count my words myself.<Esc>", "a reason typed inside")
  press(editor, "<C-]>", "Ctrl-]")
end

local function main()
  local second = (chat:gsub("%.chat$", "")) .. "-refused.chat"
  assert(vim.uv.fs_copyfile(chat, second))
  for _, session in ipairs({ { chat, approve }, { second, refuse } }) do
    local pressed, finished = play(session[1], session[2])
    io.stdout:write(("=== %s, played without a terminal: %s\n\n%s\n"):format(session[1], pressed, finished))
  end
end

local ok, why = pcall(main)
if not ok then
  io.stderr:write(why, "\n")
  os.exit(1)
end
