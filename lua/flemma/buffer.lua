--- The life of a chat buffer: opened, reloaded, closed, and introduced to each host. Turns
--- keys into `command` messages.
---@class flemma.buffer
local M = {}

local api = vim.api
local autocommands = require("flemma.buffer.autocommands")
local config = require("flemma.config")
local directory = require("flemma.directory")
local encoding = require("flemma.buffer.encoding")
local flemma = require("flemma")
local highlights = require("flemma.highlights")
local host = require("flemma.host")
local keys = require("flemma.keys")
local lazy = require("flemma.modules").lazy
local markup = require("flemma.markup")
local mirror = require("flemma.mirror")
local notices = require("flemma.notices")
local spans = require("flemma.spans")
local state = require("flemma.state")
local status = require("flemma.status")
local viewport = require("flemma.viewport")

---@module "flemma.apply"
local apply = lazy("flemma.apply")
---@module "flemma.tools.approval"
local approval = lazy("flemma.tools.approval")
---@module "flemma.diagnostics"
local diagnostics = lazy("flemma.diagnostics")
---@module "flemma.files.disk"
local disk = lazy("flemma.files.disk")
---@module "flemma.follow"
local follow = lazy("flemma.follow")
---@module "flemma.hidden"
local hidden = lazy("flemma.hidden")
---@module "flemma.lease"
local lease = lazy("flemma.lease")
---@module "flemma.queued"
local queued = lazy("flemma.queued")
---@module "flemma.recent"
local recent = lazy("flemma.recent")
---@module "flemma.remarks"
local remarks = lazy("flemma.remarks")
---@module "flemma.render"
local render = lazy("flemma.render")
---@module "flemma.swap"
local swap = lazy("flemma.swap")

--- Commands about the call at the cursor; the others are about the prompt.
local AT_CURSOR =
  { "resolve", "approve", "reject", "review", "try", "tool:execute", "tool:cancel", "fix", "allow", "allow-file" }

---@class flemma.buffer.Chat
---@field interrupted string[] Calls that ran when the last host died.
---@field streaming boolean Whether an answer was being written then.
---@field empty boolean Whether it was read without text, or with the user's template only, and no host knows it.
---@field seq integer The text that was read, see |flemma.mirror|.

---@type table<integer, flemma.buffer.Chat>
local chats = state.by_buffer()
--- Saves while no host was ready, by path. The chat may be closed when there is one.
---@type table<string, { buffer: integer, seq: integer, path: string }>
local unsent_saves = {}
local started = false
--- Whether a host has reported what is wrong with the options.
local reported = false

--- Compares the text with what the file held. In a chat that was empty, all text counts as
--- typed unless some of it came in bulk while no host was ready.
local function came(buffer)
  local chat = chats[buffer]
  chat.empty = chat.empty and not mirror.take_unsent_bulk(buffer)
  if chat.empty then
    return "empty"
  end
  return chat.seq == mirror.seq(buffer) and "read" or "changed"
end

---@return string path Absolute, or empty.
local function path_of(buffer)
  local name = api.nvim_buf_get_name(buffer)
  return name ~= "" and vim.fn.fnamemodify(name, ":p") or ""
end

--- Sends a chat and its text to the host.
local function introduce(buffer, reason)
  if not host.channel() then
    return
  end
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
    -- A host that did not restart still has them.
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

local function forget(buffer)
  apply.release(buffer)
  mirror.flush()
  render.forget(buffer)
  for _, name in ipairs({ "flemma.folds", "flemma.lookup" }) do
    local module = package.loaded[name]
    if module then
      module.forget(buffer)
    end
  end
  diagnostics.forget(buffer)
  follow.forget(buffer)
  queued.forget(buffer)
  remarks.forget(buffer)
  state.forget(buffer)
end

--- Opens or forgets a buffer that Neovim no longer watches: `:edit!` and closing both end
--- the watching, and which of the two it was is known later.
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

--- Remembers the text that was read, before anything is typed, for a host that starts later.
local function note_origin(buffer)
  local chat = chats[buffer]
  chat.empty = api.nvim_buf_line_count(buffer) == 1 and api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == ""
  chat.seq = mirror.seq(buffer)
end

--- Introduces a new file after its autocommands: what they put in is the user's template,
--- which counts as typed.
---@param buffer integer
function M.filled(buffer)
  local chat = chats[buffer]
  if chat and api.nvim_buf_is_loaded(buffer) then
    chat.empty = true
    mirror.take_unsent_bulk(buffer)
    introduce(buffer, "reload")
  end
end

--- Watches a buffer and introduces it.
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

--- Sends the options, and the approval resolvers that belong to them.
local function send_options()
  local sent = host.send("configure", {
    options = config.wire(flemma.given),
    reported = reported,
    caller = flemma.caller,
    resolvers = approval.wire(),
  })
  reported = reported or sent
end

--- Sends everything to a host that is ready.
local function on_ready(reason)
  local tools = package.loaded["flemma.tools"]
  if tools then
    host.send("tools", tools.wire())
  end
  send_options()
  for buffer in pairs(chats) do
    if api.nvim_buf_is_loaded(buffer) then
      introduce(buffer, reason)
    end
  end
  for _, save in pairs(unsent_saves) do
    host.send("saved", save)
  end
  unsent_saves = {}
  require("flemma.files").watch()
end

--- Removes what a host that exited drew and locked, and remembers what it was doing.
local function on_lost()
  local calls = package.loaded["flemma.tools.calls"]
  if calls then
    calls.stop_all()
  end
  local lookup = package.loaded["flemma.lookup"]
  if lookup then
    lookup.forget()
  end
  for buffer, chat in pairs(chats) do
    chat.interrupted = render.running(buffer)
    chat.streaming = api.nvim_buf_is_loaded(buffer) and apply.is_writing(buffer)
    apply.release(buffer)
    render.forget(buffer)
    markup.forget(buffer)
    diagnostics.forget(buffer)
    lease.forget(buffer)
    status.lost(buffer)
  end
end

local function define_highlights()
  highlights.define(config.get().highlights)
end

--- Reads the options again, and sends them to a running host.
function M.configure()
  config.load(flemma.options)
  reported = false
  for _, problem in ipairs(approval.problems()) do
    notices.notify({ level = "error", message = problem })
  end
  define_highlights()
  status.configure(chats)
  send_options()
end

--- Sends the approval resolvers after one was registered or removed.
function M.announce_resolvers()
  host.send("resolvers", approval.wire())
end

--- Tells the host what a key may depend on: tools and files that were added a moment ago, and
--- the working directory.
local function send_context(buffer)
  -- Not required, because no tool is registered while the module is not loaded.
  local tools = package.loaded["flemma.tools"]
  if tools then
    tools.flush()
  end
  require("flemma.files").send_list()
  if chats[buffer] then
    directory.send(buffer)
  end
end

--- Sends a key or a `:Flemma` command to the host.
---@param name string
---@param arguments? table
---@param at? integer The line that it is about, from zero; by default the cursor's.
function M.command(name, arguments, at)
  M.start()
  -- A message has said that this key does so.
  if name == "advance" and host.take_install() then
    return require("flemma.install").start()
  end
  local buffer, window = api.nvim_get_current_buf(), api.nvim_get_current_win()
  -- Before Neovim has entered its first window, as for `nvim -c`, the cursor has no line.
  local line = at or math.max(0, api.nvim_win_get_cursor(window)[1] - 1)
  -- A key may come before `on_detach` has seen an `:edit!`, and is about the new text.
  if chats[buffer] and not mirror.attached(buffer) then
    attach(buffer, "reload")
  end
  if chats[buffer] then
    follow.key(window, buffer)
    lease.refresh(buffer)
    remarks.begin(buffer, vim.list_contains(AT_CURSOR, name) and line or nil)
  end
  local shown, hidden_calls, drawn_ms = render.seen(buffer)
  host.when_ready(function()
    send_context(buffer)
    host.send("command", {
      buffer = buffer,
      seq = mirror.seq(buffer),
      name = name,
      line = line,
      window = window,
      shown = shown,
      hidden = hidden_calls,
      drawn_ms = drawn_ms,
      arguments = arguments and next(arguments) and arguments or vim.empty_dict(),
    })
  end)
end

local on = autocommands.on

--- Follows a change of the width or the lines that a window shows of a chat.
---@param buffer integer
function M.resized(buffer)
  viewport.changed(buffer)
  -- What is not loaded has drawn nothing. Remarks come below the others on their line.
  for _, name in ipairs({ "flemma.render", "flemma.diagnostics", "flemma.remarks" }) do
    local module = package.loaded[name]
    if module then
      module.resized(buffer)
    end
  end
end

--- Follows changes of colours, windows, and the working directory.
local function follow_editor()
  on("ColorScheme", "highlight groups", define_highlights)
  on("OptionSet", "highlight groups", define_highlights, "background")
  on("DirChanged", "the working directory of chats", function()
    directory.changed()
    vim.tbl_map(directory.send, vim.tbl_keys(chats))
  end, "global,tabpage,window")
  on({ "WinScrolled", "WinResized", "VimResized", "BufWinEnter", "TabEnter" }, "visible lines", function()
    -- While a chat is wiped out, its window may show another buffer already.
    vim.iter(vim.tbl_keys(chats)):filter(api.nvim_buf_is_loaded):each(M.resized)
  end)
  -- Neovim shows nothing above the end of a window that has become higher.
  on("WinResized", "the end of chats", function()
    for _, window in ipairs(vim.v.event.windows) do
      local buffer = api.nvim_win_is_valid(window) and api.nvim_win_get_buf(window)
      if chats[buffer] then
        follow.fill(buffer)
      end
    end
  end)
end

--- Tells the host that the file holds the chat, if it does.
---@param buffer integer
function M.saved(buffer)
  if not vim.bo[buffer].modified then
    local save = { buffer = buffer, seq = mirror.seq(buffer), path = path_of(buffer) }
    if not host.send("saved", save) then
      unsent_saves[save.path] = save
    end
  end
end

--- Follows the chats themselves: their files, their names, and which one is used.
local function follow_chats()
  local function in_chats(callback)
    return function(buffer)
      if chats[buffer] then
        callback(buffer)
      end
    end
  end
  on("BufWritePre", "chats are UTF-8", in_chats(encoding.set))
  on("BufWritePost", "the file holds the chat", in_chats(M.saved))
  autocommands.on_modified("the file holds the chat", in_chats(M.saved))
  on("BufWinEnter", "the winbar", in_chats(status.show_winbar))
  on("BufEnter", "the last chat", in_chats(recent.note))
  on("InsertEnter", "the file is read again before something is typed", in_chats(lease.before_typing))
  on(
    "BufFilePost",
    "the chat has another path",
    in_chats(function(buffer)
      host.send("renamed", { buffer = buffer, path = path_of(buffer), modified = vim.bo[buffer].modified })
    end)
  )
end

--- Starts what all chats share: options, colours, drawing, and the listeners of the host. If a
--- part fails, the next chat tries again; those that would then be there twice are last.
function M.start()
  if started then
    return
  end
  M.configure()
  host.listen({ ready = on_ready, lost = on_lost })
  autocommands.clear()
  follow_editor()
  follow_chats()
  hidden.start()
  keys.follow(chats)
  -- Before the host runs, so that no change of a file is missed.
  disk.watch()
  require("flemma.paste").start()
  spans.start()
  mirror.on_change(function(buffer)
    if not mirror.is_muted(buffer) then
      swap.typed(buffer)
    end
  end)
  started = true
  vim.schedule(function()
    vim.filetype.add({ extension = { chat = "chat" } })
  end)
end

--- Opens a chat, or opens it again after its text was replaced.
---@param buffer integer
function M.open(buffer)
  M.start()
  local known = chats[buffer] ~= nil
  chats[buffer] = chats[buffer] or { interrupted = {}, streaming = false, empty = false, seq = 0 }
  require("flemma.buffer.settings").set(buffer)
  if buffer == api.nvim_get_current_buf() then
    recent.note(buffer)
  end
  status.show_winbar(buffer)
  -- After the text is on screen: starting a process takes milliseconds.
  vim.schedule(function()
    host.ensure()
    require("flemma.lsp").start_soon(buffer)
  end)
  if not mirror.attached(buffer) then
    attach(buffer, known and "reload" or "open")
  end
end

return M
