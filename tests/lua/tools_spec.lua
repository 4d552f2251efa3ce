--- Tools, as users register and list them, and their calls.
-- luacheck: globals test same

local host = require("flemma.host")
local tools = require("flemma.tools")
local truncate = require("flemma.tools.truncate")

--- Runs `body`, and removes the tools that it registers.
---@param body fun()
local function clean(body)
  local ok, why = xpcall(body, debug.traceback)
  tools.clear()
  assert(ok, why)
end

---@param ... any For `register`.
---@return string problem
local function refused(...)
  local ok, why = pcall(tools.register, ...)
  assert(not ok, "it was registered")
  return (tostring(why):gsub("^.-tools%.register%(%): ", ""))
end

---@param fields table?
---@return table
local function definition(fields)
  return vim.tbl_extend("force", { description = "Does it", execute = function() end }, fields or {})
end

---@return string[]
local function names()
  local all = vim.tbl_keys(tools.get_all({ include_disabled = true }))
  table.sort(all)
  return all
end

test("every form of register() registers its tools", function()
  clean(function()
    package.preload["spec.definitions"] = function()
      return { definitions = { definition({ name = "m_1" }), definition({ name = "m_2" }) } }
    end
    package.preload["spec.resolve"] = function()
      return {
        resolve = function(register, done)
          register("r_1", definition())
          done()
        end,
      }
    end
    tools.register("named", definition())
    tools.register(definition({ name = "own_name" }))
    tools.register({ definition({ name = "b_1" }), definition({ name = "b_2" }) })
    tools.register({ by_key = definition() })
    tools.register("spec.definitions")
    tools.register("spec.resolve")
    tools.register(function(register, done)
      register("f_1", definition())
      register("f_2", definition())
      done()
    end)
    tools.register({
      timeout = 60,
      resolve = function(register, done)
        register("t_1", definition())
        done()
      end,
    })
    local all = { "b_1", "b_2", "by_key", "f_1", "f_2", "m_1", "m_2", "named", "own_name", "r_1", "t_1" }
    same(names(), all)
    same(tools.count(), #all)
    same(tools.is_ready(), true)
    same(tools.unregister("named"), true)
    same(tools.unregister("named"), false)
    same(tools.get("named"), nil)
  end)
end)

test("an invalid definition is an error where it was registered", function()
  clean(function()
    for _, row in ipairs({
      { { "a b", definition() }, 'the name "a b" cannot be sent to models' },
      { { "../../bash", definition() }, 'the name "../../bash" cannot' },
      { { ("x"):rep(65), definition() }, "at most 64" },
      { { "", definition() }, "a tool needs a name" },
      { { 7 }, "give it a name and a definition" },
      { { "t", {} }, '"t": it needs a description' },
      { { "t", definition({ name = "u" }) }, 'registered with the name "u" inside' },
      { { "t", definition({ input_schema = 7 }) }, "input_schema is a number; it must be a table" },
      { { "t", definition({ input_schema = { f = print } }) }, "input_schema.f is a function, which JSON cannot hold" },
      { { "t", definition({ execute = 7 }) }, "execute is a number; it must be a function" },
      { { "t", definition({ timeout = 0 }) }, "timeout is in seconds" },
      { { { definition({ name = "fine" }), definition() } }, "the tool at 2: a tool needs a name" },
      { { { resolve = 7 } }, "resolve is a number; it must be a function" },
      { { { timeout = "x", resolve = print } }, 'timeout is "x"' },
      { { "t", { cmds = { "make test" } } }, '"t": cmds[1] must be a function or a list of strings' },
      { { "t", { cmds = {}, output = { success = 1 } } }, "output.success is a number" },
      { { "no.such.module" }, 'there is no module "no.such.module"' },
    }) do
      local why = refused(unpack(row[1]))
      assert(why:find(row[2], 1, true), why)
    end
    local endless = {}
    endless.properties = endless
    local why = refused("t", definition({ input_schema = endless }))
    assert(why:find("contains itself", 1, true), why)
    same(names(), {})
  end)
end)

test("a source that raises an error, fails, or is done twice is reported once", function()
  clean(function()
    local reported, notices = {}, require("flemma.notices")
    local notify = notices.notify
    notices.notify = function(message)
      reported[#reported + 1] = message.message
    end
    tools.register(function()
      error("boom", 0)
    end)
    tools.register(function(register, done)
      register("kept", definition())
      register("a b", definition())
      done("the server is away")
      done("again")
    end)
    same(names(), { "kept" })
    notices.notify = notify
    same(tools.is_ready(), true)
    same(#reported, 3)
    assert(reported[1]:find("failed: boom", 1, true), reported[1])
    assert(reported[2]:find('the name "a b"', 1, true), reported[2])
    assert(reported[3]:find("failed: the server is away", 1, true), reported[3])
  end)
end)

test("tools are ready once all sources are done", function()
  clean(function()
    local finish
    tools.register(function(_, done)
      finish = done
    end)
    same(tools.is_ready(), false)
    local ready = false
    tools.on_ready(function()
      ready = true
    end)
    same(tools.wire().loading, true)
    finish()
    same(tools.wire().loading, false)
    vim.wait(1000, function()
      return ready
    end)
    same(ready, true)
  end)
end)

test("a source that is never done is given up after its timeout", function()
  clean(function()
    local reported, notices = "", require("flemma.notices")
    local notify = notices.notify
    notices.notify = function(message)
      reported = message.message
    end
    tools.register({ timeout = 0.01, resolve = function() end })
    same(tools.is_ready(), false)
    tools.get_all()
    vim.wait(1000, tools.is_ready)
    notices.notify = notify
    same(tools.is_ready(), true)
    assert(reported:find("it was not done within 0.01 seconds", 1, true), reported)
  end)
end)

test("a tool that is not enabled is registered and not offered", function()
  clean(function()
    require("flemma").options = { tools = { mine = { on = true } } }
    tools.register("off", definition({ enabled = false }))
    tools.register(
      "mine",
      definition({
        enabled = function(config)
          return config.on
        end,
      })
    )
    same(vim.tbl_keys(tools.get_all()), { "mine" })
    same(names(), { "mine", "off" })
    require("flemma").options = {}
  end)
end)

test("head and tail are cut by the same cases as in the host", function()
  local file = assert(io.open(vim.fs.joinpath(vim.o.runtimepath:match("^[^,]+"), "tests/cases/truncate.json")))
  local cases = vim.json.decode(file:read("*a"), { luanil = { object = true } })
  file:close()
  for _, case in ipairs(cases) do
    local limits = { max_lines = case.max_lines, max_bytes = case.max_bytes }
    local head, tail = truncate.truncate_head(case.text, limits), truncate.truncate_tail(case.text, limits)
    for _, name in ipairs({ "content", "truncated_by", "output_lines", "first_line_exceeds_limit" }) do
      same({ case.text, name, head[name] }, { case.text, name, case.head[name] })
    end
    for _, name in ipairs({ "content", "truncated_by", "output_lines", "last_line_partial" }) do
      same({ case.text, name, tail[name] }, { case.text, name, case.tail[name] })
    end
    same({ head.total_lines, head.total_bytes }, { case.total_lines, case.total_bytes })
    same(head.truncated, case.head.truncated_by ~= nil)
  end
  same(vim.tbl_map(truncate.format_size, { 3, 1023, 1024, 12345, 1572864, 1048575 }), {
    "3 B",
    "1023 B",
    "1.0 KB",
    "12.1 KB",
    "1.5 MB",
    "1.0 MB",
  })
end)

test("a long output is sent in pieces", function()
  clean(function()
    local sent, send = {}, host.send
    host.send = function(method, payload)
      if method == "tool_returned" then
        sent[#sent + 1] = payload
      end
      return true
    end
    local calls, callbacks = require("flemma.tools.calls"), require("flemma.callbacks")
    local text = ("x"):rep(100000)
    local id = callbacks.add(function()
      return { success = true, output = text }
    end)
    local message = {
      buffer = 0,
      call = 1,
      ["function"] = id,
      tool = "t",
      input = {},
      cwd = "/",
      path = "",
      folder = "/",
      timeout = 1,
    }
    calls.tool_call(message)
    host.send = send
    same(#sent, 3)
    local all = ""
    for index, piece in ipairs(sent) do
      same(piece.more, index < 3)
      all = all .. piece.text
    end
    same(all, text)
  end)
end)

test("a path is writable only below the folders of the policy, wherever links lead", function()
  local root = assert(vim.uv.fs_realpath(vim.fn.tempname():match("(.*)/")))
  root = root .. "/sandbox_spec"
  vim.fn.mkdir(root .. "/in/deep", "p")
  vim.fn.mkdir(root .. "/out", "p")
  assert(vim.uv.fs_symlink(root .. "/out", root .. "/in/link"))
  local policy = { writable = { root .. "/in" }, prefix = { "held", "--" } }
  local held = require("flemma.tools.sandbox").new(policy, function(path)
    return path:sub(1, 1) == "/" and path or root .. "/in/" .. path
  end)
  for path, writable in pairs({
    ["new/file.txt"] = true,
    [root .. "/in"] = true,
    [root .. "/inside"] = false,
    ["../out/x"] = false,
    ["deep/../../out"] = false,
    ["link/x"] = false,
    ["/etc/passwd"] = false,
  }) do
    same({ path, held.is_path_writable(path) }, { path, writable })
  end
  same({ held.wrap_command({ "ls", "a b" }) }, { { "held", "--", "ls", "a b" } })
  vim.fn.delete(root, "rf")
  local free = require("flemma.tools.sandbox").new(nil, tostring)
  same(free.is_path_writable("/etc/passwd"), true)
  same(free.wrap_command({ "ls" }), { "ls" })
  policy.problem = "There is none."
  same({ held.wrap_command({ "ls" }) }, { nil, "There is none." })
end)

test("a misspelled field of a tool is refused, with the field that was meant", function()
  for field, meant in vim.spairs({ exceute = "execute", descripton = "description", timout = "timeout" }) do
    local why = refused("t", definition({ [field] = 1 }))
    assert(why:find(('there is no field %s; did you mean "%s"?'):format(field, meant), 1, true), why)
  end
  for path, given in
    vim.spairs({
      ["output.sucess"] = { output = { sucess = function() end } },
      ["handlers.on_exti"] = { handlers = { on_exti = function() end } },
      ["cmd"] = { cmd = {} },
    })
  do
    local why = refused("t", vim.tbl_extend("force", { cmds = {} }, given))
    assert(why:find(("there is no field %s; did you mean"):format(path), 1, true), why)
  end
  local approval = require("flemma.tools.approval")
  local ok, why = pcall(approval.register, "spec", { resolve = function() end, fial = "closed" })
  assert(not ok and why:find('did you mean "fail"', 1, true), why)
  assert(not pcall(tools.register, { resolve = function() end, timeuot = 1 }))
end)

test("whatever says that a call needs approval counts, wherever it is", function()
  local function required(given)
    local wire
    clean(function()
      tools.register("t", given)
      wire = tools.wire().items[1]
    end)
    return wire.requires_approval
  end
  local cmds = { { "true" } }
  local yes = function() end
  for index, given in ipairs({
    { cmds = cmds, opts = { requires_approval = true } },
    { cmds = cmds, opts = { require_approval_before = true } },
    { cmds = cmds, opts = { requires_approval = yes } },
    { cmds = cmds, opts = { require_cmd_approval = true } },
    { cmds = cmds, requires_approval = true },
    { description = "d", opts = { other = 1 }, callback = { cmds = cmds, opts = { requires_approval = true } } },
    { description = "d", callback = { cmds = cmds, requires_approval = true } },
    definition({ requires_approval = true }),
    definition({ require_approval = true }),
  }) do
    assert(required(given) == true, tostring(index))
  end
  for index, given in ipairs({
    { cmds = cmds },
    { cmds = cmds, opts = { requires_approval = false } },
    definition(),
    definition({ requires_approval = false }),
  }) do
    assert(required(given) == false, tostring(index))
  end
  assert(refused("t", { cmds = cmds, opts = { requires_approval = "yes" } }):find("it must be true or false", 1, true))
  assert(refused("t", definition({ requires_approval = 1 })):find("it must be true or false", 1, true))
end)
