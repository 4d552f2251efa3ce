--- The outline of a chat: its messages, and their calls and results, as a location list.
---@class flemma.outline
local M = {}

--- Kinds of symbols that are messages; all others are inside one.
local MESSAGE = "Class"

--- What has which color in the list.
local COLORS = {
  { "FlemmaUser", "^@You:" },
  { "FlemmaAssistant", "^@Assistant:" },
  { "FlemmaSystem", "^@System:" },
  { "FlemmaThinking", "^  thinking.*" },
  { "FlemmaToolUse", "^  → \\S*" },
  { "FlemmaToolSuccess", "^  ✓ \\S*" },
  { "FlemmaToolError", "^  ✗ \\S*" },
  { "FlemmaToolPending", "^  ● \\S*" },
}

--- Returns the lines of the list, for 'quickfixtextfunc'.
---@param info { id: integer, winid: integer, start_idx: integer, end_idx: integer }
---@return string[]
function M.lines(info)
  local items = vim.fn.getloclist(info.winid, { id = info.id, items = 1 }).items
  local lines = {}
  for at = info.start_idx, info.end_idx do
    local kind, text = items[at].text:match("^%[(%a+)%] (.*)$")
    lines[#lines + 1] = (kind == MESSAGE and "" or "  ") .. (text or items[at].text)
  end
  return lines
end

--- Shows the list at the entry of the cursor's line.
local function show(list)
  local row, at = vim.api.nvim_win_get_cursor(0)[1], 1
  for number, item in ipairs(list.items) do
    at = item.lnum <= row and number or at
  end
  vim.fn.setloclist(0, {}, " ", {
    title = list.title,
    items = list.items,
    idx = at,
    quickfixtextfunc = "v:lua.require'flemma.outline'.lines",
  })
  vim.cmd.lopen()
  vim.wo[0][0].wrap = false
  vim.bo.syntax = ""
  for _, color in ipairs(COLORS) do
    vim.cmd.syntax({ "match", color[1], "/" .. color[2] .. "/" })
  end
end

--- Opens the outline of the current chat.
function M.open()
  require("flemma.lsp").start(vim.api.nvim_get_current_buf())
  vim.lsp.buf.document_symbol({ on_list = show })
end

return M
