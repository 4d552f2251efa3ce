--- The life of a chat buffer: opened, watched, given keys, reloaded, closed, and
--- told to a new host when the old one is gone. What a key does is the host's
--- decision; here it becomes a `command`.
---@class flemma.buffer
local M = {}

local api = vim.api
local apply = require("flemma.apply")
local approval = require("flemma.tools.approval")
local config = require("flemma.config")
local diagnostics = require("flemma.diagnostics")
local directory = require("flemma.directory")
local disk = require("flemma.files.disk")
local flemma = require("flemma")
local follow = require("flemma.follow")
local highlights = require("flemma.highlights")
local hidden = require("flemma.hidden")
local hint = require("flemma.hint")
local host = require("flemma.host")
local keys = require("flemma.keys")
local lease = require("flemma.lease")
local mirror = require("flemma.mirror")
local notices = require("flemma.notices")
local queued = require("flemma.queued")
local remarks = require("flemma.remarks")
local render = require("flemma.render")
local spans = require("flemma.spans")
local swap = require("flemma.swap")
local viewport = require("flemma.viewport")

--- Commands about what the cursor is on; the others are about the prompt.
local AT_CURSOR = {
  ["resolve"] = true,
  ["approve"] = true,
  ["reject"] = true,
  ["tool:execute"] = true,
  ["tool:cancel"] = true,
  ["fix"] = true,
  ["allow-file"] = true,
}

---@class flemma.buffer.Chat
---@field interrupted string[] Calls that ran when the last host died.
---@field streaming boolean Whether an answer was being written then.
---@field empty boolean Whether there was no text when it was read, or only the user's template, and no host has heard of it since.
---@field seq integer Of the text that was read.

---@type table<integer, flemma.buffer.Chat>
local chats = {}
local started = false
--- Whether a host has reported what is wrong with the options.
local reported = false

--- What the text is, compared with what its file held. Of a chat that was empty, all text
--- counts as typed, unless some came in bulk before a host could be told.
---@param buffer integer
---@return "empty"|"read"|"changed"
local function came(buffer)
  local chat = chats[buffer]
  chat.empty = chat.empty and not mirror.take_unsent_bulk(buffer)
  if chat.empty then
    return "empty"
  end
  return chat.seq == mirror.seq(buffer) and "read" or "changed"
end

---@param buffer integer
---@return string path Absolute, or empty.
local function path_of(buffer)
  local name = api.nvim_buf_get_name(buffer)
  return name ~= "" and vim.fn.fnamemodify(name, ":p") or ""
end

---@param buffer integer
---@param reason "open"|"reload"|"restart"
local function introduce(buffer, reason)
  local chat = chats[buffer]
  local sent = host.send("attach", {
    buffer = buffer,
    path = path_of(buffer),
    cwd = directory.of(buffer),
    process = vim.uv.os_getpid(),
    width = viewport.width(buffer),
    reason = reason,
    interrupted = chat.interrupted,
    streaming = chat.streaming,
    -- A host that lives has them itself.
    queued = reason ~= "reload" and queued.texts(buffer) or {},
    modified = vim.bo[buffer].modified,
    came = came(buffer),
  })
  if sent then
    chat.interrupted, chat.streaming, chat.empty = {}, false, false
    mirror.snapshot(buffer)
    viewport.watch(buffer)
  end
end

---@param buffer integer
local function forget(buffer)
  chats[buffer] = nil
  apply.release(buffer)
  mirror.forget(buffer)
  render.forget(buffer)
  spans.forget(buffer)
  viewport.forget(buffer)
  local folds = package.loaded["flemma.folds"]
  if folds then
    folds.forget(buffer)
  end
  diagnostics.forget(buffer)
  directory.forget(buffer)
  follow.forget(buffer)
  lease.forget(buffer)
  notices.forget(buffer)
  queued.forget(buffer)
  remarks.forget(buffer)
  swap.forget(buffer)
end

--- `:edit!` stops the watching and so does closing; which one it was shows when
--- Neovim is done with it.
---@param buffer integer
local function on_detach(buffer)
  vim.schedule(function()
    if not chats[buffer] then
      return
    end
    if api.nvim_buf_is_valid(buffer) and api.nvim_buf_is_loaded(buffer) then
      M.open(buffer)
    else
      forget(buffer)
      host.send("detached", { buffer = buffer })
    end
  end)
end

--- Remembers how the text came, before anything is typed: a host that answers
--- later, or a next one, sees only what the user has made of it.
---@param buffer integer
local function note_origin(buffer)
  local chat = chats[buffer]
  chat.empty = api.nvim_buf_line_count(buffer) == 1 and api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == ""
  chat.seq = mirror.seq(buffer)
end

--- A new file was opened, and its autocommands have run: what it holds is
--- the user's template, which counts as typed.
---@param buffer integer
function M.filled(buffer)
  local chat = chats[buffer]
  if chat and api.nvim_buf_is_loaded(buffer) then
    chat.empty = true
    mirror.take_unsent_bulk(buffer)
    introduce(buffer, "reload")
  end
end

--- Watches the buffer and tells the host of it.
---@param buffer integer
---@param reason "open"|"reload"
local function attach(buffer, reason)
  note_origin(buffer)
  local attached = mirror.attach(buffer, function()
    note_origin(buffer)
    introduce(buffer, "reload")
  end, on_detach)
  if attached then
    introduce(buffer, reason)
  end
end

--- Tells the host what was registered as a tool, which the options may name.
local function send_tools()
  local tools = package.loaded["flemma.tools"]
  if tools then
    host.send("tools", tools.wire())
  end
end

--- Tells the host the options, and who has a say about calls with them.
local function send_options()
  local sent = host.send("configure", {
    options = config.wire(flemma.given),
    reported = reported,
    caller = flemma.caller,
    resolvers = approval.wire(),
  })
  reported = reported or sent
end

--- The host answered: it gets the options and every chat.
---@param reason "open"|"restart"
local function on_ready(reason)
  send_tools()
  send_options()
  for buffer in pairs(chats) do
    if api.nvim_buf_is_loaded(buffer) then
      introduce(buffer, reason)
    end
  end
  require("flemma.files").watch()
end

--- The host is gone: what it drew and locked is given back, and what it was
--- doing is remembered for the next one.
local function on_lost()
  notices.forget()
  local calls = package.loaded["flemma.tools.calls"]
  if calls then
    calls.stop_all()
  end
  for buffer, chat in pairs(chats) do
    chat.interrupted = render.running(buffer)
    chat.streaming = api.nvim_buf_is_loaded(buffer) and apply.is_writing(buffer)
    apply.release(buffer)
    render.forget(buffer)
    diagnostics.forget(buffer)
    lease.forget(buffer)
  end
end

--- Reads the options again; a running host gets them too.
function M.configure()
  config.load(flemma.options)
  reported = false
  for _, problem in ipairs(approval.problems()) do
    notices.notify({ level = "error", message = problem })
  end
  highlights.define(config.get().highlights)
  hint.reset()
  send_options()
end

--- Somebody else has a say about calls now.
function M.announce_resolvers()
  host.send("resolvers", approval.wire())
end

--- The calls that wait and are folded away in the current window.
---@param buffer integer
---@return string[] ids
local function folded(buffer)
  local ids = {}
  for id, lines in pairs(render.waiting(buffer)) do
    for _, line in ipairs(lines) do
      if vim.fn.foldclosed(line + 1) ~= -1 then
        ids[#ids + 1] = id
        break
      end
    end
  end
  return ids
end

--- Tells the host that the user wants something.
---@param name string One class of |flemma.protocol.Command|.
---@param arguments? table
function M.command(name, arguments)
  M.start()
  local buffer, window = api.nvim_get_current_buf(), api.nvim_get_current_win()
  -- Before Neovim has entered its first window, as for `nvim -c`, the cursor has no line.
  local line = math.max(0, api.nvim_win_get_cursor(window)[1] - 1)
  -- A key can be quicker than what follows `:edit!`; it is about the new text.
  if chats[buffer] and not mirror.attached(buffer) then
    attach(buffer, "reload")
  end
  if chats[buffer] then
    follow.key(window, buffer)
    lease.refresh(buffer)
    remarks.begin(buffer, AT_CURSOR[name] and line or nil)
  end
  local shown = render.shown_again(buffer)
  local closed, drawn = folded(buffer), render.drawn_ms(buffer)
  host.when_ready(function()
    -- A tool that was registered a moment ago is there for this key.
    local tools = package.loaded["flemma.tools"]
    if tools then
      tools.flush()
    end
    require("flemma.files").tell()
    if chats[buffer] then
      directory.tell(buffer)
    end
    host.send("command", {
      buffer = buffer,
      seq = mirror.seq(buffer),
      name = name,
      line = line,
      window = window,
      shown = shown,
      hidden = closed,
      drawn_ms = drawn,
      arguments = arguments and next(arguments) and arguments or vim.empty_dict(),
    })
  end)
end

--- Follows what Neovim does to colours, windows and names.
local function follow_editor()
  local group = api.nvim_create_augroup("flemma.buffer", { clear = true })
  ---@param events string|string[]
  ---@param description string
  ---@param callback fun(event: table)
  local function on(events, description, callback)
    api.nvim_create_autocmd(events, { group = group, desc = "flemma: " .. description, callback = callback })
  end
  on("ColorScheme", "highlight groups", function()
    highlights.define(config.get().highlights)
  end)
  on({ "DirChanged" }, "the working directory of chats", function()
    for buffer in pairs(chats) do
      directory.tell(buffer)
    end
  end)
  on({ "WinScrolled", "WinResized", "VimResized", "BufWinEnter", "TabEnter" }, "visible lines", function()
    for buffer in pairs(chats) do
      viewport.changed(buffer)
      remarks.resized(buffer)
      diagnostics.resized(buffer)
    end
  end)
  on({ "BufWritePost", "BufModifiedSet" }, "the file holds the chat", function(event)
    if chats[event.buf] and not vim.bo[event.buf].modified then
      host.send("saved", { buffer = event.buf, seq = mirror.seq(event.buf) })
    end
  end)
  on("InsertEnter", "what others wrote is read before something is typed", function(event)
    if chats[event.buf] then
      lease.before_typing(event.buf)
    end
  end)
  on("BufFilePost", "the chat has another path", function(event)
    if chats[event.buf] then
      host.send("renamed", { buffer = event.buf, path = path_of(event.buf), modified = vim.bo[event.buf].modified })
    end
  end)
end

--- What every chat needs once: options, colours, drawing, the host.
function M.start()
  if started then
    return
  end
  started = true
  M.configure()
  spans.start()
  host.listen({ ready = on_ready, lost = on_lost })
  follow_editor()
  hidden.start()
  keys.follow(chats)
  -- Before the host runs: a file that is changed until then is known as it was.
  disk.watch()
  vim.schedule(function()
    vim.filetype.add({ extension = { chat = "chat" } })
  end)
end

--- Takes a chat in, or takes it in again after its text was replaced.
---@param buffer integer
function M.open(buffer)
  M.start()
  local known = chats[buffer] ~= nil
  chats[buffer] = chats[buffer] or { interrupted = {}, streaming = false, empty = false, seq = 0 }
  vim.bo[buffer].modeline = false
  -- A sandbox protects the chat with a mount, which a rename over the file would lift: a
  -- command that runs while the chat is saved could then write it.
  vim.bo[buffer].backupcopy = "yes"
  if vim.bo[buffer].omnifunc == "" then
    vim.bo[buffer].omnifunc = "v:lua.require'flemma.complete'.omni"
  end
  -- `:bdelete` takes keys and variables of a buffer away that may be open again at once.
  if not vim.b[buffer].flemma_keys then
    vim.b[buffer].flemma_keys = true
    keys.set(buffer)
  end
  -- After the text is on screen: starting a process takes milliseconds.
  vim.schedule(host.ensure)
  if not mirror.attached(buffer) then
    attach(buffer, known and "reload" or "open")
  end
end

return M
