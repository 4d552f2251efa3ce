--- Insert-mode completion of `@` and a tool's name, which makes that tool available to the
--- chat.
---@class flemma.complete
local M = {}

---@type { name: string, source: string, about: string }[]
local known = {}

---@param message flemma.protocol.KnownTools
function M.known_tools(message)
  known = message.items
end

--- For 'omnifunc', see |complete-functions|.
---@param findstart integer
---@param base string
---@return integer|table[]
function M.omni(findstart, base)
  if findstart == 1 then
    local column = vim.api.nvim_win_get_cursor(0)[2]
    local start = vim.api.nvim_get_current_line():sub(1, column):find("@[%w_-]*$")
    -- -3 cancels without a message.
    return start and start - 1 or -3
  end
  local items = {}
  for _, tool in ipairs(known) do
    local word = "@" .. tool.name
    if vim.startswith(word, base) then
      items[#items + 1] = { word = word, menu = tool.source, info = tool.about }
    end
  end
  return items
end

return M
