--- The keys of a chat: their mappings, and what is typed.
---@class flemma.keys
local M = {}

local api = vim.api
local config = require("flemma.config")
local mirror = require("flemma.mirror")

--- Ctrl-C, as |vim.on_key()| gets it.
local INTERRUPT = "\3"
local KEYS = api.nvim_create_namespace("flemma.keys")

local function command(name, arguments)
  require("flemma.buffer").command(name, arguments)
end

--- What the keys do that decide about calls, and its description, by option.
local ACTIONS = {
  tool_execute = {
    function()
      command("resolve")
    end,
    "run or resolve the call at the cursor",
  },
  try = {
    function()
      command("try")
    end,
    "try the command at the cursor",
  },
  approve_all = {
    function()
      command("approve", { ["1"] = "all" })
    end,
    "run all pending calls",
  },
  reject = {
    function()
      require("flemma.commands").reject()
    end,
    "refuse the call at the cursor",
  },
  allow = {
    function()
      command("allow")
    end,
    "choose a rule that approves calls like the one at the cursor",
  },
}

--- Ctrl-] in Insert mode leaves it until the host returns to it.
local function advance_from_insert()
  vim.cmd.stopinsert()
  vim.schedule(function()
    command("advance", { insert = true })
  end)
end

--- Goes from a call to its result and back, or to the file of a reference.
local function go_to_definition()
  require("flemma.lsp").start(api.nvim_get_current_buf())
  if not vim.wo.winfixbuf then
    return vim.lsp.buf.definition()
  end
  -- Neovim itself fails in such a window.
  vim.lsp.buf.definition({
    on_list = function(list)
      local item = list.items[1]
      require("flemma.window").file(item.filename)
      api.nvim_win_set_cursor(0, { item.lnum, item.col - 1 })
    end,
  })
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
  map(everywhere, keys.next_message, go("to_message", true), "next message")
  map(everywhere, keys.previous_message, go("to_message", false), "previous message")
  map(everywhere, keys.next_call, go("to_call", true), "next call")
  map(everywhere, keys.previous_call, go("to_call", false), "previous call")
  map("n", keys.definition, go_to_definition, "from a call to its result and back, or to a file")
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
  for _, name in ipairs({ "tool_execute", "try", "approve_all", "reject" }) do
    map("n", keymaps.normal[name], ACTIONS[name][1], ACTIONS[name][2])
  end
  local review = keymaps.normal.review
  if review and review ~= "" then
    vim.keymap.set("n", review, function()
      local render, line = require("flemma.render"), api.nvim_win_get_cursor(0)[1] - 1
      local opens = render.waits_at(buffer, line) or render.has_changes(buffer, line)
      return opens and "<Cmd>Flemma review<CR>" or review
    end, { buffer = buffer, expr = true, desc = "Flemma: decide or review at the cursor" })
  end
  for _, twin in ipairs({ "tool_execute", "try", "approve_all", "reject", "allow" }) do
    map("n", keymaps.leader[twin], ACTIONS[twin][1], ACTIONS[twin][2])
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
