--- Autocommands that all chats share.
---@class flemma.buffer.autocommands
local M = {}

local api = vim.api

local group ---@type integer

--- Removes the autocommands that there are, before others are added.
function M.clear()
  group = api.nvim_create_augroup("flemma.buffer", { clear = true })
end

--- Calls `callback` after events in any buffer.
---@param events string|string[]
---@param description string
---@param callback fun(buffer: integer)
---@param pattern? string
function M.on(events, description, callback, pattern)
  api.nvim_create_autocmd(events, {
    group = group,
    pattern = pattern,
    desc = "flemma: " .. description,
    callback = function(event)
      -- `OptionSet` is without a buffer, and happens in the one that it is about.
      callback(event.buf ~= 0 and event.buf or api.nvim_get_current_buf())
    end,
  })
end

--- Calls `callback` when 'modified' may have changed.
---@param description string
---@param callback fun(buffer: integer)
function M.on_modified(description, callback)
  if vim.fn.exists("##BufModifiedSet") == 1 then
    M.on("BufModifiedSet", description, callback)
  else
    -- Since Neovim 0.13.
    M.on("OptionSet", description, callback, "modified")
  end
end

return M
