--- The user's Lua functions, by the number that the host knows each by. Knows
--- neither what a function is for nor who asks for it.
---@class flemma.callbacks
local M = {}

---@type table<integer, function>
local callbacks = {}
--- Numbers are never used twice, so that a question about an old function cannot
--- reach a new one.
local last_id = 0

--- Gives a function a number.
---@param callback function
---@return integer id
function M.add(callback)
  last_id = last_id + 1
  callbacks[last_id] = callback
  return last_id
end

--- Forgets functions. Their numbers answer to nothing from now on.
---@param ids integer[]
function M.drop(ids)
  for _, id in ipairs(ids) do
    callbacks[id] = nil
  end
end

---@param id integer
---@return function?
function M.get(id)
  return callbacks[id]
end

return M
