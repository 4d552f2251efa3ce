--- Checks the help file: no duplicate tags, and no links to missing flemma tags. Works on
--- a copy, so that no tags file is left in the tree.
--- Run as `nvim -l scripts/help-tags.lua DOC_FOLDER`.

local folder = _G.arg[1]
local problems = {} ---@type string[]

local copy = vim.fn.tempname()
vim.fn.mkdir(copy, "p")
local known = {} ---@type table<string, true>
local links = {} ---@type { file: string, line: integer, tag: string }[]

for _, path in ipairs(vim.fn.glob(folder .. "/*.txt", true, true)) do
  local lines = vim.fn.readfile(path)
  vim.fn.writefile(lines, copy .. "/" .. vim.fs.basename(path))
  for number, line in ipairs(lines) do
    for tag in line:gmatch("%*([^%s*|]+)%*") do
      known[tag] = true
    end
    for tag in line:gmatch("|([^%s*|]+)|") do
      if tag:lower():find("flemma", 1, true) then
        table.insert(links, { file = path, line = number, tag = tag })
      end
    end
  end
end

-- :helptags fails in a folder without help files.
if next(known) then
  local ok, message = pcall(vim.cmd.helptags, copy)
  if not ok then
    table.insert(problems, tostring(message))
  end
end
for _, link in ipairs(links) do
  if not known[link.tag] then
    table.insert(problems, ("%s:%d: |%s| links to no tag."):format(link.file, link.line, link.tag))
  end
end

vim.fn.delete(copy, "rf")
for _, problem in ipairs(problems) do
  io.stderr:write(problem .. "\n")
end
os.exit(#problems == 0 and 0 or 1)
