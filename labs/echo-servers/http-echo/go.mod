// Names the version of http-echo to build; there is no code of ours here.
module labs/http-echo

go 1.21.0

require github.com/hashicorp/http-echo v1.0.0
