--- Reports: they are shown again in their window, and only their own chat updates them.
-- luacheck: globals test same

local api = vim.api
local report = require("flemma.report")

local function shown()
  return api.nvim_buf_get_lines(0, 0, -1, true)
end

local function context(chat, lines, is_update)
  report.report({ title = "context", lines = lines, buffer = chat, places = { { 0, 2 } }, is_update = is_update })
end

local function chat_of(lines)
  local chat = api.nvim_create_buf(true, false)
  api.nvim_buf_set_lines(chat, 0, -1, true, lines)
  return chat
end

test("a report is shown again in its window, and an update takes no focus", function()
  local chat = chat_of({ "one", "two", "three" })
  api.nvim_set_current_buf(chat)
  local window = api.nvim_get_current_win()
  context(chat, { "about 5" })
  local its = api.nvim_get_current_win()
  same(shown(), { "about 5" })
  api.nvim_set_current_win(window)
  context(chat, { "exactly 6" }, true)
  same({ api.nvim_get_current_win(), shown()[1] }, { window, "one" })
  context(chat, { "about 7" })
  same({ api.nvim_get_current_win(), shown()[1] }, { its, "about 7" })
  -- <CR> goes to the message.
  api.nvim_feedkeys(api.nvim_replace_termcodes("<CR>", true, false, true), "tx", false)
  same({ api.nvim_get_current_win(), api.nvim_win_get_cursor(0)[1] }, { window, 3 })
  api.nvim_win_close(its, true)
end)

test("an update for another chat, or for a report that was closed, changes nothing", function()
  local chat, other = chat_of({ "one" }), chat_of({ "two" })
  api.nvim_set_current_buf(chat)
  context(chat, { "about 5" })
  context(other, { "exactly 9" }, true)
  same(shown(), { "about 5" })
  context(chat, { "exactly 6" }, true)
  same(shown(), { "exactly 6" })
  vim.cmd.close()
  local windows = #api.nvim_list_wins()
  context(chat, { "exactly 8" }, true)
  same(#api.nvim_list_wins(), windows)
end)
