--- Insert-mode completion by CTRL-X CTRL-O, with the words of |flemma.lsp|. It opens the menu
--- itself: `vim.lsp.omnifunc()` of Neovim 0.13 inserts what was typed instead of a word that
--- does not begin with it, and shows no `detail`.
---@class flemma.complete
local M = {}

local api = vim.api

--- Returns the items that the typed word may become. The host has filtered a list that is not
--- complete.
local function matching(list, typed)
  if list.isIncomplete or typed == "" then
    return list.items
  elseif vim.o.completeopt:find("fuzzy", 1, true) then
    return vim.fn.matchfuzzy(list.items, typed, { key = "filterText" })
  end
  return vim.tbl_filter(function(item)
    return vim.startswith(item.filterText:lower(), typed:lower())
  end, list.items)
end

--- Converts an item, see |complete-items|.
local function word(item)
  return {
    word = item.textEdit.newText,
    abbr = item.label,
    kind = vim.lsp.protocol.CompletionItemKind[item.kind],
    menu = item.detail,
    info = item.documentation and item.documentation.value or "",
    icase = 1,
    dup = 1,
  }
end

--- Opens the menu if the cursor is still in the line, in Insert mode.
---@param row integer From one.
local function open(list, row)
  local cursor = api.nvim_win_get_cursor(0)
  local first = list and list.items[1]
  if not first or cursor[1] ~= row or not api.nvim_get_mode().mode:find("^ic?$") then
    return
  end
  -- Columns are bytes.
  local start = first.textEdit.range.start.character
  local typed = api.nvim_get_current_line():sub(start + 1, cursor[2])
  vim.fn.complete(start + 1, vim.tbl_map(word, matching(list, typed)))
end

--- For 'omnifunc', see |complete-functions|. The menu opens when the host has answered.
---@param findstart integer
---@param base string
---@return integer|table[]
function M.omni(findstart, base)
  local buffer = api.nvim_get_current_buf()
  if findstart == 1 then
    require("flemma.lsp").start(buffer)
  end
  local clients = vim.lsp.get_clients({ bufnr = buffer, method = "textDocument/completion" })
  local client = clients[1]
  if #clients ~= 1 or client.name ~= "flemma" then
    -- Words of all servers.
    return vim.lsp.omnifunc(findstart, base)
  end
  local row = api.nvim_win_get_cursor(0)[1]
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  client:request("textDocument/completion", params, function(_, list)
    if api.nvim_get_current_buf() == buffer then
      open(list, row)
    end
  end, buffer)
  -- Continues the completion without a menu.
  return -2
end

return M
