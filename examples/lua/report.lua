-- Counts statuses in each thread and prints one line of CSV for each at the end.

local threads = {}

function setup(thread)
   threads[#threads + 1] = thread
   thread:set("number", #threads)
end

function init()
   statuses = {}
end

function response(status)
   statuses[status] = (statuses[status] or 0) + 1
end

function done(summary, latency, requests)
   print("thread,status,count")
   for _, thread in ipairs(threads) do
      for status, count in pairs(thread:get("statuses")) do
         print(("%d,%d,%d"):format(thread:get("number"), status, count))
      end
   end
   local ms = latency:percentile(99) / 1000
   print(("%d requests, 99%% within %.2f ms"):format(summary.requests, ms))
end
