--- The state of each chat: its winbar, and texts for status lines of the user's own.
---@class flemma.status
local M = {}

local api = vim.api

local WINBAR = "%{%v:lua.require'flemma.status'.winbar()%}"
local TICK_MS = 1000
local SEPARATOR = " · "
--- The parts of a line, the most important first. A part for which there is no room is left out.
local PARTS = { "doing", "model", "plan", "context", "elapsed", "cost", "queued", "tokens", "provider" }

---@class flemma.status.Info
---@field provider string Empty if it is not known yet.
---@field model string Empty if it is not known yet.
---@field phase flemma.protocol.Phase
---@field doing string The phase in words, such as "running 2 calls".
---@field seconds integer? Since the key that began what is happening now.
---@field running integer Number of running calls.
---@field waiting integer Number of calls that wait for the user.
---@field queued integer Number of queued messages.
---@field tokens string Empty before the first request.
---@field cost string Empty if it is not known.
---@field sums flemma.session.Totals
---@field context integer? Percent of the model's context that is used.
---@field nearly_full boolean Whether `context` is at least 80.
---@field plan boolean

---@class flemma.status.State
---@field message flemma.protocol.Statusline
---@field since number When the message came, in `vim.uv.now()`.
---@field drawn table<integer, { seconds: integer, text: string }> The last winbars by width.

---@type table<integer, flemma.status.State>
local states = require("flemma.state").by_buffer()
---@type uv.uv_timer_t? Runs only while something happens in a chat.
local timer

--- Returns the state of a chat as a table.
---@param buffer? integer By default the current one.
---@return flemma.status.Info? info Nil if the buffer is not a chat that the host knows.
function M.get(buffer)
  local state = states[buffer or api.nvim_get_current_buf()]
  if not state then
    return nil
  end
  local elapsed = state.message.elapsed_ms and state.message.elapsed_ms + vim.uv.now() - state.since
  return vim.tbl_extend("force", state.message, { seconds = elapsed and math.floor(elapsed / 1000) })
end

---@return table<string, string> parts Plain texts by name; absent ones are not known.
local function parts_of(info)
  local escape = require("flemma.notices").escape
  local function known(text)
    return text ~= "" and escape(text) or nil
  end
  return {
    plan = info.plan and "plan" or nil,
    provider = known(info.provider),
    model = known(info.model),
    doing = info.doing,
    -- A run of less than a second needs no clock.
    elapsed = info.seconds and info.seconds > 0 and require("flemma.render.pure").elapsed(info.seconds * 1000) or nil,
    queued = info.queued > 0 and info.queued .. " queued" or nil,
    tokens = known(info.tokens),
    cost = known(info.cost),
    context = info.context and ("context %d %%"):format(info.context) or nil,
  }
end

--- Joins parts that exist.
local function join(separator, ...)
  local found = {}
  for at = 1, select("#", ...) do
    local part = select(at, ...)
    if part and part ~= "" then
      found[#found + 1] = part
    end
  end
  return table.concat(found, separator)
end

---@return string target
---@return string state Without the context.
local function sides(parts)
  local target = join(" ", parts.plan and parts.plan .. SEPARATOR:sub(1, -2), parts.provider, parts.model)
  local state = join(SEPARATOR, join(" ", parts.doing, parts.elapsed), parts.queued, parts.tokens, parts.cost)
  return target, state
end

--- Returns the parts that fit into a line.
---@param room integer In columns.
local function fit(parts, room)
  local fitting = {}
  for _, name in ipairs(PARTS) do
    fitting[name] = parts[name]
    local target, state = sides(fitting)
    if api.nvim_strwidth(join(SEPARATOR, target, state, fitting.context)) > room then
      fitting[name] = nil
    end
  end
  return fitting
end

--- Returns the state of a chat as one plain text.
---@param buffer? integer By default the current one.
---@param room? integer Most columns; without it nothing is left out.
---@return string text Empty if the buffer is not a chat.
function M.line(buffer, room)
  local info = M.get(buffer)
  if not info then
    return ""
  end
  local parts = fit(parts_of(info), room or math.huge)
  local target, state = sides(parts)
  return join(SEPARATOR, target, state, parts.context)
end

---@param text string? Plain.
---@return string? item For 'statusline'.
local function colored(group, text)
  return text and text ~= "" and ("%%#%s#%s"):format(group, (text:gsub("%%", "%%%%"))) or nil
end

---@param room integer In columns.
local function winbar(info, room)
  -- A blank at both ends, and two between the halves.
  local parts = fit(parts_of(info), room - 4)
  local target, state = sides(parts)
  local left = colored("FlemmaWinbarModel", " " .. target .. " ")
  local right = join(
    "%#FlemmaWinbar#" .. SEPARATOR,
    colored("FlemmaWinbar", state),
    colored(info.nearly_full and "FlemmaWinbarWarning" or "FlemmaWinbar", parts.context)
  )
  return ("%s%%#FlemmaWinbar#%%=%s%%#FlemmaWinbar# "):format(left, right)
end

--- Returns the winbar of a chat that no host knows.
---@return string item
local function without_host()
  local host = package.loaded["flemma.host"]
  local text = host and host.state().problem and " not connected; see :checkhealth flemma" or ""
  return "%#FlemmaWinbar#" .. text
end

--- Returns the winbar of the window that is being drawn.
---@return string item For 'winbar'.
function M.winbar()
  local buffer, room = api.nvim_get_current_buf(), api.nvim_win_get_width(0)
  local info = M.get(buffer)
  if not info then
    return without_host()
  end
  local drawn, seconds = states[buffer].drawn, info.seconds or 0
  -- Neovim evaluates it whenever the cursor moves.
  if not drawn[room] or drawn[room].seconds ~= seconds then
    drawn[room] = { seconds = seconds, text = winbar(info, room) }
  end
  return drawn[room].text
end

--- Gives a window of a chat its winbar, unless it has one of the user's.
local function set_winbar(window, enabled)
  local now = api.nvim_get_option_value("winbar", { win = window })
  local wanted = enabled and WINBAR or ""
  if now ~= wanted and (now == "" or now == WINBAR) and api.nvim_win_get_config(window).relative == "" then
    -- A window of one line has no room.
    pcall(function()
      vim.wo[window][0].winbar = wanted
    end)
  end
end

--- Breaks long lines of a chat between words, and indents what follows. Once per window, because the
--- user may decide otherwise.
local function set_wrapping(window)
  local buffer = api.nvim_win_get_buf(window)
  if vim.w[window].flemma_wraps ~= buffer then
    vim.w[window].flemma_wraps = buffer
    vim.wo[window][0].linebreak = true
    vim.wo[window][0].breakindent = true
  end
end

--- Shows the winbar in all windows of a chat, or removes it, as the options say.
---@param buffer integer
function M.show_winbar(buffer)
  local enabled = require("flemma.config").get().winbar
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    set_winbar(window, enabled)
    set_wrapping(window)
  end
end

--- Follows a change of the options.
---@param chats table<integer, any> By buffer.
function M.configure(chats)
  for buffer in pairs(chats) do
    M.show_winbar(buffer)
  end
end

local function redraw()
  vim.cmd("redrawstatus!")
end

--- Tells |flemma.progress| what a chat does.
local function follow(buffer)
  require("flemma.progress").update(buffer, assert(M.get(buffer)))
end

--- Draws the time of what is happening, and stops when nothing is.
local function tick()
  local is_moving = false
  for buffer, state in pairs(states) do
    if state.message.elapsed_ms then
      is_moving = true
      follow(buffer)
    end
  end
  if is_moving then
    redraw()
  elseif timer then
    timer:close()
    timer = nil
  end
end

--- Takes over the state of a chat.
---@param message flemma.protocol.Statusline
function M.statusline(message)
  states[message.buffer] = { message = message, since = vim.uv.now(), drawn = {} }
  if message.elapsed_ms and not timer then
    timer = assert(vim.uv.new_timer())
    timer:start(TICK_MS, TICK_MS, vim.schedule_wrap(tick))
  end
  if message.elapsed_ms then
    follow(message.buffer)
  end
  redraw()
end

--- Forgets the state of a chat whose host exited.
---@param buffer integer
function M.lost(buffer)
  states[buffer] = nil
  redraw()
end

--- Returns the state of a chat as the host words it, for `require("flemma").statusline()`.
---@param buffer integer
---@return string
function M.text(buffer)
  local state = states[buffer]
  return state and (require("flemma.notices").escape(state.message.text):gsub("%%", "%%%%")) or ""
end

return M
