--- `:Flemma pending`: a picker of the calls of all open chats that wait for the user.
---@class flemma.pending
local M = {}

local api = vim.api

---@class flemma.pending.Item
---@field buffer integer
---@field id string The call's id.
---@field text string What the picker shows.

--- Returns what the picker shows for a call: its chat, and the first line of its preview.
local function describe(buffer, mark)
  local name = vim.fs.basename(api.nvim_buf_get_name(buffer))
  local line = vim.trim((mark.preview or mark.label or ""):match("^%s*([^\n]*)"))
  local counts = mark.diff and mark.diff[1] and (mark.diff[1].counts .. "  ") or ""
  local text = ("%s  %s%s"):format(name ~= "" and name or "[No Name]", counts, line)
  -- In Neovim's own list, a number is before it.
  return require("flemma.wrap").cut(require("flemma.notices").escape(text), vim.o.columns - 5)
end

--- Returns the calls of all open chats.
---@return flemma.pending.Item[]
function M.items()
  local items = {}
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].filetype == "chat" then
      for _, mark in ipairs(require("flemma.render").pending(buffer)) do
        items[#items + 1] = { buffer = buffer, id = mark.id, text = describe(buffer, mark) }
      end
    end
  end
  return items
end

--- Goes to a call, so that the keys for calls apply to it.
local function go(item)
  -- The chat may have changed while the picker was open.
  local found = vim.iter(M.items()):find(function(other)
    return other.buffer == item.buffer and other.id == item.id
  end)
  if not found then
    return require("flemma.notices").notify({ level = "info", message = "That call is not pending any more." })
  end
  require("flemma.ask").enter(item.buffer)
  local mark = vim.iter(require("flemma.render").pending(item.buffer)):find(function(other)
    return other.id == item.id
  end)
  api.nvim_win_set_cursor(0, { mark.header_line + 1, 0 })
  vim.cmd.normal({ "zvzz", bang = true })
end

--- Lets the user pick one of the pending calls.
function M.pick()
  local items = M.items()
  if #items == 0 then
    return require("flemma.notices").notify({ level = "info", message = "No call of an open chat is pending." })
  end
  require("flemma.window").select(items, {
    prompt = "Pending calls",
    kind = "flemma.pending",
    format_item = function(item)
      return item.text
    end,
  }, function(item)
    if item then
      go(item)
    end
  end)
end

return M
