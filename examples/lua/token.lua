-- Asks for a token first, and sends it with every request once it is there.

local token

function request()
   if not token then
      return wrk.format("POST", "/login", nil, "user=plimsoll")
   end
   return wrk.format("GET", "/account")
end

function response(status, headers, body)
   if not token and status == 200 then
      token = headers["X-Token"]
      wrk.headers["Authorization"] = token and "Bearer " .. token
   end
end
