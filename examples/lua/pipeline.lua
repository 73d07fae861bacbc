-- Several requests at once on each connection, made before the load: args[1] says how many, or 4.

local batch

function init(args)
   local requests = {}
   for i = 1, tonumber(args[1]) or 4 do
      requests[i] = wrk.format(nil, wrk.path .. "?part=" .. i)
   end
   batch = table.concat(requests)
end

function request()
   return batch
end
