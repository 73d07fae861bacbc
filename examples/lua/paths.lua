-- Paths at random from a file, one in each line: args[1] names it. Each thread draws its own, and
-- the same ones in each run.

local requests = {}

function setup(thread)
   number = (number or 0) + 1
   thread:set("number", number)
end

function init(args)
   math.randomseed(number)
   for line in io.lines(args[1] or "paths.txt") do
      if line ~= "" then
         requests[#requests + 1] = wrk.format(nil, line)
      end
   end
   assert(#requests > 0, "the file has no paths")
end

function request()
   return requests[math.random(#requests)]
end
