module labs/go-http

go 1.21
