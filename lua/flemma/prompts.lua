--- Asks the user one thing at a time, with the user's own picker and line. What is
--- asked, and what an answer means, is the host's business.
---@class flemma.prompts
local M = {}

local host = require("flemma.host")
local notices = require("flemma.notices")

--- Asks, and tells the host what came of it.
---@param message flemma.protocol.Prompt
function M.prompt(message)
  local title = notices.escape(message.title)
  local asker = host.channel()
  ---@param text string?
  ---@param item integer?
  local function answer(text, item)
    local payload = { ask = message.ask, text = text, item = item and item - 1 }
    if not host.answer(asker, "prompted", payload) and (text or item) then
      notices.notify({
        level = "info",
        message = "The host that asked this has stopped, so your answer was not used.",
      })
    end
  end
  -- Later: a list or a line that Neovim itself shows holds up whoever calls it.
  vim.schedule(function()
    if host.channel() ~= asker then
      return
    end
    if message.items then
      vim.ui.select(message.items, { prompt = title, kind = "flemma", format_item = notices.escape }, function(_, item)
        answer(nil, item)
      end)
    else
      vim.ui.input({ prompt = title .. " ", default = message.initial }, answer)
    end
  end)
end

return M
