--- Numbers for the user's Lua functions, by which the host refers to them. A number is
--- never used twice, so that a late question cannot reach another function.
---@class flemma.callbacks
local M = {}

---@type table<integer, function>
local callbacks = {}
local last_id = 0

--- Gives a function a number.
---@param callback function
---@return integer id
function M.add(callback)
  last_id = last_id + 1
  callbacks[last_id] = callback
  return last_id
end

--- Forgets functions by their numbers.
---@param ids integer[] May have holes.
function M.drop(ids)
  for _, id in pairs(ids) do
    callbacks[id] = nil
  end
end

---@param id integer
---@return function?
function M.get(id)
  return callbacks[id]
end

return M
