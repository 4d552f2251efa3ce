--- Approval resolvers, as users register and list them.
-- luacheck: globals test same

local approval = require("flemma.tools.approval")
local callbacks = require("flemma.callbacks")
local flemma = require("flemma")

--- Runs `body` with these options, and restores everything.
---@param options table
---@param body fun()
local function with(options, body)
  local before = flemma.options
  flemma.options = options
  local ok, why = xpcall(body, debug.traceback)
  approval.clear()
  flemma.options = before
  assert(ok, why)
end

---@return string[] "priority name", in order.
local function list()
  return vim.tbl_map(function(entry)
    return ("%d %s"):format(entry.priority, entry.name)
  end, approval.get_all())
end

--- Returns the error of a call of `register`.
---@param name any
---@param definition any
---@return string
local function refused(name, definition)
  local ok, why = pcall(approval.register, name, definition)
  assert(not ok, "it was registered")
  return why
end

local function pass() end

test("a resolver is registered at 50, found, replaced by its name, and removed", function()
  with({}, function()
    approval.register("my_plugin:security_policy", { description = "Block", resolve = pass })
    local entry = approval.get("my_plugin:security_policy")
    same(entry, { name = "my_plugin:security_policy", priority = 50, description = "Block", resolve = pass })
    same(approval.count(), 3)
    approval.register("my_plugin:security_policy", { priority = 200, resolve = pass, fail = "closed" })
    same(approval.count(), 3)
    same(approval.get("my_plugin:security_policy").priority, 200)
    same(approval.unregister("my_plugin:security_policy"), true)
    same(approval.unregister("my_plugin:security_policy"), false)
    same(approval.get("my_plugin:security_policy"), nil)
  end)
end)

test("resolvers are listed by priority, then by name, with those of the options", function()
  with({ tools = { require_approval = false, auto_approve = { "$default", "my.rules" } } }, function()
    approval.register("b", { resolve = pass })
    approval.register("a", { resolve = pass })
    approval.register("first", { resolve = pass, priority = 200 })
    same(list(), {
      "200 first",
      "100 my.rules",
      "100 urn:flemma:approval:config",
      "90 urn:flemma:approval:frontmatter",
      "50 a",
      "50 b",
      "0 urn:flemma:approval:catch-all",
    })
    same(approval.count(), 7)
  end)
end)

test("listed resolvers are copies", function()
  with({}, function()
    approval.register("a", { resolve = pass })
    approval.get_all()[1].priority = 7
    approval.get("a").priority = 7
    same(approval.get("a").priority, 50)
  end)
end)

test("a list of modules makes no config resolver, a function is one", function()
  with({ tools = { auto_approve = { "my.rules" } } }, function()
    same(list(), { "100 my.rules", "90 urn:flemma:approval:frontmatter" })
  end)
  with({ tools = { auto_approve = pass } }, function()
    same(approval.get("urn:flemma:approval:config").resolve, pass)
  end)
end)

test("a name with a dot is refused, unless it is one of Flemma's own", function()
  assert(refused("my.plugin", { resolve = pass }):find('try "my:plugin"', 1, true))
  assert(refused("x", {}):find("needs a table with a function", 1, true))
  assert(refused("x", { resolve = pass, priority = 1.5 }):find("whole number", 1, true))
  assert(refused("x", { resolve = pass, fail = "open" }):find('it must be "closed"', 1, true))
  assert(refused(3, { resolve = pass }):find("the name must be a string", 1, true))
  with({}, function()
    approval.register("urn:flemma:approval:config", { resolve = pass, priority = 100 })
    same(approval.get("urn:flemma:approval:config").resolve, pass)
    same(approval.wire().without, { "urn:flemma:approval:config" })
  end)
end)

test("Flemma's own resolvers can be removed, and setup() restores them", function()
  with({ tools = { require_approval = false } }, function()
    same(approval.unregister("urn:flemma:approval:catch-all"), true)
    same(approval.get("urn:flemma:approval:catch-all"), nil)
    same(approval.wire().without, { "urn:flemma:approval:catch-all" })
    flemma.options = { tools = { require_approval = false } }
    assert(approval.get("urn:flemma:approval:catch-all"))
    same(approval.wire().without, {})
  end)
end)

test("the host gets a number for each function, and an old number reaches none", function()
  with({}, function()
    approval.register("a", {
      resolve = function()
        return "deny"
      end,
      fail = "closed",
      priority = 7,
    })
    local item = approval.wire().items[1]
    same({ item.name, item.priority, item.closed, item.from_options }, { "a", 7, true, false })
    same(callbacks.get(item["function"])(), "deny")
    approval.register("a", { resolve = pass })
    same(callbacks.get(item["function"]), nil)
  end)
end)

test("a module is loaded when it is first asked, and decides", function()
  local loads = 0
  package.preload["my.rules"] = function()
    loads = loads + 1
    return {
      resolve = function(name)
        return name == "bash" and "deny" or nil
      end,
    }
  end
  with({ tools = { auto_approve = { "my.rules", "$readonly" } } }, function()
    local item = approval.wire().items[1]
    same({ item.name, item.priority, item.from_options, loads }, { "my.rules", 100, true, 0 })
    same(approval.problems(), {})
    local ask = callbacks.get(item["function"])
    same({ ask("bash"), ask("bash"), loads }, { "deny", "deny", 1 })
    same(ask("read"), nil)
  end)
  package.preload["my.rules"], package.loaded["my.rules"] = nil, nil
end)

test("a missing module is reported and its calls wait; one without `resolve` passes", function()
  package.preload["no.rules"] = function()
    return {}
  end
  with({ host = {}, tools = { auto_approve = { "no.where", "no.rules" } } }, function()
    same(#approval.problems(), 1)
    assert(approval.problems()[1]:find('the module "no.where"', 1, true))
    local log, lines = require("flemma.host").log, {}
    require("flemma.host").log = function(line)
      lines[#lines + 1] = line
    end
    local answers = {}
    for _, item in ipairs(approval.wire().items) do
      answers[item.name] = callbacks.get(item["function"])("bash", {}, {}) or "passes"
    end
    require("flemma.host").log = log
    same(answers, { ["no.where"] = "require_approval", ["no.rules"] = "passes" })
    same(#lines, 1)
  end)
  package.preload["no.rules"], package.loaded["no.rules"] = nil, nil
end)
