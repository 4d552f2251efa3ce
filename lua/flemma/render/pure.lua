--- What |flemma.render| computes: marks that differ, and elapsed times.
---@class flemma.render.pure
local M = {}

--- Compares marks with those that the host now wants.
---@param placed table<string, flemma.render.Placed>
---@param items flemma.protocol.Mark[]
---@return flemma.protocol.Mark[] set
---@return string[] remove
function M.diff(placed, items)
  local set, remove, kept = {}, {}, {}
  for _, item in ipairs(items) do
    kept[item.id] = true
    local old = placed[item.id]
    if not old or not vim.deep_equal(old.item, item) then
      set[#set + 1] = item
    end
  end
  for id in pairs(placed) do
    if not kept[id] then
      remove[#remove + 1] = id
    end
  end
  return set, remove
end

--- Formats an elapsed time: `3s`, `2m05s`.
---@param ms number
---@return string
function M.elapsed(ms)
  local seconds = math.floor(ms / 1000)
  if seconds < 60 then
    return ("%ds"):format(seconds)
  end
  return ("%dm%02ds"):format(math.floor(seconds / 60), seconds % 60)
end

return M
