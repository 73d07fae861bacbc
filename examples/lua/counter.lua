-- A path and a header that differ in each request. Each thread counts for itself.

local counter = 0

function request()
   counter = counter + 1
   wrk.headers["X-Counter"] = counter
   return wrk.format(nil, "/echo?n=" .. counter)
end
