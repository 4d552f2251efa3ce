--- The state of a call, for the end of its header line.
---@class flemma.render.state
local M = {}

local notices = require("flemma.notices")
local pure = require("flemma.render.pure")
local wrap = require("flemma.wrap")

local FRAMES = { "◐", "◓", "◑", "◒" }
local OUTCOMES = {
  pending = { "●", "FlemmaToolPending" },
  asking = { "?", "FlemmaToolPending" },
  done = { "✓", "FlemmaToolSuccess" },
  failed = { "✗", "FlemmaToolError" },
}
--- Least columns of a detail that says something.
local LEAST = 8

--- Returns the state of a call, without the blank that Neovim puts before it.
---@param placed flemma.render.Placed
---@param frame integer Of the spinner.
---@param room integer In columns; a detail is cut to fit.
---@return string[][] chunks Of virtual text.
function M.text(placed, frame, room)
  local item = placed.item
  local label = notices.escape(item.label or "")
  if item.state == "running" then
    local elapsed = (item.elapsed_ms or 0) + vim.uv.now() - placed.since
    local sign = FRAMES[frame % #FRAMES + 1] .. (label ~= "" and " " or "")
    return { { ("%s%s %s"):format(sign, label, pure.elapsed(elapsed)), "FlemmaSpinner" } }
  end
  local outcome = OUTCOMES[item.state] or { "", "FlemmaToolPending" }
  label = label == "" and item.state == "pending" and "needs approval" or label
  local text = vim.trim(outcome[1] .. " " .. label)
  -- The sign says it as well, and a part of a word nothing.
  text = vim.api.nvim_strwidth(text) <= room and text or outcome[1]
  local chunks = { { text, outcome[2] } }
  local left = room - vim.api.nvim_strwidth(text) - 2
  if item.detail and left >= LEAST then
    chunks[2] = { "  " .. wrap.cut(notices.escape(item.detail), left), "FlemmaToolPreview" }
  end
  return chunks
end

return M
