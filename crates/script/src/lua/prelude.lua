-- What a script finds: the table `wrk`, threads, addresses and statistics, as in wrk and wrk2.
--
-- Runs once in each state, before the script. `host` has what Rust does; its functions never raise,
-- they return what is wrong, so that errors are raised here, with the position of the script.
-- `config` says what this run is. What is returned is for Rust and not seen by scripts.

local host, config = ...

local error, getmetatable, ipairs, newproxy, pairs, pcall, rawget, setmetatable, tostring, type =
   error, getmetatable, ipairs, newproxy, pairs, pcall, rawget, setmetatable, tostring, type
local xpcall = xpcall
local floor, getinfo, len, max, min, stdout =
   math.floor, debug.getinfo, string.len, math.max, math.min, io.stdout
local band, rshift = bit.band, bit.rshift
local buffer, jit_util = require("string.buffer"), require("jit.util")
local globals = _G

-- Requests that differ are strings that are soon garbage and look much alike, which LuaJIT's table
-- of strings is slow with: collecting them early is faster. A script may set this again.
collectgarbage("setpause", 150)

local wrk = {
   scheme = config.scheme,
   host = config.host,
   port = config.port,
   method = "GET",
   path = config.path,
   headers = config.headers,
   body = nil,
   thread = nil,
}
globals.wrk = wrk
package.loaded.wrk = wrk

-- Addresses

local address_texts = setmetatable({}, { __mode = "k" })
local address_kind = newproxy(true)

getmetatable(address_kind).__tostring = function(self)
   -- wrk writes IPv6 addresses without brackets.
   return (address_texts[self]:gsub("^%[(.*)%]", "%1"))
end

local function new_address(text)
   local address = newproxy(address_kind)
   address_texts[address] = text
   return address
end

local function new_addresses(texts)
   for i = 1, #texts do
      texts[i] = new_address(texts[i])
   end
   return texts
end

wrk.addrs = new_addresses(config.addresses)

function wrk.lookup(name, service)
   local texts, message = host.lookup(tostring(name), service == nil and "0" or tostring(service))
   if not texts then
      error(message, 2)
   end
   return new_addresses(texts)
end

function wrk.connect(address)
   local text = address_texts[address]
   if not text then
      error("wrk.connect takes an address from wrk.lookup, not a " .. type(address), 2)
   end
   return host.connect(text)
end

function wrk.resolve(name, service)
   local reachable = {}
   for _, address in ipairs(wrk.lookup(name, service)) do
      if wrk.connect(address) then
         reachable[#reachable + 1] = address
      end
   end
   wrk.addrs = reachable
end

if config.is_wrk2 then
   wrk.time_us = host.time_us
end

-- Threads

local thread_numbers = setmetatable({}, { __mode = "k" })
local thread_kind = newproxy(true)
local thread_methods = {}

local function number_of(thread, method)
   local number = thread_numbers[thread]
   if not number then
      error("thread:" .. method .. "() is a method: write it with a colon", 3)
   end
   return number
end

function thread_methods.get(self, name)
   local is_copied, value = host.get(number_of(self, "get"), tostring(name))
   if not is_copied then
      error(value, 2)
   end
   return value
end

function thread_methods.set(self, name, value)
   local is_copied, message = host.set(number_of(self, "set"), tostring(name), value)
   if not is_copied then
      error(message, 2)
   end
end

function thread_methods.stop(self)
   host.stop(number_of(self, "stop"))
end

getmetatable(thread_kind).__index = function(self, key)
   if key == "addr" then
      return new_address(host.address(thread_numbers[self]))
   end
   return thread_methods[key]
end

getmetatable(thread_kind).__newindex = function(self, key, value)
   if key ~= "addr" then
      error("cannot set '" .. tostring(key) .. "' on a thread: use thread:set()", 2)
   end
   local text = address_texts[value]
   if not text then
      error("thread.addr takes an address from wrk.lookup, not a " .. type(value), 2)
   end
   host.set_address(thread_numbers[self], text)
end

local function new_thread(number)
   local thread = newproxy(thread_kind)
   thread_numbers[thread] = number
   return thread
end

if config.thread then
   wrk.thread = new_thread(config.thread)
end

function wrk.setup(thread)
   thread.addr = wrk.addrs[1]
   local setup = rawget(globals, "setup")
   if type(setup) == "function" then
      setup(thread)
   end
end

-- Requests

local message = buffer.new()

local function text_of(value)
   local kind = type(value)
   if kind == "string" or kind == "number" then
      return value
   end
   return tostring(value)
end

local function put_header(name, value)
   message:put(text_of(name), ": ")
   -- Whole numbers, such as counters, are written faster as such; up to here they look the same.
   if type(value) == "number" and value == floor(value) and value >= 0 and value < 1e14 then
      message:putf("%d\r\n", value)
   else
      message:put(text_of(value), "\r\n")
   end
end

function wrk.format(method, path, headers, body)
   method, path = method or wrk.method, path or wrk.path
   headers, body = headers or wrk.headers, body or wrk.body
   if body and type(body) ~= "string" and type(body) ~= "number" then
      error("wrk.format: the body has to be a string, not a " .. type(body), 2)
   end
   if not headers["Host"] then
      headers["Host"] = wrk.headers["Host"]
   end
   headers["Content-Length"] = body and len(body)

   message:reset()
   message:put(text_of(method), " ", text_of(path), " HTTP/1.1\r\n")
   for name, value in pairs(headers) do
      put_header(name, value)
   end
   message:put("\r\n", body or "")
   return message:tostring()
end

local function default_host()
   local name, port = wrk.host, wrk.port
   name = name:find(":", 1, true) and "[" .. name .. "]" or name
   return port and name .. ":" .. port or name
end

-- In wrk2's older interface a script's init() calls wrk.init() itself; it ends here then.
local is_in_init = false

function wrk.init(args)
   if not wrk.headers["Host"] then
      wrk.headers["Host"] = default_host()
   end
   local init = rawget(globals, "init")
   if type(init) == "function" and init ~= wrk.init and not is_in_init then
      is_in_init = true
      init(args)
      is_in_init = false
   end
   local request = wrk.format()
   function wrk.request()
      return request
   end
end

function wrk.request()
   return wrk.format()
end

-- Statistics

-- The value that `rank` of all counted values do not exceed.
local function value_at(data, rank)
   if data.total == 0 then
      return 0
   end
   rank = max(1, min(rank, data.total))
   local low, high = 1, #data.running
   while low < high do
      local middle = floor((low + high) / 2)
      if data.running[middle] >= rank then
         high = middle
      else
         low = middle + 1
      end
   end
   return data.values[low]
end

local function percentile(data, p)
   -- wrk rounds the rank up by a half first, wrk2 does not.
   local half = config.is_wrk2 and 0 or 0.5
   return value_at(data, floor(p / 100 * data.total + half + 0.5))
end

local function new_stats(data)
   local fields = { min = data.min, max = data.max, mean = data.mean, stdev = data.stdev }
   local stats = newproxy(true)
   local meta = getmetatable(stats)

   function fields.percentile(_, p)
      if type(p) ~= "number" then
         error("percentile() takes a number, not a " .. type(p), 2)
      end
      return percentile(data, p)
   end

   function meta.__index(_, key)
      if config.is_wrk2 and type(key) == "number" then
         return value_at(data, key)
      end
      return fields[key]
   end

   function meta.__len()
      return config.is_wrk2 and data.total or #data.values
   end

   if not config.is_wrk2 then
      function meta.__call(_, i)
         local before = data.running[i - 1] or 0
         return data.values[i] or 0, data.values[i] and data.running[i] - before or 0
      end
   end
   return stats
end

-- For Rust

local function is_function(name)
   return type(rawget(globals, name)) == "function"
end

-- The text of an error: one that was raised here gets the position of the script's line that led
-- here.
local function describe(raised)
   if type(raised) ~= "string" then
      local kind = type(raised)
      raised = "error object that is a " .. kind .. " value: " .. tostring(raised)
   end
   local text = raised:match("^%[wrk%]:%d+: (.*)$")
   if not text then
      return raised
   end
   for level = 2, 100 do
      local at = getinfo(level, "Sl")
      if not at then
         break
      end
      if at.currentline > 0 and at.source ~= "=[wrk]" then
         return at.short_src .. ":" .. at.currentline .. ": " .. text
      end
   end
   return text
end

-- How an instruction uses an operand, as lj_bc.h numbers it.
local MODE_BASE, MODE_VAR, MODE_RBASE, MODE_JUMP = 2, 3, 4, 13

-- Whether one instruction may read a parameter. Parameters have the lowest slots for the whole of
-- a function, so that ranges above them never touch them.
local function instruction_reads(slot, instruction, modes)
   local a, d = band(rshift(instruction, 8), 0xff), rshift(instruction, 16)
   local mode_a, mode_b = band(modes, 7), band(rshift(modes, 3), 15)
   local mode_d = band(rshift(modes, 7), 15)
   if mode_a == MODE_VAR and a == slot or mode_a == MODE_BASE and a <= slot then
      return true
   end
   -- A return; one of nothing has the operands 0 and 1.
   if mode_a == MODE_RBASE and mode_d ~= MODE_JUMP and a <= slot and not (a == 0 and d == 1) then
      return true
   end
   local b = rshift(d, 8)
   local has_b = mode_b ~= 0
   d = has_b and band(d, 0xff) or d
   if has_b and mode_b == MODE_RBASE then
      return b <= slot and slot <= d
   end
   return has_b and mode_b == MODE_VAR and b == slot or mode_d == MODE_VAR and d == slot
end

-- Whether a function may read its parameter `slot`, counted from 0. True when in doubt.
local function reads(f, slot)
   local info = jit_util.funcinfo(f)
   if not info.bytecodes or info.isvararg or info.children then
      return true
   end
   if slot >= info.params then
      return false
   end
   for pc = 1, info.bytecodes - 1 do
      if instruction_reads(slot, jit_util.funcbc(f, pc)) then
         return true
      end
   end
   return false
end

local internals = { describe = describe, is_function = is_function, wrk = wrk }

function internals.guard(f, ...)
   return xpcall(f, describe, ...)
end

function internals.setup(number)
   wrk.setup(new_thread(number))
end

function internals.init(args)
   wrk.init(args)
end

function internals.wants()
   local response = rawget(globals, "response")
   if type(response) ~= "function" then
      return false, false, false
   end
   return true, reads(response, 1), reads(response, 2)
end

function internals.done(summary, latency, requests)
   local done = rawget(globals, "done")
   if type(done) == "function" then
      done(summary, new_stats(latency), new_stats(requests))
   end
end

-- What was printed goes out before anything that the program prints next.
function internals.flush()
   pcall(stdout.flush, stdout)
end

return internals
