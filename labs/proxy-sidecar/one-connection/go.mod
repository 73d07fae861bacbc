module labs/one-connection

go 1.22
