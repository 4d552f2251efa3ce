--- A component for lualine.nvim: `sections = { lualine_x = { "flemma" } }`. Shows nothing in
--- buffers that are not chats.
local M = require("lualine.component"):extend()

--- Columns if the option `width` is not set: the other components need room, too.
local WIDTH = 60

--- Returns a highlight of lualine's, which has the background of its section.
---@return any? token
local function warning(component)
  local color = vim.api.nvim_get_hl(0, { name = "FlemmaWinbarWarning", link = false }).fg
  -- Earlier versions of lualine have no such function.
  if color and component.create_hl then
    return component:create_hl({ fg = ("#%06x"):format(color) }, "warning")
  end
end

---@param options table `width`: most columns.
function M:init(options)
  M.super.init(self, options)
  self.warning = warning(self)
end

--- Returns the state of the current chat. All of it is highlighted if the context is nearly
--- full.
---@return string
function M:update_status()
  local status = package.loaded["flemma.status"]
  local info = status and status.get()
  if not info then
    return ""
  end
  local text = status.line(nil, self.options.width or WIDTH):gsub("%%", "%%%%")
  if info.nearly_full and self.warning then
    return self:format_hl(self.warning) .. text
  end
  return text
end

return M
