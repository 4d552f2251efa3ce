--- Tables of state by buffer, which lose a buffer's entry when its chat is closed.
---@class flemma.state
local M = {}

---@type table<integer, any>[]
local tables = {}

---@return table<integer, any>
function M.by_buffer()
  local state = {}
  tables[#tables + 1] = state
  return state
end

---@param buffer integer
function M.forget(buffer)
  for _, state in ipairs(tables) do
    state[buffer] = nil
  end
end

return M
