--- The keys of a chat: their mappings, and what is typed.
---@class flemma.keys
local M = {}

local api = vim.api
local config = require("flemma.config")
local mirror = require("flemma.mirror")

--- Ctrl-C, as |vim.on_key()| gets it.
local INTERRUPT = "\3"
local KEYS = api.nvim_create_namespace("flemma.keys")

---@param name string
---@param arguments? table
local function command(name, arguments)
  require("flemma.buffer").command(name, arguments)
end

--- Ctrl-] in Insert mode leaves it until the host returns to it.
local function advance_from_insert()
  vim.cmd.stopinsert()
  vim.schedule(function()
    command("advance", { insert = true })
  end)
end

--- Maps movements and text objects.
---@param map fun(mode: string|string[], key: string|false, action: fun(), description: string)
---@param keymaps table
function M.set_movements(map, keymaps)
  local function go(kind, forward)
    return function()
      require("flemma.navigate").go(kind, forward)
    end
  end
  local everywhere, keys = { "n", "x", "o" }, keymaps.normal
  map(everywhere, keys.next_message, go("messages", true), "next message")
  map(everywhere, keys.previous_message, go("messages", false), "previous message")
  map(everywhere, keys.next_call, go("calls", true), "next call")
  map(everywhere, keys.previous_call, go("calls", false), "previous call")
  map("n", keys.definition, function()
    require("flemma.lsp").start(api.nvim_get_current_buf())
    vim.lsp.buf.definition()
  end, "from a call to its result and back, or to a file")
  map("n", keys.outline, function()
    require("flemma.outline").open()
  end, "outline")
  map({ "x", "o" }, keymaps.operator.inner_message, function()
    require("flemma.navigate").select_text()
  end, "text of a message")
  map({ "x", "o" }, keymaps.operator.a_message, function()
    require("flemma.navigate").select_message()
  end, "a message")
end

--- Maps the keys of a chat.
---@param buffer integer
function M.set(buffer)
  local keymaps = config.get().keymaps
  if not keymaps.enabled then
    return
  end
  local function map(mode, key, action, description)
    if key and key ~= "" then
      vim.keymap.set(mode, key, action, { buffer = buffer, desc = "Flemma: " .. description })
    end
  end
  local function press(name)
    return function()
      command(name)
    end
  end
  map("n", keymaps.normal.send, press("advance"), "review, run or send")
  map("n", keymaps.normal.tool_execute, press("resolve"), "run or resolve the call at the cursor")
  map("n", keymaps.normal.approve_all, function()
    command("approve", { ["1"] = "all" })
  end, "run all pending calls")
  map("n", keymaps.normal.reject, function()
    require("flemma.commands").reject()
  end, "refuse the call at the cursor")
  local review = keymaps.normal.review
  if review and review ~= "" then
    vim.keymap.set("n", review, function()
      local at_diff = require("flemma.render").has_diff(buffer, api.nvim_win_get_cursor(0)[1] - 1)
      return at_diff and "<Cmd>Flemma review<CR>" or review
    end, { buffer = buffer, expr = true, desc = "Flemma: review the change at the cursor" })
  end
  map("n", keymaps.normal.cancel, press("cancel"), "cancel")
  map("i", keymaps.insert.send, advance_from_insert, "review, run or send")
  M.set_movements(map, keymaps)
end

--- Counts typed keys for |flemma.mirror|, and handles Ctrl-C while an answer streams: between
--- two messages of the host Neovim takes it as an interrupt and ignores the mapping.
---@param chats table<integer, any> The chats by buffer.
function M.follow(chats)
  vim.on_key(function(key, typed)
    if not chats[api.nvim_get_current_buf()] then
      return
    end
    mirror.note_key(typed)
    if key ~= INTERRUPT or api.nvim_get_mode().mode ~= "n" then
      return
    end
    local keymaps = config.get().keymaps
    if keymaps.enabled and vim.keycode(keymaps.normal.cancel or "") == INTERRUPT then
      vim.schedule(function()
        command("cancel")
      end)
    end
  end, KEYS)
end

return M
