-- Stops each thread after a number of responses: args[1], or 100. With delay(), which only wrk has,
-- 5 to 15 ms apart on each connection.

local left

function init(args)
   left = tonumber(args[1]) or 100
end

function delay()
   return math.random(5, 15)
end

function response()
   left = left - 1
   if left == 0 then
      wrk.thread:stop()
   end
end
