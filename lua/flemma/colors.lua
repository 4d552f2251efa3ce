--- Arithmetic with colors.
---@class flemma.colors
local M = {}

--- Splits a color.
---@param color integer RGB.
---@return integer red
---@return integer green
---@return integer blue
function M.split(color)
  return math.floor(color / 0x10000), math.floor(color / 0x100) % 0x100, color % 0x100
end

--- Returns how much two colors differ in the channel that differs most.
---@param one integer
---@param other integer
---@return integer
function M.difference(one, other)
  local most, from, to = 0, { M.split(one) }, { M.split(other) }
  for at = 1, 3 do
    most = math.max(most, math.abs(from[at] - to[at]))
  end
  return most
end

--- Mixes two colors.
---@param from integer
---@param to integer
---@param share number Of the second color, from 0 to 1.
---@return integer
function M.mix(from, to, share)
  local mixed, one, other = 0, { M.split(from) }, { M.split(to) }
  for at = 1, 3 do
    mixed = mixed * 0x100 + math.floor(one[at] + (other[at] - one[at]) * share)
  end
  return mixed
end

---@return number luminance As WCAG defines it, from 0 to 1.
local function luminance(color)
  local red, green, blue = M.split(color)
  local function linear(value)
    value = value / 255
    return value <= 0.04045 and value / 12.92 or ((value + 0.055) / 1.055) ^ 2.4
  end
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
end

--- Returns the contrast of two colors, from 1 to 21.
---@param one integer
---@param other integer
---@return number
function M.contrast(one, other)
  local dark, light = luminance(one), luminance(other)
  if dark > light then
    dark, light = light, dark
  end
  return (light + 0.05) / (dark + 0.05)
end

return M
