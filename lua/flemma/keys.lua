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
  map("n", keymaps.normal.cancel, press("cancel"), "cancel")
  map("i", keymaps.insert.send, advance_from_insert, "review, run or send")
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
