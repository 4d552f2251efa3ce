--- Questions of the host to the user, in the user's own |vim.ui|.
---@class flemma.prompts
local M = {}

local host = require("flemma.host")
local notices = require("flemma.notices")
local window = require("flemma.window")

--- Asks the user, and sends the answer.
---@param message flemma.protocol.Prompt
function M.prompt(message)
  local title = notices.escape(message.title)
  local asker = host.channel()
  local function answer(text, item)
    local payload = { ask = message.ask, text = text, item = item and item - 1 }
    if not host.answer(asker, "prompted", payload) and (text or item) then
      local why = "The host stopped before you answered, so your answer was not used."
      notices.notify({ level = "info", message = why })
    end
  end
  -- Scheduled, because Neovim's own prompts block the caller.
  vim.schedule(function()
    if host.channel() ~= asker then
      return
    end
    if message.items then
      window.select(message.items, { prompt = title, kind = "flemma", format_item = notices.escape }, function(_, item)
        require("flemma.report").close_diff()
        answer(nil, item)
      end)
    else
      window.input({ prompt = title .. " ", default = message.initial }, answer)
    end
  end)
end

return M
