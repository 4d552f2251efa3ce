--- The arguments of answered calls as fields, and their hidden JSON.
-- luacheck: globals test same

local api = vim.api
local render = require("flemma.render")
local marks = api.nvim_create_namespace("flemma.marks")
local json = api.nvim_create_namespace("flemma.json")

local TEXT = {
  "@Assistant:",
  "**Tool Use:** `bash` (`t`)",
  "",
  "```json",
  '{"command": "ls"}',
  "```",
  "",
  "@You:",
}

--- Shows a chat in the current window whose call has these fields.
---@param fields flemma.protocol.Field[]
---@return integer buffer
local function chat(fields)
  vim.cmd.enew({ bang = true })
  local buffer = api.nvim_get_current_buf()
  api.nvim_buf_set_lines(buffer, 0, -1, false, TEXT)
  api.nvim_win_set_cursor(0, { 8, 0 })
  render.marks({
    buffer = buffer,
    items = { { id = "t call 1", line = 2, header_line = 1, fields = fields, json = { 3, 6 } } },
  })
  return buffer
end

---@param buffer integer
---@return string[] lines Virtual ones.
local function drawn(buffer)
  local lines = {}
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buffer, marks, 0, -1, { details = true })) do
    for _, line in ipairs(mark[4].virt_lines or {}) do
      lines[#lines + 1] = ("%d:%s"):format(
        mark[2],
        vim.iter(line):fold("", function(text, chunk)
          return text .. chunk[1]
        end)
      )
    end
  end
  return lines
end

---@param buffer integer
---@return integer[][] ranges First and last hidden line.
local function hidden(buffer)
  return vim.tbl_map(function(mark)
    return { mark[2], mark[4].end_row }
  end, api.nvim_buf_get_extmarks(buffer, json, 0, -1, { details = true }))
end

---@param line integer
local function go(line)
  api.nvim_win_set_cursor(0, { line, 0 })
  api.nvim_exec_autocmds("CursorMoved", {})
end

test("an answered call shows its arguments as fields above its JSON", function()
  local buffer =
    chat({ { "command", "ls", false }, { "       ", "… 2 more lines", true }, { "a\27", "b\155", false } })
  same(drawn(buffer), { "2:  command  ls", "2:           … 2 more lines", "2:  a^[  b" .. vim.fn.strtrans("\155") })
  same(hidden(buffer), { { 3, 5 } })
  render.marks({ buffer = buffer, items = {} })
  same({ drawn(buffer), hidden(buffer) }, { {}, {} })
  vim.cmd.bwipeout({ bang = true })
end)

test("a pending call has fields between its preview and its keys, and its JSON comes back if they are cut", function()
  local buffer = chat({})
  local function show(lines)
    local item = { id = "p", line = 7, header_line = 7, state = "pending", preview = "bash: $ ls…", json = lines }
    item.fields = { { "command", "ls -l", false } }
    render.marks({ buffer = buffer, items = { item } })
  end
  show({ 3, 6 })
  same({ drawn(buffer)[1], drawn(buffer)[2] }, { "6:bash: $ ls…", "6:  command  ls -l" })
  assert(drawn(buffer)[3]:find("runs", 1, true), drawn(buffer)[3])
  same(hidden(buffer), { { 3, 5 } })
  show(nil)
  same(hidden(buffer), {})
  vim.cmd.bwipeout({ bang = true })
end)

test("the JSON is shown while the cursor is in it", function()
  local buffer = chat({ { "command", "ls", false } })
  go(5)
  same(hidden(buffer), {})
  go(6)
  same(hidden(buffer), {})
  go(7)
  same(hidden(buffer), { { 3, 5 } })
  -- An edit above moves it.
  api.nvim_buf_set_lines(buffer, 0, 0, false, { "", "" })
  same(hidden(buffer), { { 5, 7 } })
  go(6)
  same(hidden(buffer), {})
  vim.cmd.bwipeout({ bang = true })
end)

test("lines with hidden JSON are not drawn where 'conceallevel' is 2", function()
  local buffer = chat({})
  local function height()
    return api.nvim_win_text_height(0, {}).all
  end
  vim.wo.conceallevel = 0
  same(height(), #TEXT)
  vim.wo.conceallevel = 2
  same(height(), #TEXT - 3)
  vim.wo.conceallevel = 0
  render.forget(buffer)
  same(hidden(buffer), {})
  vim.cmd.bwipeout({ bang = true })
end)
