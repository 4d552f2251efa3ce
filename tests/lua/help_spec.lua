--- The help files say what the plugin does: commands have tags, and examples are valid.
-- luacheck: globals test same

local root =
  vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p"))))

---@return table<string, string[]> lines By file name.
local function help_files()
  local files = {}
  for _, path in ipairs(vim.fn.glob(root .. "/doc/*.txt", true, true)) do
    files[vim.fs.basename(path)] = vim.fn.readfile(path)
  end
  return files
end

--- Returns the code blocks of a language: lines between `>lua` and `<`.
---@param lines string[]
---@param language string
---@return { line: integer, text: string }[]
local function blocks(lines, language)
  local found, current = {}, nil
  for number, line in ipairs(lines) do
    if current and not line:match("^%s") and line ~= "" then
      table.insert(found, { line = current.line, text = table.concat(current, "\n") })
      current = nil
    elseif current then
      table.insert(current, line)
    end
    if line:match("^>" .. language .. "$") or line:match("%s>" .. language .. "$") then
      current = { line = number + 1 }
    end
  end
  return found
end

test("Lua in the help compiles", function()
  local invalid, count = {}, 0
  for file, lines in pairs(help_files()) do
    for _, block in ipairs(blocks(lines, "lua")) do
      count = count + 1
      -- Some examples show a part of a table.
      local ok = loadstring(block.text) or loadstring("return {" .. block.text .. "}")
      if not ok then
        table.insert(invalid, ("%s:%d"):format(file, block.line))
      end
    end
  end
  same(invalid, {})
  assert(count > 10, count)
end)

test("the cookbook lists its recipes", function()
  local lines = help_files()["flemma-cookbook.txt"]
  local listed, written = {}, {}
  for _, line in ipairs(lines) do
    local number, tag = line:match("^%s+(%d+)%. .*|(flemma%-cookbook%-[%l]+)|$")
    listed[number or 0] = tag
    number, tag = line:match("^(%d+)%. .*%*(flemma%-cookbook%-[%l]+)%*$")
    written[number or 0] = tag
  end
  same(written, listed)
  assert(vim.tbl_count(written) >= 10)
end)
